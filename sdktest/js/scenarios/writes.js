// Patch, batch and bulk.
import assert from "node:assert/strict";
import { fails, inKey, rows, status, theTwenty, user, wantIds } from "../lib.js";

// patching creates a document and returns what patches it.
async function patching(t, body) {
  const c = await t.container();
  await c.items.create({ id: "1", pk: "a", ...body });
  const item = c.item("1", "a");
  const read = async () => {
    const { id, pk, ...rest } = user((await item.read()).resource);
    return rest;
  };
  return { item, read };
}

const op = (kind) => (path, value) => ({ op: kind, path, value });
const add = op("add");
const set = op("set");
const replace = op("replace");
const incr = op("incr");
const remove = (path) => ({ op: "remove", path });

const creates = (names) => names.map((id) => ({ operationType: "Create", resourceBody: { id, pk: "a" } }));
const statuses = (results) => results.map((r) => r.statusCode);

export const scenarios = {
  "patch-add": async (t) => {
    const { item, read } = await patching(t, { o: { x: 1 }, l: [1, 3] });
    const res = await item.patch([add("/n", 5), add("/o/y", { z: 2 }), add("/l/1", 2), add("/l/-", 4)]);
    assert.equal(res.statusCode, 200);
    assert.deepEqual(await read(), { o: { x: 1, y: { z: 2 } }, l: [1, 2, 3, 4], n: 5 });
    await fails(400, item.patch([add("/none/deep", 1)]));
    await fails(400, item.patch([add("/l/9", 1)]));
  },

  "patch-set": async (t) => {
    const { item, read } = await patching(t, { v: 1, l: [1, 2] });
    await item.patch([set("/v", "new"), set("/w", null), set("/l/0", 9), set("/l/-", 3)]);
    assert.deepEqual(await read(), { v: "new", l: [9, 2, 3], w: null });
  },

  "patch-replace": async (t) => {
    const { item, read } = await patching(t, { v: 1, o: { x: 1 } });
    await item.patch({ operations: [replace("/v", [1]), replace("/o/x", true)] });
    assert.deepEqual(await read(), { v: [1], o: { x: true } });
    await fails(400, item.patch([replace("/none", 1)]));
  },

  "patch-remove": async (t) => {
    const { item, read } = await patching(t, { v: 1, l: [1, 2, 3] });
    await item.patch([remove("/v"), remove("/l/1")]);
    assert.deepEqual(await read(), { l: [1, 3] });
    await fails(400, item.patch([remove("/none")]));
  },

  "patch-increment": async (t) => {
    const { item, read } = await patching(t, { n: 1, s: "x" });
    await item.patch([incr("/n", 41), incr("/m", 5)]);
    await item.patch([incr("/m", -7)]);
    assert.deepEqual(await read(), { n: 42, s: "x", m: -2 });
    await item.patch([incr("/n", 0.5)]);
    assert.equal((await read()).n, 42.5);
    await fails(400, item.patch([incr("/s", 1)]));
  },

  "patch-move": async (t) => {
    const { item, read } = await patching(t, { a: { x: 1 }, b: {} });
    await item.patch([{ op: "move", from: "/a/x", path: "/b/y" }]);
    assert.deepEqual(await read(), { a: {}, b: { y: 1 } });
  },

  "patch-condition": async (t) => {
    const { item, read } = await patching(t, { n: 1 });
    await item.patch({ condition: "FROM c WHERE c.n = 1 AND NOT IS_DEFINED(c.m)", operations: [set("/n", 2)] });
    await fails(412, item.patch({ condition: "FROM c WHERE c.n = 1", operations: [set("/n", 3)] }));
    assert.deepEqual(await read(), { n: 2 });
    await fails(400, item.patch({ condition: "FROM c WHERE c.n = = 1", operations: [set("/n", 3)] }));
  },

  "patch-etag": async (t) => {
    const { item } = await patching(t, { n: 1 });
    const match = (condition) => ({ accessCondition: { type: "IfMatch", condition } });
    const first = (await item.read()).resource._etag;
    const { resource, statusCode } = await item.patch([set("/n", 2)], match(first));
    assert.equal(statusCode, 200);
    assert.notEqual(resource._etag, first);
    await fails(412, item.patch([set("/n", 3)], match(first)));
  },

  "patch-key": async (t) => {
    const { item, read } = await patching(t, { n: 1 });
    for (const path of ["/id", "/pk", "/_ts", "/_rid"]) await fails(400, item.patch([set(path, "z")]));
    assert.deepEqual(await read(), { n: 1 });
  },

  "patch-atomic": async (t) => {
    const { item, read } = await patching(t, { n: 1 });
    await fails(400, item.patch([set("/n", 2), set("/m", 1), remove("/none")]));
    assert.deepEqual(await read(), { n: 1 });
    await fails(400, item.patch(Array.from({ length: 11 }, (_, i) => set("/v" + i, i))));
    assert.deepEqual(await read(), { n: 1 });
  },

  "batch-all-kinds": async (t) => {
    const c = await t.container();
    for (const id of ["upsert", "read", "replace", "patch", "delete"]) await c.items.create({ id, pk: "a", v: 1 });
    const body = (id) => ({ id, pk: "a", v: 2 });
    const { result } = await c.items.batch(
      [
        { operationType: "Create", resourceBody: body("create") },
        { operationType: "Upsert", resourceBody: body("upsert-new") },
        { operationType: "Upsert", resourceBody: body("upsert") },
        { operationType: "Read", id: "read" },
        { operationType: "Replace", id: "replace", resourceBody: body("replace") },
        { operationType: "Patch", id: "patch", resourceBody: { operations: [incr("/v", 1)] } },
        { operationType: "Delete", id: "delete" },
      ],
      "a",
    );
    assert.deepEqual(statuses(result), [201, 201, 200, 200, 200, 200, 204]);
    assert.equal(result[0].resourceBody.id, "create");
    assert.equal(result[3].resourceBody.v, 1);
    assert.ok(result[0].eTag && result.every((r) => r.requestCharge > 0));
    const got = await rows(c, "SELECT VALUE c.v FROM c WHERE c.id != 'read'", inKey("a"));
    assert.deepEqual(got, [2, 2, 2, 2, 2]);
    wantIds(await rows(c, "SELECT * FROM c", inKey("a")), ["create", "upsert-new", "upsert", "read", "replace", "patch"]);
  },

  "batch-fails-at-each-place": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "there", pk: "a" });
    for (let at = 0; at < 5; at++) {
      const names = ["1", "2", "3", "4", "5"];
      names[at] = "there";
      const res = await c.items.batch(creates(names), "a");
      assert.equal(res.code, 207);
      assert.deepEqual(statuses(res.result), names.map((id) => (id === "there" ? 409 : 424)));
    }
    wantIds(await rows(c, "SELECT * FROM c", inKey("a")), ["there"]);
  },

  "batch-etag": async (t) => {
    const c = await t.container();
    const { resource } = await c.items.create({ id: "1", pk: "a", v: 1 });
    await c.item("1", "a").replace({ id: "1", pk: "a", v: 2 });
    const replacing = (ifMatch) => [
      { operationType: "Create", resourceBody: { id: "2", pk: "a" } },
      { operationType: "Replace", id: "1", resourceBody: { id: "1", pk: "a", v: 3 }, ifMatch },
    ];
    assert.deepEqual(statuses((await c.items.batch(replacing(resource._etag), "a")).result), [424, 412]);
    assert.equal(await status(c.item("2", "a").read()), 404);
    const { resource: now } = await c.item("1", "a").read();
    assert.deepEqual(statuses((await c.items.batch(replacing(now._etag), "a")).result), [201, 200]);
  },

  "batch-own-writes": async (t) => {
    const c = await t.container();
    const { result } = await c.items.batch(
      [
        { operationType: "Create", resourceBody: { id: "1", pk: "a", v: 1 } },
        { operationType: "Patch", id: "1", resourceBody: { operations: [incr("/v", 1)] } },
        { operationType: "Read", id: "1" },
        { operationType: "Delete", id: "1" },
        { operationType: "Create", resourceBody: { id: "1", pk: "a", v: 9 } },
      ],
      "a",
    );
    assert.deepEqual(statuses(result), [201, 200, 200, 204, 201]);
    assert.equal(result[2].resourceBody.v, 2);
    assert.equal((await c.item("1", "a").read()).resource.v, 9);
  },

  "batch-hundred": async (t) => {
    const c = await t.container();
    const names = Array.from({ length: 101 }, (_, i) => "n" + i);
    await assert.rejects(c.items.batch(creates(names), "a"), /100 operations/); // by the SDK itself
    const { result } = await c.items.batch(creates(names.slice(1)), "a");
    assert.ok(result.every((r) => r.statusCode === 201));
    assert.deepEqual(await rows(c, "SELECT VALUE COUNT(1) FROM c", inKey("a")), [100]);
  },

  "bulk-create": async (t) => {
    const c = await t.container();
    const items = Array.from({ length: 250 }, (_, i) => ({ id: String(i), pk: "p" + (i % 17), n: i }));
    const results = await c.items.executeBulkOperations(items.map((resourceBody) => ({ operationType: "Create", partitionKey: resourceBody.pk, resourceBody })));
    assert.equal(results.length, 250);
    assert.ok(results.every((r) => r.response?.statusCode === 201));
    wantIds(await rows(c, "SELECT c.id FROM c", { maxItemCount: -1 }), items.map((i) => i.id));
  },

  "bulk-mixed": async (t) => {
    const c = await t.twenty();
    const operations = [
      { operationType: "Create", partitionKey: "p0", resourceBody: { id: "i00", pk: "p0" } },
      { operationType: "Create", partitionKey: "p1", resourceBody: { id: "new", pk: "p1" } },
      { operationType: "Upsert", partitionKey: "p2", resourceBody: { id: "i02", pk: "p2", n: 200 } },
      { operationType: "Read", partitionKey: "p3", id: "i03" },
      { operationType: "Read", partitionKey: "p3", id: "none" },
      { operationType: "Replace", partitionKey: "p4", id: "none", resourceBody: { id: "none", pk: "p4" } },
      { operationType: "Patch", partitionKey: "p0", id: "i05", resourceBody: { operations: [incr("/n", 95)] } },
      { operationType: "Delete", partitionKey: "p1", id: "i06" },
      { operationType: "Delete", partitionKey: "p1", id: "none" },
      { operationType: "Create", partitionKey: "p2", resourceBody: { id: "mortal", pk: "p2", ttl: -10 } },
    ];
    const results = await c.items.executeBulkOperations(operations);
    assert.deepEqual(results.map((r) => r.response?.statusCode ?? r.error?.code), [409, 201, 200, 200, 404, 404, 200, 204, 404, 400]);
    assert.equal(results[3].response.resourceBody.n, 3);
    const after = [...theTwenty().map((i) => i.id).filter((id) => id !== "i06"), "new"];
    wantIds(await rows(c, "SELECT c.id FROM c"), after);
  },
};
