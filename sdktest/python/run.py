"""The runner for Python; ../scenarios.md says what it takes and prints."""

import argparse
import importlib.metadata
import inspect
import logging
import os
import sys
import time
import traceback
import warnings

from lib import NoApi, Scenario, change_clock
from scenarios import account, feed, items, keys, moves, queries, scripts, ttl, users, writes

MODULES = (account, items, keys, queries, writes, feed, scripts, users, ttl, moves)


def scenarios():
    """Every public function of a module that takes a scenario is one; item_read is "item-read"."""
    return {
        name.replace("_", "-"): function
        for module in MODULES
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True, help="the server's URL")
    parser.add_argument("--ranges", type=int, default=1, help="partition ranges of a new container")
    parser.add_argument("--control", help="URL that stops and kills the server, with stop and kill after it")
    parser.add_argument("--only", help="names of the scenarios to run, with commas between")
    parser.add_argument("--times", action="store_true", help="tell how long each one took")
    flags = parser.parse_args()
    if flags.endpoint.startswith("https:") and not os.environ.get("REQUESTS_CA_BUNDLE"):
        parser.error("https needs REQUESTS_CA_BUNDLE and SSL_CERT_FILE, with the certificate to trust")

    warnings.simplefilter("ignore")  # the SDK's, about its older options
    logging.disable()  # the SDK's health checks in the background, whose client is closed
    change_clock(flags.endpoint, {"freeze": True})
    every = scenarios()
    names = flags.only.split(",") if flags.only else list(every)
    passed = failed = absent = 0
    for name in names:
        began = time.perf_counter()
        line = run(name, every, flags)
        passed += line.startswith("ok ")
        failed += line.startswith("FAIL ")
        absent += line.startswith("no-api ")
        print(f"{line} ({1000 * (time.perf_counter() - began):.0f} ms)" if flags.times else line, flush=True)
    print(f"azure-cosmos {importlib.metadata.version('azure-cosmos')}: {passed}/{len(names) - absent} ({absent} no-api)")
    return 1 if failed else 0


def run(name, every, flags):
    """Runs one scenario and says in a line how it ended."""
    t = None
    try:
        t = Scenario(name, flags)
        every[name](t)
        line = f"ok {name}"
    except NoApi as e:
        line = f"no-api {name}: {e}"
    except Exception as e:  # whatever it is, it is the scenario's outcome
        line = f"FAIL {name}: {explain(e)}"
    try:
        if t is not None:
            t.close()
    except Exception as e:
        if not line.startswith("FAIL "):
            line = f"FAIL {name}: afterwards: {explain(e)}"
    return line


def explain(error):
    """Puts an error on one line: what it says, and the scenario's line."""
    lines = [f"{os.path.basename(f.filename)}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__) if "/scenarios/" in f.filename]
    return " ".join(f"{type(error).__name__}: {error} {lines[-1] if lines else ''}".split())


if __name__ == "__main__":
    sys.exit(main())
