import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { createApp } from "../app.js";
import { openSessions } from "../database.js";
import { CosmosStore } from "../store.js";
import { Mayfly } from "./mayfly.js";

let mayfly, sessions, server;

before(async () => {
  mayfly = await Mayfly.start();
  sessions = await openSessions(mayfly);
  server = createApp({ store: new CosmosStore(sessions), secret: "of the test" }).listen(0, "127.0.0.1");
  await once(server, "listening");
});

after(async () => {
  server?.closeAllConnections();
  server?.close();
  await mayfly?.stop();
});

/** A browser: it keeps the cookie that it was given last. */
class Browser {
  #cookie = "";

  async ask(method, path, body) {
    const answer = await fetch(`http://127.0.0.1:${server.address().port}${path}`, {
      method,
      headers: { cookie: this.#cookie, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const [cookie] = answer.headers.getSetCookie();
    if (cookie) this.#cookie = cookie.split(";")[0];
    await answer.arrayBuffer(); // its last byte comes when the session has been stored
    return answer.status;
  }
}

async function count() {
  const { resources } = await sessions.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll();
  return resources[0];
}

test("a session ends half an hour after the last request, not after the first", async () => {
  const ada = new Browser();
  assert.equal(await ada.ask("POST", "/login", { user: "ada" }), 204);
  for (let i = 0; i < 3; i++) {
    await mayfly.advance("29m");
    assert.equal(await ada.ask("GET", "/me"), 200);
  }
  assert.equal(await count(), 1);
  await mayfly.advance("30m");
  assert.equal(await ada.ask("GET", "/me"), 401);
  assert.equal(await count(), 0, "the database has deleted it");
});

test("who asks to be remembered is, for 30 days without a request", async () => {
  const [ada, bob] = [new Browser(), new Browser()];
  await ada.ask("POST", "/login", { user: "ada", remember: true });
  await bob.ask("POST", "/login", { user: "bob" });
  await mayfly.advance("719h59m59s");
  assert.equal(await ada.ask("GET", "/me"), 200);
  assert.equal(await bob.ask("GET", "/me"), 401);
  await mayfly.advance("720h");
  assert.equal(await ada.ask("GET", "/me"), 401);
});

test("a logout ends a session at once", async () => {
  const ada = new Browser();
  await ada.ask("POST", "/login", { user: "ada" });
  assert.equal(await ada.ask("POST", "/logout"), 204);
  assert.equal(await ada.ask("GET", "/me"), 401);
  assert.equal(await count(), 0);
});

test("a session that expires while a request is under way does not come back by it", async () => {
  const store = new CosmosStore(sessions);
  const call = (method, ...args) => new Promise((resolve, reject) => {
    store[method](...args, (error, value) => (error ? reject(error) : resolve(value)));
  });
  const session = { user: "ada", cookie: { originalMaxAge: 60_000 } };
  await call("set", "s1", session);
  await mayfly.advance("60s");
  await call("touch", "s1", session);
  assert.equal(await call("get", "s1"), undefined);
});
