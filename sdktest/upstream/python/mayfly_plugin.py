"""A plugin of pytest for the tests that ship with SDKs. It writes how each test has ended into the file that
MAYFLY_VERDICTS names, a line of JSON each.

Connections to MAYFLY_HOST, a name with or without a port, go to this machine: to the first of MAYFLY_PORTS, in the
n-th worker to the n-th. So each worker has a server of its own, whatever port a client insists on. All that is
trusted is what SSL_CERT_FILE has.
"""

import json
import os
import re
import socket

import certifi
import pytest


def redirect():
    host, _, port = os.environ["MAYFLY_HOST"].partition(":")
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    server = int(os.environ["MAYFLY_PORTS"].split(",")[worker])
    names = {host, "127.0.0.1"} if host == "localhost" else {host}
    lookup = socket.getaddrinfo

    def getaddrinfo(name, service, *args, **kwargs):
        text = name.decode() if isinstance(name, bytes) else name
        if text in names and (not port or str(service) == port):
            name, service = "127.0.0.1", server
        return lookup(name, service, *args, **kwargs)

    socket.getaddrinfo = getaddrinfo


redirect()
certifi.where = lambda: os.environ["SSL_CERT_FILE"]


@pytest.fixture(scope="session")
def test_proxy():
    """The recorder of the SDKs' tests: nothing is recorded."""


RANDOM = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def pytest_itemcollected(item):
    """Takes identifiers that differ from run to run out of the names of tests."""
    item._nodeid = RANDOM.sub("random", item.nodeid)


class Verdicts:
    def __init__(self, file):
        self.file = file

    def pytest_runtest_logreport(self, report):
        expected = hasattr(report, "wasxfail")  # then failing is right, and passing, too
        if report.failed:
            self.tell(report, "fail", report.longreprtext)
        elif report.skipped and not expected:
            self.tell(report, "skip", "")
        elif report.when == "call":
            self.tell(report, "pass", "")

    def tell(self, report, result, says):
        print(json.dumps({"name": report.nodeid, "result": result, "says": says}), file=self.file, flush=True)


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Verdicts(open(os.environ["MAYFLY_VERDICTS"], "w")))
