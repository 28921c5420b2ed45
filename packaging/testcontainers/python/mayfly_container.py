"""Mayfly in a container for a test, by Testcontainers: in memory, on random ports, with a clock that the test moves."""

from __future__ import annotations

import json
import urllib.request

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

IMAGE = "ghcr.io/mayflydb/mayfly:latest"
"""The image of the latest release."""

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
"""The key of the emulators, which the server takes."""

COSMOS, MESSAGES, MANAGEMENT = 8081, 5672, 5300


class MayflyContainer(DockerContainer):
    """A server; with_env takes Mayfly's variables (MAYFLY_THROTTLE, ...)."""

    def __init__(self, image: str = IMAGE) -> None:
        super().__init__(image)
        self.with_exposed_ports(COSMOS, MESSAGES, MANAGEMENT)
        self.with_env("MAYFLY_MEMORY", "true").with_env("MAYFLY_VIRTUAL_CLOCK", "true")
        self.waiting_for(HttpWaitStrategy(COSMOS, "/_mayfly/readyz"))

    @property
    def endpoint(self) -> str:
        """The address for clients of Cosmos DB, without TLS."""
        return f"http://{self._authority(COSMOS)}/"

    @property
    def connection_string(self) -> str:
        return f"AccountEndpoint={self.endpoint};AccountKey={KEY};"

    @property
    def servicebus_connection_string(self) -> str:
        """For sending and receiving."""
        return self._servicebus(MESSAGES)

    @property
    def servicebus_administration_connection_string(self) -> str:
        """For managing entities."""
        return self._servicebus(MANAGEMENT)

    def advance(self, seconds: float) -> None:
        """Moves the clock on, and returns when all that has expired by then is purged and told."""
        request = urllib.request.Request(
            f"{self.endpoint}_mayfly/clock?settle=true",
            data=json.dumps({"advance": f"{seconds}s"}).encode(),
            headers={"Authorization": f"Bearer {KEY}"},
            method="PUT",
        )
        with urllib.request.urlopen(request, timeout=60):
            pass

    def _authority(self, port: int) -> str:
        return f"{self.get_container_host_ip()}:{self.get_exposed_port(port)}"

    def _servicebus(self, port: int) -> str:
        return (
            f"Endpoint=sb://{self._authority(port)};SharedAccessKeyName=RootManageSharedAccessKey;"
            "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
        )
