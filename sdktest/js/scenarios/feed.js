// The change feed.
import assert from "node:assert/strict";
import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, ChangeFeedStartFrom, StatusCodes } from "@azure/cosmos";
import { NoApi, ids, theTwenty, twentieth, user, wantIds } from "../lib.js";

// feedOf is an iterator over a container's changes: {beginning, now, time, token} and {key, range, max, all}.
export function feedOf(c, { now, time, token, key, range, max, all } = {}) {
  const scope = key ?? range;
  let from = ChangeFeedStartFrom.Beginning(scope);
  if (now) from = ChangeFeedStartFrom.Now(scope);
  if (time) from = ChangeFeedStartFrom.Time(time, scope);
  if (token) from = ChangeFeedStartFrom.Continuation(token);
  const options = { changeFeedStartFrom: from };
  if (max) options.maxItemCount = max;
  if (all) options.changeFeedMode = ChangeFeedMode.AllVersionsAndDeletes;
  return c.items.getChangeFeedIterator(options);
}

// drainPages reads until there is nothing new.
export async function drainPages(iterator) {
  const pages = [];
  for (;;) {
    const page = await iterator.readNext();
    if (page.statusCode === StatusCodes.NotModified) return pages;
    assert.equal(page.statusCode, 200);
    pages.push(page.result);
  }
}

export async function drain(iterator) {
  return (await drainPages(iterator)).flat();
}

const versions = { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)) };

export const scenarios = {
  "feed-beginning": async (t) => {
    const c = await t.twenty();
    const iterator = feedOf(c);
    const got = await drain(iterator);
    wantIds(got, ids(theTwenty()));
    assert.deepEqual(got.filter((i) => i.pk === "p2").map((i) => i.id), ["i02", "i07", "i12", "i17"]);
    assert.deepEqual(user(got.find((i) => i.id === "i07")), twentieth(7));
    assert.ok(got.every((i) => Number.isInteger(i._lsn)));
    assert.deepEqual(await drain(iterator), []);
    await c.items.create({ id: "new", pk: "p3" });
    wantIds(await drain(iterator), ["new"]);
    assert.deepEqual(await drain(iterator), []);
  },

  "feed-now": async (t) => {
    const c = await t.twenty();
    const iterator = feedOf(c, { now: true });
    assert.deepEqual(await drain(iterator), []);
    await c.items.create({ id: "new", pk: "p3" });
    await c.items.upsert({ ...twentieth(1), n: 100 });
    wantIds(await drain(iterator), ["new", "i01"]);
  },

  "feed-time": async (t) => {
    const c = await t.twenty();
    await t.advance(10);
    const { resource } = await c.items.create({ id: "mark", pk: "p0" });
    await t.advance(10);
    await c.items.create({ id: "late", pk: "p1" });
    wantIds(await drain(feedOf(c, { time: new Date((resource._ts + 5) * 1000) })), ["late"]);
    wantIds(await drain(feedOf(c, { time: new Date((resource._ts - 5) * 1000) })), ["mark", "late"]);
  },

  "feed-partition": async (t) => {
    const c = await t.twenty();
    const iterator = feedOf(c, { key: "p4" });
    assert.deepEqual(ids(await drain(iterator)), ["i04", "i09", "i14", "i19"]);
    await c.items.create({ id: "other", pk: "p3" });
    assert.deepEqual(await drain(iterator), []);
    await c.items.create({ id: "own", pk: "p4" });
    wantIds(await drain(iterator), ["own"]);
  },

  "feed-by-range": async (t) => {
    const c = await t.twenty();
    const got = [];
    for (const range of await c.getFeedRanges()) got.push(...(await drain(feedOf(c, { range }))));
    wantIds(got, ids(theTwenty()));
  },

  "feed-page-size": async (t) => {
    const c = await t.twenty();
    const pages = await drainPages(feedOf(c, { max: 4 }));
    assert.ok(pages.every((p) => p.length <= 4));
    assert.ok(pages.length >= 5);
    wantIds(pages.flat(), ids(theTwenty()));
  },

  "feed-resume": async (t) => {
    const c = await t.twenty();
    const page = await feedOf(c, { max: 4 }).readNext();
    const first = page.statusCode === StatusCodes.NotModified ? [] : page.result;
    const other = t.connect().database(t.name).container("c");
    wantIds([...first, ...(await drain(feedOf(other, { token: page.continuationToken, max: 4 })))], ids(theTwenty()));
  },

  "feed-latest": async (t) => {
    const c = await t.container();
    for (const id of ["1", "2", "3"]) await c.items.create({ id, pk: "a", v: 1 });
    await c.item("1", "a").replace({ id: "1", pk: "a", v: 2 });
    await c.item("1", "a").replace({ id: "1", pk: "a", v: 3 });
    await c.item("2", "a").delete();
    const iterator = feedOf(c);
    const got = await drain(iterator);
    assert.deepEqual(ids(got), ["3", "1"]);
    assert.equal(got[1].v, 3);
    await c.item("3", "a").delete();
    assert.deepEqual(await drain(iterator), []);
  },

  "feed-expired": async (t) => {
    const c = await t.container({ defaultTtl: -1 });
    await c.items.create({ id: "mortal", pk: "a", ttl: 5 });
    await c.items.create({ id: "lasting", pk: "a" });
    await t.advance(5);
    assert.deepEqual(ids(await drain(feedOf(c))), ["lasting"]);
  },

  "feed-all-versions": async (t) => {
    const c = await t.container(versions);
    const iterator = feedOf(c, { now: true, all: true });
    assert.deepEqual(await drain(iterator), []);
    await c.items.create({ id: "1", pk: "a", v: 1 });
    await c.item("1", "a").replace({ id: "1", pk: "a", v: 2 });
    await c.item("1", "a").delete();
    const got = await drain(iterator);
    assert.deepEqual(got.map((e) => e.metadata.operationType), ["create", "replace", "delete"]);
    assert.equal(got[0].current.v, 1);
    assert.equal(got[1].current.v, 2);
    assert.equal(got[2].previous?.v ?? 2, 2);
    assert.ok(got.every((e) => Number.isInteger(e.metadata.lsn) && Number.isInteger(e.metadata.crts)));
  },

  "feed-all-versions-expired": async (t) => {
    const c = await t.container({ ...versions, defaultTtl: 5 });
    const iterator = feedOf(c, { now: true, all: true });
    assert.deepEqual(await drain(iterator), []);
    await c.items.create({ id: "1", pk: "a" });
    await t.advance(5);
    await c.items.create({ id: "1", pk: "a", v: 2 }); // the ghost in the way is purged first
    const got = await drain(iterator);
    assert.deepEqual(got.map((e) => e.metadata.operationType), ["create", "delete", "create"]);
    assert.equal(got[1].metadata.timeToLiveExpired, true);
  },

  "feed-all-versions-beginning": async (t) => {
    const c = await t.container(versions);
    let refused;
    try {
      await drain(feedOf(c, { all: true }));
    } catch (e) {
      refused = e;
    }
    assert.match(refused?.message ?? "", /retention|beginning|not supported/i);
  },

  "feed-processor": async () => {
    throw new NoApi("no processor");
  },
};
