// Partition keys of every kind.
import assert from "node:assert/strict";
import { fails, inKey, rows, status, user, wantIds } from "../lib.js";
import { drain, feedOf } from "./feed.js";

// life takes one document through its life under a partition key; sent has its id "1".
async function life(c, key, sent) {
  assert.equal((await c.items.create(sent)).statusCode, 201);
  assert.deepEqual(user((await c.item("1", key).read()).resource), sent);
  assert.deepEqual((await rows(c, "SELECT * FROM c", { partitionKey: key })).map(user), [sent]);
  assert.equal((await c.item("1", key).replace({ ...sent, v: 2 })).resource.v, 2);
  assert.equal((await c.item("1", key).delete()).statusCode, 204);
}

const lives = (...values) => async (t) => {
  const c = await t.container();
  for (const pk of values) await life(c, pk, { id: "1", pk });
};

const three = { paths: ["/country", "/city", "/street"], kind: "MultiHash", version: 2 };
const places = [
  ["de", "berlin", "a"],
  ["de", "berlin", "b"],
  ["de", "bonn", "a"],
  ["fr", "paris", "a"],
  ["fr", "berlin", "a"],
];

async function atlas(t) {
  const c = await t.container({ partitionKey: three });
  for (const [country, city, street] of places) {
    for (const id of ["1", "2"]) await c.items.create({ id: `${country}-${city}-${street}-${id}`, country, city, street });
  }
  return c;
}

const under = (...prefix) =>
  places.filter((p) => prefix.every((v, i) => p[i] === v)).flatMap((p) => ["1", "2"].map((id) => [...p, id].join("-")));

export const scenarios = {
  "key-string": lives("", "a", "ä€😀"),
  "key-number": lives(0, -1.5, 1e21, 2 ** 53),
  "key-bool": lives(true, false),
  "key-null": lives(null),

  "key-none": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "2", pk: null });
    await life(c, {}, { id: "1" });
  },

  "key-kinds-apart": async (t) => {
    const c = await t.container();
    const kinds = ["1", 1, true, "true", null, ""];
    for (const [v, pk] of kinds.entries()) await c.items.create({ id: "1", pk, v });
    for (const [v, pk] of kinds.entries()) {
      assert.equal((await c.item("1", pk).read()).resource.v, v);
      assert.deepEqual(await rows(c, "SELECT VALUE c.v FROM c", { partitionKey: pk }), [v]);
    }
  },

  "key-long": async (t) => {
    const c = await t.container();
    const [one, two] = ["1", "2"].map((end) => "k".repeat(1999) + end);
    await c.items.create({ id: "1", pk: one, v: 1 });
    await c.items.create({ id: "1", pk: two, v: 2 });
    assert.equal((await c.item("1", one).read()).resource.v, 1);
    assert.deepEqual(await rows(c, "SELECT VALUE c.v FROM c", inKey(two)), [2]);
  },

  "key-nested": async (t) => {
    const c = await t.container({ partitionKey: { paths: ["/a/b"], version: 2 } });
    await life(c, "x", { id: "1", a: { b: "x", c: 1 } });
  },

  "key-hierarchical": async (t) => {
    const c = await t.container({ partitionKey: three });
    const key = ["de", "berlin", "a"];
    const sent = { id: "1", country: "de", city: "berlin", street: "a" };
    await life(c, key, sent);
    await c.items.create(sent);
    assert.equal((await c.item("1", key).patch([{ op: "set", path: "/v", value: 1 }])).resource.v, 1);
    assert.equal(await status(c.item("1", ["de", "berlin", "b"]).read()), 404);
  },

  "key-hierarchical-query": async (t) => {
    const c = await atlas(t);
    for (const prefix of [["de", "berlin", "a"], ["de", "berlin"], ["de"], ["fr"], ["it"]]) {
      wantIds(await rows(c, "SELECT * FROM c", { partitionKey: prefix }), under(...prefix));
    }
  },

  "key-hierarchical-partial": async (t) => {
    const c = await atlas(t);
    await fails(400, c.item("de-berlin-a-1", ["de", "berlin"]).read());
  },

  "key-hierarchical-feed": async (t) => {
    const c = await atlas(t);
    wantIds(await drain(feedOf(c, { beginning: true, key: ["de"] })), under("de"));
  },

  "partition-delete": async (t) => {
    const c = await t.twenty();
    assert.equal((await c.deleteAllItemsForPartitionKey("p1")).statusCode, 200);
    assert.deepEqual(await rows(c, "SELECT * FROM c", inKey("p1")), []);
    assert.equal(await status(c.item("i06", "p1").read()), 404);
    assert.equal((await rows(c, "SELECT * FROM c")).length, 16);
    assert.equal((await c.items.create({ id: "i06", pk: "p1" })).statusCode, 201);
    wantIds(await rows(c, "SELECT * FROM c", inKey("p1")), ["i06"]);
  },
};
