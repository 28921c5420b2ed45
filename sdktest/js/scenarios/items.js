// Single documents.
import assert from "node:assert/strict";
import { fails, inKey, rows, status, user } from "../lib.js";

const ifMatch = (condition) => ({ accessCondition: { type: "IfMatch", condition } });

export const scenarios = {
  "item-create": async (t) => {
    const c = await t.container();
    const sent = { id: "1", pk: "a", v: 1, o: { a: [1, null, true] } };
    const { statusCode, resource } = await c.items.create(sent);
    assert.equal(statusCode, 201);
    assert.deepEqual(user(resource), sent);
    for (const name of ["_rid", "_self", "_etag", "_attachments"]) assert.equal(typeof resource[name], "string", name);
    assert.ok(Number.isInteger(resource._ts));
    assert.deepEqual((await c.item("1", "a").read()).resource, resource);
  },

  "item-create-again": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "1", pk: "a" });
    await fails(409, c.items.create({ id: "1", pk: "a", v: 2 }));
    assert.deepEqual(user((await c.item("1", "a").read()).resource), { id: "1", pk: "a" });
  },

  "item-read-absent": async (t) => {
    const c = await t.container();
    const res = await c.item("none", "a").read();
    assert.equal(res.statusCode, 404);
    assert.equal(res.resource, undefined);
  },

  "item-read-unchanged": async (t) => {
    const c = await t.container();
    const { resource } = await c.items.create({ id: "1", pk: "a" });
    const unless = { accessCondition: { type: "IfNoneMatch", condition: resource._etag } };
    assert.equal(await status(c.item("1", "a").read(unless)), 304);
    await c.item("1", "a").replace({ id: "1", pk: "a", v: 2 });
    const res = await c.item("1", "a").read(unless);
    assert.equal(res.statusCode, 200);
    assert.equal(res.resource.v, 2);
  },

  "item-replace": async (t) => {
    const c = await t.container();
    const { resource: was } = await c.items.create({ id: "1", pk: "a" });
    const { statusCode, resource: is } = await c.item("1", "a").replace({ id: "1", pk: "a", v: 2 });
    assert.equal(statusCode, 200);
    assert.deepEqual(user(is), { id: "1", pk: "a", v: 2 });
    assert.equal(is._rid, was._rid);
    assert.notEqual(is._etag, was._etag);
    await fails(404, c.item("none", "a").replace({ id: "none", pk: "a" }));
  },

  "item-replace-stale": async (t) => {
    const c = await t.container();
    const { resource: first } = await c.items.create({ id: "1", pk: "a", v: 1 });
    const { resource: second } = await c.item("1", "a").replace({ id: "1", pk: "a", v: 2 }, ifMatch(first._etag));
    const stale = ifMatch(first._etag);
    await fails(412, c.item("1", "a").replace({ id: "1", pk: "a", v: 3 }, stale));
    await fails(412, c.items.upsert({ id: "1", pk: "a", v: 3 }, stale));
    await fails(412, c.item("1", "a").delete(stale));
    assert.deepEqual((await c.item("1", "a").read()).resource, second);
    assert.equal(await status(c.item("1", "a").delete(ifMatch(second._etag))), 204);
  },

  "item-upsert": async (t) => {
    const c = await t.container();
    assert.equal((await c.items.upsert({ id: "1", pk: "a", v: 1 })).statusCode, 201);
    const { statusCode, resource } = await c.items.upsert({ id: "1", pk: "a", v: 2 });
    assert.equal(statusCode, 200);
    assert.deepEqual(user(resource), { id: "1", pk: "a", v: 2 });
  },

  "item-delete": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "1", pk: "a" });
    assert.equal((await c.item("1", "a").delete()).statusCode, 204);
    assert.equal(await status(c.item("1", "a").read()), 404);
    await fails(404, c.item("1", "a").delete());
  },

  "item-no-content": async (t) => {
    const c = await t.container();
    const quiet = { contentResponseOnWriteEnabled: false }; // this SDK has it for batches alone
    const { result } = await c.items.batch(
      [
        { operationType: "Create", resourceBody: { id: "1", pk: "a" } },
        { operationType: "Upsert", resourceBody: { id: "1", pk: "a", v: 1 } },
        { operationType: "Replace", id: "1", resourceBody: { id: "1", pk: "a", v: 2 } },
        { operationType: "Patch", id: "1", resourceBody: { operations: [{ op: "set", path: "/v", value: 3 }] } },
      ],
      "a",
      quiet,
    );
    assert.deepEqual(result.map((r) => r.statusCode), [201, 200, 200, 200]);
    for (const r of result) assert.ok(!r.resourceBody && r.eTag, JSON.stringify(r));
    assert.equal((await c.item("1", "a").read()).resource.v, 3);
  },

  "item-ids": async (t) => {
    const c = await t.container();
    const names = ["a b", " leading", "trailing ", "a?b", "100%", "a%20b", "a+b", `"quoted"`, ";:@&=$,!*'()", "äöüß", "文档", "😀", "a.b", "[0]", "a".repeat(255)];
    for (const id of names) {
      assert.equal((await c.items.create({ id, pk: "a" })).resource.id, id);
      assert.equal((await c.item(id, "a").read()).resource?.id, id, id);
      assert.equal((await c.item(id, "a").replace({ id, pk: "a", v: 1 })).resource.v, 1);
    }
    assert.equal((await rows(c, "SELECT * FROM c", inKey("a"))).length, names.length);
    for (const id of names) assert.equal((await c.item(id, "a").delete()).statusCode, 204);
  },

  "item-values": async (t) => {
    const c = await t.container();
    let deep = "end";
    for (let i = 0; i < 100; i++) deep = { d: deep };
    const sent = {
      id: "1",
      pk: "a",
      numbers: [0, -1, 9007199254740992, 0.1, 1.5e-7, 1e300, -123456.789],
      texts: ["", "ä€😀", 'quote " back \\ slash / line \n tab \t null \u0001', "\u2028"],
      empty: { object: {}, array: [], nested: [[], [{}]] },
      deep,
      "name with blank": 1,
      "name.with.dots": 2,
      "": 3,
      literals: [true, false, null],
    };
    await c.items.create(sent);
    assert.deepEqual(user((await c.item("1", "a").read()).resource), sent);
    assert.deepEqual(user((await rows(c, "SELECT * FROM c", inKey("a")))[0]), sent);
    assert.deepEqual(await rows(c, 'SELECT VALUE c["name.with.dots"] FROM c', inKey("a")), [2]);
  },

  "item-too-large": async (t) => {
    const c = await t.container();
    await fails(413, c.items.create({ id: "1", pk: "a", v: "x".repeat(2 * 1024 * 1024) }));
    assert.equal(await status(c.item("1", "a").read()), 404);
    assert.equal((await c.items.create({ id: "1", pk: "a", v: "x".repeat(1900 * 1024) })).statusCode, 201);
  },

  "item-wrong-partition": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "1", pk: "a" });
    await fails(400, c.item("1", "a").replace({ id: "1", pk: "b" }));
    assert.equal((await c.item("1", "a").read()).resource.pk, "a");
  },

  "item-same-id": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "1", pk: "a", v: 1 });
    await c.items.create({ id: "1", pk: "b", v: 2 });
    await c.item("1", "a").delete();
    assert.equal((await c.item("1", "b").read()).resource.v, 2);
  },
};
