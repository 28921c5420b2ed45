// Time to live, to the second, by the server's virtual clock.
import assert from "node:assert/strict";
import { fails, ids, inKey, pages, rows, status, wantIds } from "../lib.js";

// alive wants exactly these ids to be there: by query and, of all that the container has had, by read.
async function alive(c, all, want) {
  wantIds(await rows(c, "SELECT * FROM c", inKey("a")), want);
  for (const id of all) {
    assert.equal(await status(c.item(id, "a").read()), want.includes(id) ? 200 : 404, id);
  }
}

const doc = (id, ttl) => (ttl === undefined ? { id, pk: "a" } : { id, pk: "a", ttl });

async function setDefault(c, defaultTtl) {
  const { resource } = await c.read();
  delete resource.defaultTtl;
  if (defaultTtl !== undefined) resource.defaultTtl = defaultTtl;
  await c.replace(resource);
}

export const scenarios = {
  "ttl-default": async (t) => {
    const c = await t.container({ defaultTtl: 10 });
    assert.equal((await c.read()).resource.defaultTtl, 10);
    const { resource } = await c.items.create(doc("1"));
    assert.ok(!("ttl" in resource));
    await t.advance(9);
    await alive(c, ["1"], ["1"]);
    await t.advance(1);
    await alive(c, ["1"], []);
  },

  "ttl-item": async (t) => {
    const c = await t.container({ defaultTtl: 10 });
    const all = ["short", "long", "never"];
    await c.items.create(doc("short", 5));
    await c.items.create(doc("long", 20));
    await c.items.create(doc("never", -1));
    for (const [by, want] of [[4, all], [1, ["long", "never"]], [14, ["long", "never"]], [1, ["never"]], [1000000, ["never"]]]) {
      await t.advance(by);
      await alive(c, all, want);
    }
  },

  "ttl-on": async (t) => {
    const c = await t.container({ defaultTtl: -1 });
    await c.items.create(doc("plain"));
    await c.items.create(doc("own", 5));
    await t.advance(5);
    await alive(c, ["plain", "own"], ["plain"]);
    await t.advance(1000000);
    await alive(c, ["plain", "own"], ["plain"]);
  },

  "ttl-off": async (t) => {
    const c = await t.container();
    assert.equal((await c.items.create(doc("own", 5))).resource.ttl, 5);
    await t.advance(1000);
    await alive(c, ["own"], ["own"]);
    assert.equal((await c.item("own", "a").read()).resource.ttl, 5);
  },

  "ttl-invalid": async (t) => {
    for (const defaultTtl of [0, -10]) await fails(400, t.container({ id: "bad", defaultTtl }));
    const c = await t.container({ defaultTtl: -1 });
    await c.items.create(doc("there", 5));
    for (const ttl of [0, -2, 1.5, "10", null, 2 ** 31]) {
      const e = await fails(400, c.items.create(doc("new", ttl)));
      assert.match(e.message, /The input ttl/);
      await fails(400, c.items.upsert(doc("there", ttl)));
      await fails(400, c.item("there", "a").replace(doc("there", ttl)));
      await fails(400, c.item("there", "a").patch([{ op: "set", path: "/ttl", value: ttl }]));
    }
    await alive(c, ["there", "new"], ["there"]);
    assert.equal((await c.item("there", "a").read()).resource.ttl, 5);
  },

  "ttl-write-restarts": async (t) => {
    const c = await t.container({ defaultTtl: 10 });
    const all = ["left", "read", "replaced", "upserted", "patched"];
    for (const id of all) await c.items.create(doc(id));
    await t.advance(9);
    await c.item("read", "a").read();
    await c.item("replaced", "a").replace(doc("replaced"));
    await c.items.upsert(doc("upserted"));
    await c.item("patched", "a").patch([{ op: "set", path: "/v", value: 1 }]);
    await t.advance(1);
    await alive(c, all, ["replaced", "upserted", "patched"]);
    await t.advance(9);
    await alive(c, all, []);
  },

  "ttl-again": async (t) => {
    const c = await t.container({ defaultTtl: 10 });
    for (const id of ["1", "2"]) await c.items.create(doc(id));
    await t.advance(10);
    await fails(404, c.item("1", "a").replace(doc("1")));
    await fails(404, c.item("1", "a").patch([{ op: "set", path: "/v", value: 1 }]));
    await fails(404, c.item("1", "a").delete());
    assert.equal((await c.items.create(doc("1"))).statusCode, 201);
    assert.equal((await c.items.upsert(doc("2"))).statusCode, 201);
    await alive(c, ["1", "2"], ["1", "2"]);
  },

  "ttl-patch": async (t) => {
    const c = await t.container({ defaultTtl: 10 });
    for (const id of ["plain", "shorter", "longer"]) await c.items.create(doc(id));
    await c.item("shorter", "a").patch([{ op: "set", path: "/ttl", value: 5 }]);
    await c.item("longer", "a").patch([{ op: "add", path: "/ttl", value: 20 }]);
    const all = ["plain", "shorter", "longer"];
    for (const [by, want] of [[5, ["plain", "longer"]], [5, ["longer"]], [9, ["longer"]], [1, []]]) {
      await t.advance(by);
      await alive(c, all, want);
    }
  },

  "ttl-batch": async (t) => {
    const c = await t.container({ defaultTtl: 10 });
    const made = ["1", "2", "3"].map((id, i) => ({ operationType: "Create", resourceBody: doc(id, [undefined, 5, 20][i]) }));
    assert.equal((await c.items.batch(made, "a")).code, 200);
    await t.advance(5);
    await alive(c, ["1", "2", "3"], ["1", "3"]);
    const { result } = await c.items.batch([{ operationType: "Read", id: "2" }, { operationType: "Read", id: "1" }], "a");
    assert.deepEqual(result.map((r) => r.statusCode), [404, 424]);
    await t.advance(5);
    await alive(c, ["1", "2", "3"], ["3"]);
  },

  "ttl-default-changes": async (t) => {
    const c = await t.container();
    const all = ["old", "own", "new"];
    await c.items.create(doc("old"));
    await c.items.create(doc("own", 100));
    await t.advance(20);
    await c.items.create(doc("new"));
    await setDefault(c, 10);
    await alive(c, all, ["own", "new"]);
    await t.advance(9);
    await setDefault(c, undefined);
    assert.ok(!("defaultTtl" in (await c.read()).resource));
    await t.advance(1000);
    await alive(c, all, ["own", "new"]);
    await setDefault(c, -1);
    await alive(c, all, ["new"]);
    await setDefault(c, undefined);
    await alive(c, all, ["new"]);
  },

  "ttl-counts": async (t) => {
    const c = await t.container({ defaultTtl: -1 });
    for (let i = 0; i < 10; i++) await c.items.create(doc(String(i), i % 2 ? 5 : undefined));
    await t.advance(5);
    assert.deepEqual(await rows(c, "SELECT VALUE COUNT(1) FROM c", inKey("a")), [5]);
    const got = await pages(c.items.query("SELECT * FROM c", { ...inKey("a"), maxItemCount: 2 }));
    assert.deepEqual(ids(got.flat()), ["0", "2", "4", "6", "8"]);
    assert.ok(got.every((p) => p.length <= 2));
  },

  "ttl-unique-key": async (t) => {
    const c = await t.container({ defaultTtl: -1, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/name"] }] } });
    await c.items.create({ ...doc("1", 5), name: "ada" });
    await t.advance(4);
    await fails(409, c.items.create({ ...doc("2"), name: "ada" }));
    await t.advance(1);
    assert.equal((await c.items.create({ ...doc("2"), name: "ada" })).statusCode, 201);
  },
};
