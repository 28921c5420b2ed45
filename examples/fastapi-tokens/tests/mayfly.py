"""A Mayfly in memory on a free port, with a clock that stands still until a test moves it."""

import json
import os
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The key that every Cosmos DB emulator has.
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
REPOSITORY = Path(__file__).parents[3]


class Mayfly:
    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.key = KEY

    def advance(self, duration: str) -> None:
        """Moves the clock on ("90s", "15m", "24h"), and returns when all that has expired by then is gone."""
        self.move_clock({"advance": duration})

    def move_clock(self, change: dict) -> None:
        url, headers = f"{self.endpoint}_mayfly/clock?settle=true", {"Authorization": f"Bearer {KEY}"}
        request = urllib.request.Request(url, json.dumps(change).encode(), headers, method="PUT")
        with urllib.request.urlopen(request):
            pass


@contextmanager
def running() -> Iterator[Mayfly]:
    """Runs the binary that MAYFLY names, or one that is built from this repository."""
    with tempfile.TemporaryDirectory() as folder:
        binary = os.environ.get("MAYFLY") or build(Path(folder, "mayfly"))
        arguments = ["serve", "--memory", "--virtual-clock", "--port", "0", "--log-level", "warn"]
        with subprocess.Popen([binary, *arguments], stdout=subprocess.PIPE, text=True) as server:
            try:
                mayfly = Mayfly(endpoint_of(server))
                mayfly.move_clock({"freeze": True})
                yield mayfly
            finally:
                server.terminate()


def endpoint_of(server: subprocess.Popen) -> str:
    """The endpoint that the server prints once it is ready."""
    for line in server.stdout:
        if found := re.search(r"http://localhost:\d+/", line):
            return found[0]
    raise RuntimeError("mayfly ended before it was ready")


def build(binary: Path) -> str:
    subprocess.run(["go", "build", "-o", binary, "./cmd/mayfly"], cwd=REPOSITORY, check=True)
    return str(binary)
