"""A plugin of pytest for the tests that ship with SDKs. It writes how each test has ended into the file that
MAYFLY_VERDICTS names, a line of JSON each.

Connections to MAYFLY_HOST, a name with or without a port, go to this machine, and those to 127.0.0.1 with that port:
to the first of MAYFLY_PORTS, in the n-th worker to the n-th. So each worker has a server of its own, whatever port a client insists on. All that is
trusted is what SSL_CERT_FILE has.
"""

import collections
import json
import os
import re
import socket
import sys
import uuid

import certifi
import pytest


def redirect():
    host, _, port = os.environ["MAYFLY_HOST"].partition(":")
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    server = int(os.environ["MAYFLY_PORTS"].split(",")[worker])
    lookup, connect = socket.getaddrinfo, socket.socket.connect

    def getaddrinfo(name, service, *args, **kwargs):
        text = name.decode() if isinstance(name, bytes) else name
        if text == host and (not port or str(service) == port):
            name, service = "127.0.0.1", server
        return lookup(name, service, *args, **kwargs)

    def connect_here(sock, address):
        if port and address == ("127.0.0.1", int(port)):
            address = ("127.0.0.1", server)
        return connect(sock, address)

    socket.getaddrinfo, socket.socket.connect = getaddrinfo, connect_here


redirect()
certifi.where = lambda: os.environ["SSL_CERT_FILE"]


@pytest.fixture(scope="session")
def test_proxy():
    """The recorder of the SDKs' tests: nothing is recorded."""


def steady():
    """Returns identifiers that depend on who asks for them, and how often before."""
    calls = collections.Counter()

    def uuid4():
        caller = sys._getframe(1)
        place = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        calls[place] += 1
        return uuid.uuid5(uuid.NAMESPACE_URL, f"{place}:{calls[place]}")

    return uuid4


# Some identifiers become names of tests, which have to be the same in all workers. Tests run with random ones.
RANDOM, uuid.uuid4 = uuid.uuid4, steady()
IDENTIFIER = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def pytest_collection_finish():
    uuid.uuid4 = RANDOM


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

    def pytest_collectreport(self, report):
        if report.failed:
            self.tell(report, "fail", report.longreprtext)

    def tell(self, report, result, says):
        name = IDENTIFIER.sub("...", report.nodeid)
        print(json.dumps({"name": name, "result": result, "says": says}), file=self.file, flush=True)


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Verdicts(open(os.environ["MAYFLY_VERDICTS"], "w")))
