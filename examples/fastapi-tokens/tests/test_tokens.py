import asyncio

import pytest
from httpx import AsyncClient, Response

from mayfly import Mayfly

pytestmark = pytest.mark.anyio


async def login(client: AsyncClient) -> dict:
    answer = await client.post("/login", json={"user": "ada"})
    return answer.raise_for_status().json()


async def me(client: AsyncClient, access_token: str) -> Response:
    return await client.get("/me", headers={"Authorization": f"Bearer {access_token}"})


async def refresh(client: AsyncClient, refresh_token: str) -> Response:
    return await client.post("/refresh", json={"refresh_token": refresh_token})


async def test_an_access_token_lives_for_a_quarter_of_an_hour(client: AsyncClient, mayfly: Mayfly) -> None:
    token = (await login(client))["access_token"]
    mayfly.advance("14m59s")
    assert (await me(client, token)).json() == {"user": "ada"}
    mayfly.advance("1s")
    assert (await me(client, token)).status_code == 401


async def test_a_refresh_token_outlives_it_and_is_good_once(client: AsyncClient, mayfly: Mayfly) -> None:
    old = await login(client)
    mayfly.advance("24h")
    answers = await asyncio.gather(*(refresh(client, old["refresh_token"]) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401, 401]
    [new] = [answer.json() for answer in answers if answer.status_code == 200]
    assert (await me(client, new["access_token"])).json() == {"user": "ada"}
    assert (await me(client, old["access_token"])).status_code == 401


async def test_after_two_weeks_one_has_to_log_in_again(client: AsyncClient, mayfly: Mayfly) -> None:
    tokens = await login(client)
    mayfly.advance("336h")
    assert (await refresh(client, tokens["refresh_token"])).status_code == 401


async def test_a_logout_ends_a_token_at_once(client: AsyncClient) -> None:
    token = (await login(client))["access_token"]
    answer = await client.post("/logout", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 204
    assert (await me(client, token)).status_code == 401


async def test_a_refresh_token_opens_no_door(client: AsyncClient) -> None:
    assert (await me(client, (await login(client))["refresh_token"])).status_code == 401
    assert (await me(client, "made up")).status_code == 401
