"""Tokens as documents that expire by themselves: an access token in minutes, a refresh token in days."""

import hashlib
import secrets

from azure.cosmos import PartitionKey
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import CosmosResourceNotFoundError

ACCESS_SECONDS = 15 * 60
REFRESH_SECONDS = 14 * 24 * 60 * 60


async def open_container(client: CosmosClient) -> ContainerProxy:
    """The container of the tokens, made where it is not there yet."""
    database = await client.create_database_if_not_exists("auth")
    return await database.create_container_if_not_exists(
        "tokens",
        PartitionKey("/id"),
        default_ttl=-1,  # TTL is on, and each token says how long
        indexing_policy={"indexingMode": "consistent", "excludedPaths": [{"path": "/*"}]},  # read by id alone
    )


class Tokens:
    """Issues tokens and knows whose they are. The database has only their hashes."""

    def __init__(self, container: ContainerProxy) -> None:
        self._container = container

    async def issue(self, user: str) -> dict:
        return {
            "access_token": await self._create("access", user, ACCESS_SECONDS),
            "refresh_token": await self._create("refresh", user, REFRESH_SECONDS),
            "token_type": "bearer",
            "expires_in": ACCESS_SECONDS,
        }

    async def user_of(self, access_token: str) -> str | None:
        """Whose token it is; None for one that nobody has issued, or that has expired."""
        return await self._find("access", access_token)

    async def refresh(self, refresh_token: str) -> dict | None:
        """New tokens for a refresh token, which is good for one use; None where it is not (any more)."""
        user = await self._find("refresh", refresh_token)
        if user is None or not await self.revoke(refresh_token):
            return None
        return await self.issue(user)

    async def revoke(self, token: str) -> bool:
        """Ends a token at once. Of several who try, one is told that it has been there."""
        try:
            await self._container.delete_item(_hash(token), partition_key=_hash(token))
        except CosmosResourceNotFoundError:
            return False
        return True

    async def _create(self, kind: str, user: str, seconds: int) -> str:
        token = secrets.token_urlsafe(32)
        await self._container.create_item({"id": _hash(token), "kind": kind, "user": user, "ttl": seconds})
        return token

    async def _find(self, kind: str, token: str) -> str | None:
        try:
            found = await self._container.read_item(_hash(token), partition_key=_hash(token))
        except CosmosResourceNotFoundError:
            return None
        return found["user"] if found["kind"] == kind else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
