import { callbackify } from "node:util";
import session from "express-session";

/**
 * Keeps sessions as documents of a container, each with the ttl of its cookie. The container has to have TTL
 * switched on (defaultTtl -1) and the partition key /id. The database deletes the sessions that nobody uses.
 */
export class CosmosStore extends session.Store {
  #container;

  constructor(container) {
    super();
    this.#container = container;
  }

  get(id, done) {
    answer(this.#read(id), done);
  }

  set(id, session, done) {
    answer(this.#container.items.upsert({ id, ttl: secondsOf(session), session }), done);
  }

  /** Called for each request that changes nothing: any write starts the document's time anew. */
  touch(id, session, done) {
    const patch = [{ op: "set", path: "/ttl", value: secondsOf(session) }];
    answer(unlessGone(this.#item(id).patch(patch)), done);
  }

  destroy(id, done) {
    answer(unlessGone(this.#item(id).delete()), done);
  }

  async #read(id) {
    const { resource } = await this.#item(id).read(); // undefined for what is not there, or has expired
    return resource?.session;
  }

  #item(id) {
    return this.#container.item(id, id);
  }
}

/** How long a session may be idle: its cookie's maxAge, or a day where the cookie has none. */
function secondsOf({ cookie }) {
  return cookie.originalMaxAge ? Math.ceil(cookie.originalMaxAge / 1000) : 24 * 60 * 60;
}

async function unlessGone(operation) {
  try {
    await operation;
  } catch (error) {
    if (error.code !== 404) throw error;
  }
}

function answer(promise, done = () => {}) {
  callbackify(() => promise)(done);
}
