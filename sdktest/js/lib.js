// What the scenarios share: a client and a database of their own, the server's clock, and a few ways to say what is wanted.
import assert from "node:assert/strict";
import { CosmosClient } from "@azure/cosmos";

// KEY is the master key that every Cosmos DB emulator is known to have.
export const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

// NoApi is thrown by a scenario that the SDK has no call for.
export class NoApi extends Error {}

// Scenario is what one scenario works with. Its database is made when it is first asked for.
export class Scenario {
  #clients = [];
  #database;

  constructor(name, { endpoint, ranges, control }) {
    this.name = name;
    this.endpoint = endpoint;
    this.ranges = Number(ranges);
    this.control = control;
    this.client = this.connect({ key: KEY });
  }

  // connect makes one more client.
  connect(options = { key: KEY }) {
    const client = new CosmosClient({ endpoint: this.endpoint, ...options });
    this.#clients.push(client);
    return client;
  }

  async database(options = {}) {
    if (!this.#database) {
      this.#database = (await this.client.databases.create({ id: this.name, ...options })).database;
    }
    return this.#database;
  }

  // container creates a container, partitioned by /pk unless the definition says otherwise.
  async container(definition = {}) {
    const database = await this.database();
    const { container } = await database.containers.create({ id: "c", partitionKey: { paths: ["/pk"], version: 2 }, ...definition });
    return container;
  }

  // twenty creates a container with the twenty.
  async twenty(definition = {}) {
    const container = await this.container(definition);
    for (const item of theTwenty()) await container.items.create(item);
    return container;
  }

  // advance moves the server's clock on.
  async advance(seconds) {
    await changeClock(this.endpoint, { advance: `${seconds}s` });
  }

  // split splits the container's first range in two.
  async split(container) {
    const { resources } = await this.connect().database(this.name).container(container.id).readPartitionKeyRanges().fetchAll();
    const res = await fetch(new URL(`_mayfly/dbs/${this.name}/colls/${container.id}/split`, this.endpoint), {
      method: "POST",
      headers: { Authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ range: resources[0].id }),
    });
    assert.equal(res.status, 200, `split: ${await res.text()}`);
  }

  // restart ends the server, by "stop" or "kill", and returns when it is back.
  async restart(how) {
    if (!this.control) throw new Error("needs --control");
    const res = await fetch(new URL(how, this.control), { method: "POST" });
    assert.equal(res.status, 200, `${how}: ${await res.text()}`);
  }

  async close() {
    await this.#database?.delete();
    for (const client of this.#clients) client.dispose();
  }
}

export async function freezeClock(endpoint) {
  await changeClock(endpoint, { freeze: true });
}

async function changeClock(endpoint, change) {
  const res = await fetch(new URL("_mayfly/clock", endpoint), {
    method: "PUT",
    headers: { Authorization: `Bearer ${KEY}` },
    body: JSON.stringify(change),
  });
  assert.equal(res.status, 200, `clock: ${await res.text()}`);
}

// theTwenty are the documents that scenarios.md describes.
export function theTwenty() {
  return Array.from({ length: 20 }, (_, i) => twentieth(i));
}

export function twentieth(i) {
  return {
    id: "i" + String(i).padStart(2, "0"),
    pk: "p" + (i % 5),
    n: i,
    g: "g" + (i % 3),
    tags: ["t" + (i % 4), "all"],
    o: { x: i },
  };
}

// fails wants a call refused with one of the statuses, and returns the error.
export async function fails(statuses, call) {
  let answer;
  try {
    answer = await call;
  } catch (e) {
    if (![statuses].flat().includes(e.code)) throw e;
    return e;
  }
  assert.fail(`not refused: ${answer?.statusCode}, wanted ${statuses}`);
}

// rows drains a query.
export async function rows(container, query, options) {
  return (await container.items.query(query, options).fetchAll()).resources;
}

// inKey is the option for a query of one partition key.
export function inKey(...values) {
  return { partitionKey: values.length === 1 ? values[0] : values };
}

// pages drains an iterator by its pages.
export async function pages(iterator) {
  const all = [];
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext();
    if (resources?.length) all.push(resources);
  }
  return all;
}

export const ids = (items) => items.map((i) => i.id);
export const sortedIds = (items) => ids(items).sort();

// user strips what the server adds to a document.
export function user({ _rid, _self, _etag, _attachments, _ts, _lsn, ...item }) {
  return item;
}

// wantIds wants these ids in any order, each once.
export function wantIds(items, want) {
  assert.deepEqual(sortedIds(items), [...want].sort());
}

// status is the status of a read: 404 does not throw in this SDK.
export async function status(read) {
  return (await read).statusCode;
}
