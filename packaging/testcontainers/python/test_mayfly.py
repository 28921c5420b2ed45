import os
from collections.abc import Iterator

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosResourceNotFoundError

from mayfly_container import IMAGE, MayflyContainer


@pytest.fixture
def mayfly() -> Iterator[MayflyContainer]:
    with MayflyContainer(os.environ.get("MAYFLY_IMAGE", IMAGE)) as container:
        yield container


def test_a_session_expires(mayfly: MayflyContainer) -> None:
    client = CosmosClient.from_connection_string(mayfly.connection_string)
    database = client.create_database("app")
    sessions = database.create_container("sessions", PartitionKey("/user"), default_ttl=-1)
    sessions.create_item({"id": "1", "user": "ada", "ttl": 1800})

    mayfly.advance(1799)
    assert sessions.read_item("1", "ada")["ttl"] == 1800
    mayfly.advance(1)
    with pytest.raises(CosmosResourceNotFoundError):
        sessions.read_item("1", "ada")
    assert mayfly.servicebus_connection_string.startswith("Endpoint=sb://")
