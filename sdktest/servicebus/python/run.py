"""The runner for Python; ../../servicebus.md says what it takes and prints."""

import argparse
import asyncio
import importlib.metadata
import inspect
import logging
import os
import sys
import time
import traceback
import warnings

from bus import NoApi, Scenario
from scenarios import administration, failing, forwarding, others, sending, sessions, settling, times, topics

MODULES = (sending, settling, times, sessions, topics, forwarding, others, administration, failing)


def scenarios():
    """Every public coroutine of a module is one; send_receive is "send-receive"."""
    return {
        name.replace("_", "-"): function
        for module in MODULES
        for name, function in vars(module).items()
        if inspect.iscoroutinefunction(function)
        and function.__module__ == module.__name__
        and not name.startswith("_")
    }


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--amqp", required=True, help="host and port without TLS")
    parser.add_argument("--admin", required=True, help="host and port of the administration, with TLS")
    parser.add_argument("--tls", required=True, help="host and port of AMQP and WebSocket with TLS")
    parser.add_argument("--mayfly", required=True, help="URL of the server's own routes")
    parser.add_argument("--control", help="URL that stops and kills the server, with stop and kill after it")
    parser.add_argument("--only", help="names of the scenarios to run, with commas between")
    parser.add_argument("--times", action="store_true", help="tell how long each one took")
    parser.add_argument("--asynchronous", action="store_true", help="use the asynchronous clients")
    flags = parser.parse_args()
    if not os.environ.get("REQUESTS_CA_BUNDLE"):
        parser.error("REQUESTS_CA_BUNDLE must name a file with the certificate to trust")

    warnings.simplefilter("ignore")
    logging.disable()  # the SDK's, about connections that a scenario cuts
    every = scenarios()
    names = flags.only.split(",") if flags.only else list(every)
    passed = failed = absent = 0
    for name in names:
        began = time.perf_counter()
        line = await run(name, every, flags)
        passed += line.startswith("ok ")
        failed += line.startswith("FAIL ")
        absent += line.startswith("no-api ")
        print(f"{line} ({1000 * (time.perf_counter() - began):.0f} ms)" if flags.times else line, flush=True)
    version = importlib.metadata.version("azure-servicebus")
    print(f"azure-servicebus {version}: {passed}/{len(names) - absent} ({absent} no-api)", flush=True)
    os._exit(1 if failed else 0)  # threads of the SDK may still wait


async def run(name, every, flags):
    """Runs one scenario and says in a line how it ended."""
    t = Scenario(name, flags)
    try:
        async with asyncio.timeout(150):
            await t.begin()
            await every[name](t)
        line = f"ok {name}"
    except NoApi as e:
        line = f"no-api {name}: {e}"
    except Exception as e:  # whatever it is, it is the scenario's outcome
        line = f"FAIL {name}: {explain(e)}"
    try:
        async with asyncio.timeout(60):
            await t.close()
    except Exception as e:
        if not line.startswith("FAIL "):
            line = f"FAIL {name}: afterwards: {explain(e)}"
    return line


def explain(error):
    """Puts an error on one line: what it says, and the scenario's line."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{os.path.basename(f.filename)}:{f.lineno}" for f in frames if "/scenarios/" in f.filename]
    return " ".join(f"{type(error).__name__}: {error} {lines[-1] if lines else ''}".split())


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
