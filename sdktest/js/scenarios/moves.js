// What a client does not notice: splits of ranges, other clients, restarts of the server.
import assert from "node:assert/strict";
import { NoApi, ids, inKey, pages, rows, theTwenty, twentieth, wantIds } from "../lib.js";
import { drain, feedOf } from "./feed.js";

const everything = ids(theTwenty());

// rest drains an iterator that has been read from before.
async function rest(iterator) {
  return (await pages(iterator)).flat();
}

// recreations are the ways in which another client makes the container again, one after the other.
const recreations = [
  "ranges=1", "ranges=2", "ranges=4", "ranges=1", "ranges=4&whole=true", "ranges=2&whole=true", "ranges=4", "ranges=1&whole=true",
];

// recreated are the ids of the items that the container has after a round.
const recreated = (round) => Array.from({ length: 7 }, (_, i) => `r${round}-${i}`);

export const scenarios = {
  "split-items": async (t) => {
    const c = await t.twenty();
    wantIds(await rows(c, "SELECT * FROM c WHERE c.n >= 0"), everything);
    await t.split(c);
    for (const item of theTwenty()) {
      assert.equal((await c.item(item.id, item.pk).read()).resource.n, item.n);
      assert.equal((await c.item(item.id, item.pk).replace({ ...item, n: item.n + 100 })).statusCode, 200);
    }
    for (let i = 0; i < 10; i++) await c.items.create({ id: "new" + i, pk: "q" + i, n: 0 });
    assert.equal((await rows(c, "SELECT * FROM c WHERE c.n >= 100")).length, 20);
    assert.equal((await rows(c, "SELECT * FROM c")).length, 30);
    assert.equal((await c.getFeedRanges()).length, t.ranges + 1);
  },

  "split-while-paging": async (t) => {
    const c = await t.twenty();
    const iterator = c.items.query("SELECT * FROM c", { maxItemCount: 3 });
    const { resources } = await iterator.fetchNext();
    await t.split(c);
    wantIds([...resources, ...(await rest(iterator))], everything);
  },

  "split-while-ordering": async (t) => {
    const c = await t.twenty();
    const query = "SELECT * FROM c ORDER BY c.n DESC";
    const options = { maxItemCount: 3, enableQueryControl: true };
    const { resources, continuationToken } = await c.items.query(query, options).fetchNext();
    await t.split(c);
    // By a client that learns the ranges anew: one that knows the old ones asks for them without end (4.10.1).
    const other = t.connect().database(t.name).container("c");
    const after = await rest(other.items.query(query, { ...options, continuationToken }));
    assert.deepEqual(ids([...resources, ...after]), [...everything].reverse());
  },

  "split-partition-paging": async (t) => {
    const c = await t.container();
    for (let i = 0; i < 10; i++) await c.items.create({ id: String(i), pk: "a" });
    for (let i = 0; i < 20; i++) await c.items.create({ id: "x", pk: "b" + i });
    const iterator = c.items.query("SELECT * FROM c", { ...inKey("a"), maxItemCount: 3 });
    const { resources } = await iterator.fetchNext();
    await t.split(c);
    assert.deepEqual(ids([...resources, ...(await rest(iterator))]), [..."0123456789"]);
  },

  "split-feed": async (t) => {
    const c = await t.twenty();
    const iterator = feedOf(c, { max: 4 });
    const page = await iterator.readNext();
    await t.split(c);
    wantIds([...(page.statusCode === 304 ? [] : page.result), ...(await drain(iterator))], everything);
    await c.items.create({ id: "new", pk: "p0" });
    await c.item("i01", "p1").replace({ ...twentieth(1), n: 100 });
    wantIds(await drain(iterator), ["new", "i01"]);
  },

  "split-aggregates": async () => {
    throw new NoApi("4.10.1 asks for a range that is gone without end");
  },

  "split-batch": async (t) => {
    const c = await t.container();
    const bulk = (at) =>
      c.items.executeBulkOperations(
        Array.from({ length: 20 }, (_, i) => ({ operationType: "Create", partitionKey: "p" + i, resourceBody: { id: at, pk: "p" + i } })),
      );
    assert.ok((await bulk("before")).every((r) => r.response?.statusCode === 201));
    await t.split(c);
    for (let i = 0; i < 20; i++) {
      const create = { operationType: "Create", resourceBody: { id: "batch", pk: "p" + i } };
      assert.equal((await c.items.batch([create, { operationType: "Read", id: "before" }], "p" + i)).code, 200);
    }
    assert.ok((await bulk("after")).every((r) => r.response?.statusCode === 201));
    assert.equal((await rows(c, "SELECT * FROM c")).length, 60);
  },

  "container-recreated": async (t) => {
    const c = await t.twenty();
    wantIds(await rows(c, "SELECT * FROM c"), everything);
    for (const [round, how] of recreations.entries()) {
      await t.restart(`recreate?database=${t.name}&round=${round}&${how}`);
      const want = recreated(round);
      const uses = [
        async () => wantIds(await rows(c, "SELECT * FROM c"), want),
        async () => assert.deepEqual(ids(await rows(c, "SELECT * FROM c ORDER BY c.n")), want),
        async () => wantIds(await drain(feedOf(c)), want),
        async () => {
          for (const [i, id] of want.entries()) {
            const { resource } = await c.item(id, `k${i}`).read();
            assert.equal(resource.n, i);
            await c.items.upsert(resource);
          }
        },
        async () => {
          const answers = await c.items.bulk(want.map((id, i) => ({ operationType: "Read", id, partitionKey: `k${i}` })));
          assert.deepEqual(answers.map((a) => a.resourceBody.id), want);
        },
      ];
      for (let i = 0; i < uses.length; i++) await uses[(i + round) % uses.length]();
    }
  },

  "session-other-client": async (t) => {
    const c = await t.container();
    const other = t.connect().database(t.name).container("c");
    for (let v = 0; v < 10; v++) {
      const { headers } = await c.items.upsert({ id: "1", pk: "a", v });
      const sessionToken = headers["x-ms-session-token"];
      assert.equal((await other.item("1", "a").read({ sessionToken })).resource.v, v);
      assert.deepEqual(await rows(other, "SELECT VALUE c.v FROM c", { ...inKey("a"), sessionToken }), [v]);
    }
  },

  "session-restart": async (t) => over(t, "stop"),
  "session-kill": async (t) => over(t, "kill"),

  "restart-paging": async (t) => {
    const c = await t.twenty();
    const page = await c.items.query("SELECT * FROM c", { maxItemCount: 3 }).fetchNext();
    assert.ok(page.continuationToken);
    await t.restart("stop");
    const next = c.items.query("SELECT * FROM c", { maxItemCount: 3, continuationToken: page.continuationToken });
    wantIds([...page.resources, ...(await rest(next))], everything);
  },

  "restart-feed": async (t) => {
    const c = await t.twenty();
    const iterator = feedOf(c);
    wantIds(await drain(iterator), everything);
    const page = await iterator.readNext();
    await t.restart("kill");
    const next = feedOf(c, { token: page.continuationToken });
    assert.deepEqual(await drain(next), []);
    await c.items.create({ id: "new", pk: "p0" });
    wantIds(await drain(next), ["new"]);
  },
};

// over ends the server and goes on with the same client.
async function over(t, how) {
  const c = await t.twenty();
  const { resource: written } = await c.item("i07", "p2").replace({ ...twentieth(7), n: 700 });
  await t.restart(how);
  assert.deepEqual((await c.item("i07", "p2").read()).resource, written);
  wantIds(await rows(c, "SELECT * FROM c"), everything);
  const match = { accessCondition: { type: "IfMatch", condition: written._etag } };
  const { resource } = await c.item("i07", "p2").replace({ ...twentieth(7), n: 701 }, match);
  assert.equal((await c.item("i07", "p2").read()).resource._etag, resource._etag);
  assert.equal((await c.items.create({ id: "new", pk: "p2" })).statusCode, 201);
}
