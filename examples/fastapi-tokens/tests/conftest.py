from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from app import app, lifespan
from mayfly import Mayfly, running


@pytest.fixture(scope="session")
def mayfly() -> Iterator[Mayfly]:
    with running() as server:
        yield server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client(mayfly: Mayfly, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setenv("COSMOS_ENDPOINT", mayfly.endpoint)
    monkeypatch.setenv("COSMOS_KEY", mayfly.key)
    transport = httpx.ASGITransport(app)
    async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client
