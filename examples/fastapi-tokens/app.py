"""A service whose callers come with tokens."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from azure.cosmos.aio import CosmosClient
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

from tokens import Tokens, open_container


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with CosmosClient(os.environ["COSMOS_ENDPOINT"], os.environ["COSMOS_KEY"]) as client:
        app.state.tokens = Tokens(await open_container(client))
        yield


app = FastAPI(title="Tokens that expire", lifespan=lifespan)


class Login(BaseModel):
    user: str  # a real one asks for a password


class Refresh(BaseModel):
    refresh_token: str


def tokens_of(request: Request) -> Tokens:
    return request.app.state.tokens


Store = Annotated[Tokens, Depends(tokens_of)]
Bearer = Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]


async def current_user(tokens: Store, bearer: Bearer) -> str:
    user = await tokens.user_of(bearer.credentials)
    if user is None:
        raise HTTPException(401, "the token is not known, or has expired", {"WWW-Authenticate": "Bearer"})
    return user


@app.post("/login")
async def login(body: Login, tokens: Store) -> dict:
    return await tokens.issue(body.user)


@app.post("/refresh")
async def refresh(body: Refresh, tokens: Store) -> dict:
    issued = await tokens.refresh(body.refresh_token)
    if issued is None:
        raise HTTPException(401, "the refresh token is not known, was used, or has expired")
    return issued


@app.post("/logout", status_code=204)
async def logout(bearer: Bearer, tokens: Store) -> None:
    await tokens.revoke(bearer.credentials)


@app.get("/me")
async def me(user: Annotated[str, Depends(current_user)]) -> dict:
    return {"user": user}
