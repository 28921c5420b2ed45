// Paging and the query language. "Across" is without a partition key.
import assert from "node:assert/strict";
import { NoApi, fails, ids, inKey, pages, rows, theTwenty, user, wantIds } from "../lib.js";

const composite = {
  indexingPolicy: {
    indexingMode: "consistent",
    automatic: true,
    includedPaths: [{ path: "/*" }],
    excludedPaths: [],
    compositeIndexes: [[{ path: "/g", order: "ascending" }, { path: "/n", order: "descending" }]],
  },
};

const vectors = {
  vectorEmbeddingPolicy: { vectorEmbeddings: [{ path: "/v", dataType: "float32", distanceFunction: "euclidean", dimensions: 2 }] },
};
const texts = { fullTextPolicy: { defaultLanguage: "en-US", fullTextPaths: [{ path: "/text", language: "en-US" }] } };
const policy = (more) => ({ indexingMode: "consistent", automatic: true, includedPaths: [{ path: "/*" }], excludedPaths: [], ...more });

// library creates documents with a vector and a text, each in a partition of its own.
async function library(t) {
  const c = await t.container({
    ...vectors,
    ...texts,
    indexingPolicy: policy({ vectorIndexes: [{ path: "/v", type: "flat" }], fullTextIndexes: [{ path: "/text" }] }),
  });
  for (const [id, v, text] of [
    ["1", [0, 0], "a red bicycle on a mountain road"],
    ["2", [1, 0], "a blue car in the city"],
    ["3", [0, 2], "mountain mountain mountain, and a bicycle on every mountain"],
    ["4", [3, 3], "red wine and cheese"],
    ["5", [10, 10], "nothing of interest"],
  ]) {
    await c.items.create({ id, pk: "p" + id, v, text });
  }
  return c;
}

async function mixed(t) {
  const c = await t.container();
  const values = [3, "b", null, true, -1, "a", false, 2.5];
  for (const [i, v] of values.entries()) await c.items.create({ id: String(i), pk: "a", v });
  await c.items.create({ id: "missing", pk: "a" });
  return c;
}

const groups = [
  { g: "g0", count: 7, sum: 63, avg: 9, min: 0, max: 18 },
  { g: "g1", count: 7, sum: 70, avg: 10, min: 1, max: 19 },
  { g: "g2", count: 6, sum: 57, avg: 9.5, min: 2, max: 17 },
];
const byGroup = (a, b) => (a.g < b.g ? -1 : 1);

export const scenarios = {
  "paging-partition": async (t) => {
    const c = await t.container();
    for (let i = 0; i < 10; i++) await c.items.create({ id: String(i), pk: "a" });
    const sizes = [];
    const all = [];
    let continuationToken;
    do {
      const page = await c.items.query("SELECT * FROM c", { ...inKey("a"), maxItemCount: 3, continuationToken }).fetchNext();
      sizes.push(page.resources.length);
      all.push(...page.resources);
      continuationToken = page.continuationToken;
    } while (continuationToken);
    assert.deepEqual(sizes, [3, 3, 3, 1]);
    assert.deepEqual(ids(all), [..."0123456789"]);
    assert.deepEqual((await pages(c.items.query("SELECT * FROM c", { ...inKey("a"), maxItemCount: 3 }))).map((p) => p.length), [3, 3, 3, 1]);
  },

  "paging-cross": async (t) => {
    const c = await t.twenty();
    const all = [];
    let continuationToken;
    do {
      const page = await c.items.query("SELECT * FROM c", { maxItemCount: 3, continuationToken }).fetchNext();
      assert.ok(page.resources.length <= 3);
      all.push(...page.resources);
      continuationToken = page.continuationToken;
    } while (continuationToken);
    wantIds(all, ids(theTwenty()));
  },

  "paging-ordered": async (t) => {
    const c = await t.twenty();
    const all = [];
    let continuationToken;
    do {
      const page = await c.items.query("SELECT * FROM c ORDER BY c.g DESC", { maxItemCount: 3, continuationToken, enableQueryControl: true }).fetchNext();
      assert.ok(page.resources.length <= 3);
      all.push(...page.resources);
      continuationToken = page.continuationToken;
    } while (continuationToken);
    wantIds(all, ids(theTwenty()));
    assert.deepEqual(all.map((i) => i.g), theTwenty().map((i) => i.g).sort().reverse());
  },

  "paging-all": async (t) => {
    const c = await t.twenty();
    const all = (await pages(c.items.readAll({ maxItemCount: 6 }))).flat();
    wantIds(all, ids(theTwenty()));
  },

  "read-many": async () => {
    throw new NoApi("no read many");
  },

  "query-partition": async (t) => {
    const c = await t.twenty();
    for (const [where, want] of [
      ["c.n = 7", ["i07"]],
      ["c.n > 7", ["i12", "i17"]],
      ["c.n >= 7 AND c.n < 17", ["i07", "i12"]],
      ["c.n IN (2, 12, 13)", ["i02", "i12"]],
      ["c.n BETWEEN 3 AND 12", ["i07", "i12"]],
      ["NOT (c.g = 'g0')", ["i02", "i07", "i17"]],
      ["c.g = 'g0' OR c.o.x = 2", ["i02", "i12"]],
      ["c.none = 1", []],
      ["c.n != 7", ["i02", "i12", "i17"]],
    ]) {
      assert.deepEqual(ids(await rows(c, `SELECT * FROM c WHERE ${where}`, inKey("p2"))), want, where);
    }
  },

  "query-parameters": async (t) => {
    const c = await t.container();
    const values = ["it's", 1.5, true, null, [1, "two"], { a: { b: 1 } }];
    for (const [i, v] of values.entries()) await c.items.create({ id: String(i), pk: "a", v });
    for (const [i, value] of values.entries()) {
      const q = { query: "SELECT VALUE c.id FROM c WHERE c.v = @v", parameters: [{ name: "@v", value }] };
      assert.deepEqual(await rows(c, q, inKey("a")), [String(i)]);
      assert.deepEqual(await rows(c, q), [String(i)]);
    }
  },

  "query-cross": async (t) => {
    const c = await t.twenty();
    wantIds(await rows(c, "SELECT * FROM c WHERE c.n >= 15"), ["i15", "i16", "i17", "i18", "i19"]);
    wantIds(await rows(c, "SELECT * FROM c WHERE c.g = 'g2' AND c.n < 9"), ["i02", "i05", "i08"]);
    assert.deepEqual((await rows(c, "SELECT VALUE c.n FROM c WHERE c.pk = 'p3'")).sort((a, b) => a - b), [3, 8, 13, 18]);
    assert.deepEqual(await rows(c, "SELECT * FROM c WHERE c.n > 100"), []);
  },

  "query-projection": async (t) => {
    const c = await t.twenty();
    const one = async (select) => (await rows(c, `SELECT ${select} FROM c WHERE c.id = 'i07'`, inKey("p2")))[0];
    assert.deepEqual(await one("c.id, c.o.x"), { id: "i07", x: 7 });
    assert.deepEqual(await one("c.id AS name, c.n * 2 + 1 AS m"), { name: "i07", m: 15 });
    assert.deepEqual(await one("VALUE { k: c.n, l: [c.g, c.n] }"), { k: 7, l: ["g1", 7] });
    assert.deepEqual(await one("VALUE c.tags"), ["t3", "all"]);
    assert.deepEqual(await one("c.id, c.none, c.n = 7 AS same"), { id: "i07", same: true });
    assert.deepEqual(await one("VALUE c.tags[1]"), "all");
    assert.deepEqual(await one('c["id"], c.g || "!" AS loud'), { id: "i07", loud: "g1!" });
    assert.deepEqual(await rows(c, "SELECT VALUE c.none FROM c", inKey("p2")), []);
    assert.deepEqual(user(await one("*")), theTwenty()[7]);
  },

  "query-order-by-partition": async (t) => {
    const c = await mixed(t);
    const up = [null, false, true, -1, 2.5, 3, "a", "b"];
    const got = await rows(c, "SELECT c.id, c.v FROM c ORDER BY c.v", inKey("a"));
    assert.equal(got[0].id, "missing");
    assert.deepEqual(got.slice(1).map((r) => r.v), up);
    const down = await rows(c, "SELECT c.id, c.v FROM c ORDER BY c.v DESC", inKey("a"));
    assert.equal(down.at(-1).id, "missing");
    assert.deepEqual(down.slice(0, -1).map((r) => r.v), [...up].reverse());
  },

  "query-order-by-cross": async (t) => {
    const c = await t.twenty();
    for (const [how, want] of [["ASC", ids(theTwenty())], ["DESC", ids(theTwenty()).reverse()]]) {
      const got = await pages(c.items.query(`SELECT * FROM c ORDER BY c.n ${how}`, { maxItemCount: 3 }));
      assert.ok(got.every((p) => p.length <= 3));
      assert.deepEqual(ids(got.flat()), want);
    }
  },

  "query-order-by-string-cross": async (t) => {
    const c = await t.twenty();
    for (const how of ["ASC", "DESC"]) {
      const got = (await pages(c.items.query(`SELECT c.id, c.g FROM c WHERE c.n > 4 ORDER BY c.g ${how}`, { maxItemCount: 4 }))).flat();
      wantIds(got, ids(theTwenty().slice(5)));
      const sorted = got.map((r) => r.g).sort();
      assert.deepEqual(got.map((r) => r.g), how === "ASC" ? sorted : sorted.reverse());
    }
  },

  "query-order-by-composite": async (t) => {
    const c = await t.twenty(composite);
    const want = theTwenty().sort((a, b) => (a.g === b.g ? b.n - a.n : a.g < b.g ? -1 : 1));
    assert.deepEqual(ids(await rows(c, "SELECT * FROM c ORDER BY c.g ASC, c.n DESC")), ids(want));
    assert.deepEqual(ids(await rows(c, "SELECT * FROM c ORDER BY c.g DESC, c.n ASC", { maxItemCount: 4 })), ids(want.reverse()));
  },

  "query-order-by-refused": async (t) => {
    const c = await t.twenty(composite);
    const e = await fails(400, rows(c, "SELECT * FROM c ORDER BY c.g ASC, c.n ASC", inKey("p1")));
    assert.match(e.message, /composite index/);
  },

  "query-aggregates-partition": async (t) => {
    const c = await t.twenty();
    for (const [f, want] of [["COUNT(1)", 4], ["SUM(c.n)", 34], ["AVG(c.n)", 8.5], ["MIN(c.n)", 1], ["MAX(c.n)", 16], ["MIN(c.id)", "i01"], ["COUNT(c.none)", 0]]) {
      assert.deepEqual(await rows(c, `SELECT VALUE ${f} FROM c`, inKey("p1")), [want], f);
    }
    assert.deepEqual(await rows(c, "SELECT COUNT(1) AS k, SUM(c.n) AS s FROM c WHERE c.n > 1", inKey("p1")), [{ k: 3, s: 33 }]);
  },

  "query-aggregates-cross": async (t) => {
    const c = await t.twenty();
    for (const [f, want] of [["COUNT(1)", 20], ["SUM(c.n)", 190], ["AVG(c.n)", 9.5], ["MIN(c.n)", 0], ["MAX(c.n)", 19], ["MAX(c.id)", "i19"], ["COUNT(c.none)", 0]]) {
      assert.deepEqual(await rows(c, `SELECT VALUE ${f} FROM c`), [want], f);
    }
    assert.deepEqual(await rows(c, "SELECT VALUE SUM(c.n) FROM c WHERE c.g = 'g1'"), [70]);
  },

  "query-aggregates-many-cross": async (t) => {
    const c = await t.twenty();
    const got = await rows(c, "SELECT COUNT(1) AS k, SUM(c.n) AS s, AVG(c.n) AS a, MIN(c.n) AS lo, MAX(c.n) AS hi FROM c WHERE c.n < 10");
    assert.deepEqual(got, [{ k: 10, s: 45, a: 4.5, lo: 0, hi: 9 }]);
  },

  "query-aggregates-empty": async (t) => {
    const c = await t.twenty();
    assert.deepEqual(await rows(c, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 100"), [0]);
    assert.deepEqual(await rows(c, "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 100"), [0]);
    assert.deepEqual(await rows(c, "SELECT VALUE MIN(c.n) FROM c WHERE c.n > 100"), []);
  },

  "query-group-by-partition": async (t) => {
    const c = await t.twenty();
    const got = await rows(c, "SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", inKey("p1"));
    assert.deepEqual(got.sort(byGroup), [{ g: "g0", k: 1, s: 6 }, { g: "g1", k: 2, s: 17 }, { g: "g2", k: 1, s: 11 }]);
  },

  "query-group-by-cross": async (t) => {
    const c = await t.twenty();
    const q = "SELECT c.g, COUNT(1) AS count, SUM(c.n) AS sum, AVG(c.n) AS avg, MIN(c.n) AS min, MAX(c.n) AS max FROM c GROUP BY c.g";
    assert.deepEqual((await rows(c, q)).sort(byGroup), groups);
    assert.deepEqual((await rows(c, "SELECT VALUE c.g FROM c GROUP BY c.g")).sort(), ["g0", "g1", "g2"]);
  },

  "query-distinct-partition": async (t) => {
    const c = await t.twenty();
    assert.deepEqual((await rows(c, "SELECT DISTINCT VALUE c.g FROM c", inKey("p1"))).sort(), ["g0", "g1", "g2"]);
    assert.deepEqual((await rows(c, "SELECT DISTINCT c.g FROM c", inKey("p1"))).length, 3);
  },

  "query-distinct-cross": async (t) => {
    const c = await t.twenty();
    assert.deepEqual((await rows(c, "SELECT DISTINCT VALUE c.g FROM c")).sort(), ["g0", "g1", "g2"]);
    assert.deepEqual(await rows(c, "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC"), ["g2", "g1", "g0"]);
    assert.deepEqual((await rows(c, "SELECT DISTINCT c.g, c.pk FROM c")).length, 15);
    assert.deepEqual((await rows(c, "SELECT DISTINCT VALUE c.tags FROM c")).length, 4);
  },

  "query-count-distinct-cross": async () => {
    throw new NoApi("does not merge it");
  },

  "query-top-partition": async (t) => {
    const c = await t.twenty();
    assert.deepEqual(ids(await rows(c, "SELECT TOP 2 * FROM c ORDER BY c.n DESC", inKey("p4"))), ["i19", "i14"]);
    assert.deepEqual(ids(await rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 1 LIMIT 2", inKey("p4"))), ["i09", "i14"]);
    assert.deepEqual(ids(await rows(c, "SELECT * FROM c OFFSET 3 LIMIT 5", inKey("p4"))), ["i19"]);
    assert.deepEqual(await rows(c, "SELECT TOP 0 * FROM c", inKey("p4")), []);
  },

  "query-top-cross": async (t) => {
    const c = await t.twenty();
    assert.deepEqual(ids(await rows(c, "SELECT TOP 7 * FROM c ORDER BY c.n DESC", { maxItemCount: 2 })), ids(theTwenty()).reverse().slice(0, 7));
    assert.equal((await rows(c, "SELECT TOP 7 * FROM c")).length, 7);
  },

  "query-offset-limit-cross": async (t) => {
    const c = await t.twenty();
    assert.deepEqual(ids(await rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 5 LIMIT 4")), ["i05", "i06", "i07", "i08"]);
    assert.deepEqual(ids(await rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 18 LIMIT 10", { maxItemCount: 3 })), ["i18", "i19"]);
    assert.deepEqual(await rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 20 LIMIT 10"), []);
  },

  "query-join": async (t) => {
    const c = await t.twenty();
    const got = await rows(c, "SELECT c.id, tag FROM c JOIN tag IN c.tags WHERE tag = 't1'");
    wantIds(got, theTwenty().filter((i) => i.tags[0] === "t1").map((i) => i.id));
    assert.ok(got.every((r) => r.tag === "t1"));
    assert.equal((await rows(c, "SELECT VALUE tag FROM c JOIN tag IN c.tags", inKey("p0"))).length, 8);
    assert.deepEqual(await rows(c, "SELECT VALUE tag FROM tag IN c.tags WHERE tag != 'all'", inKey("p0")), ["t0", "t1", "t2", "t3"]);
  },

  "query-arrays": async (t) => {
    const c = await t.twenty();
    wantIds(await rows(c, "SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, 't2')", inKey("p2")), ["i02"]);
    const q = "SELECT VALUE [ARRAY_LENGTH(c.tags), ARRAY_SLICE(c.tags, 1), ARRAY_CONCAT(c.tags, [c.n]), ARRAY(SELECT VALUE x FROM x IN c.tags WHERE x != 'all')] FROM c WHERE c.id = 'i07'";
    assert.deepEqual(await rows(c, q, inKey("p2")), [[2, ["all"], ["t3", "all", 7], ["t3"]]]);
  },

  "query-subqueries": async (t) => {
    const c = await t.twenty();
    wantIds(await rows(c, "SELECT * FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.tags WHERE x = 't3')", inKey("p2")), ["i07"]);
    assert.deepEqual(await rows(c, "SELECT VALUE (SELECT VALUE COUNT(1) FROM x IN c.tags) FROM c WHERE c.n = 7", inKey("p2")), [2]);
    assert.deepEqual(await rows(c, "SELECT VALUE s.m FROM (SELECT c.n * 2 AS m FROM c WHERE c.n > 10) AS s", inKey("p2")), [24, 34]);
  },

  "query-strings": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "1", pk: "a", s: "Hello World" });
    const q = `SELECT VALUE [CONTAINS(c.s, "world", true), STARTSWITH(c.s, "Hell"), ENDSWITH(c.s, "x"), UPPER(c.s), CONCAT(c.s, "!"),
      c.s LIKE "%o W%", RegexMatch(c.s, "^H.*d$"), SUBSTRING(c.s, 6, 5), REPLACE(c.s, "l", "L"), INDEX_OF(c.s, "o"), LENGTH(c.s)] FROM c`;
    assert.deepEqual(await rows(c, q, inKey("a")), [[true, true, false, "HELLO WORLD", "Hello World!", true, true, "World", "HeLLo WorLd", 4, 11]]);
  },

  "query-types": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "1", pk: "a", z: null, n: -2.5, s: "x", a: [], o: {} });
    const q = `SELECT VALUE [IS_DEFINED(c.none), IS_DEFINED(c.z), IS_NULL(c.z), IS_NUMBER(c.n), IS_STRING(c.n), IS_ARRAY(c.a), IS_OBJECT(c.o),
      c.none ?? "else", IIF(c.n < 0, "minus", "plus"), ABS(c.n), FLOOR(c.n), ROUND(2.5), POWER(2, 10), SQRT(16), 7 % 4, 6 & 3] FROM c`;
    assert.deepEqual(await rows(c, q, inKey("a")), [[false, true, true, true, false, true, true, "else", "minus", 2.5, -3, 3, 1024, 4, 3, 2]]);
  },

  "query-spatial": async (t) => {
    const c = await t.container({ indexingPolicy: policy({ spatialIndexes: [{ path: "/at/*", types: ["Point", "LineString", "Polygon", "MultiPolygon"] }] }) });
    for (const [id, coordinates] of [["berlin", [13.405, 52.52]], ["potsdam", [13.065, 52.4]], ["paris", [2.352, 48.857]]]) {
      await c.items.create({ id, pk: id, at: { type: "Point", coordinates } });
    }
    const near = `SELECT * FROM c WHERE ST_DISTANCE(c.at, {"type": "Point", "coordinates": [13.4, 52.5]}) < 40000`;
    wantIds(await rows(c, near), ["berlin", "potsdam"]);
    const within = `SELECT * FROM c WHERE ST_WITHIN(c.at, {"type": "Polygon", "coordinates": [[[0, 45], [5, 45], [5, 50], [0, 50], [0, 45]]]})`;
    wantIds(await rows(c, within), ["paris"]);
  },

  "query-vector": async (t) => {
    const c = await library(t);
    const near = await rows(c, "SELECT TOP 3 c.id, VectorDistance(c.v, [0, 0.9]) AS d FROM c ORDER BY VectorDistance(c.v, [0, 0.9])");
    assert.deepEqual(ids(near), ["1", "3", "2"]);
    assert.ok(Math.abs(near[0].d - 0.9) < 1e-6);
  },

  "query-full-text": async (t) => {
    const c = await library(t);
    wantIds(await rows(c, "SELECT * FROM c WHERE FullTextContains(c.text, 'bicycle')"), ["1", "3"]);
    wantIds(await rows(c, "SELECT * FROM c WHERE FullTextContainsAll(c.text, 'red', 'bicycle')"), ["1"]);
    wantIds(await rows(c, "SELECT * FROM c WHERE FullTextContainsAny(c.text, 'wine', 'car')"), ["2", "4"]);
  },

  "query-full-text-rank": async (t) => {
    const c = await library(t);
    assert.deepEqual(ids(await rows(c, "SELECT TOP 2 c.id FROM c ORDER BY RANK FullTextScore(c.text, 'mountain', 'bicycle')")), ["3", "1"]);
  },

  "query-hybrid": async (t) => {
    const c = await library(t);
    const q = "SELECT TOP 2 c.id FROM c ORDER BY RANK RRF(VectorDistance(c.v, [0, 0]), FullTextScore(c.text, 'red', 'bicycle'))";
    assert.equal((await rows(c, q))[0].id, "1");
  },

  "query-syntax-error": async (t) => {
    const c = await t.container();
    for (const options of [inKey("a"), {}]) {
      const e = await fails(400, rows(c, "SELECT * FROM c WHERE c.n = = 1", options));
      assert.match(e.message, /[Ss]yntax error/);
    }
  },

  "query-metrics": async (t) => {
    const c = await t.twenty();
    const query = "SELECT * FROM c WHERE c.n > 3";
    const asked = await c.items.query(query, { ...inKey("p1"), populateQueryMetrics: true, populateIndexMetrics: true }).fetchNext();
    assert.ok(asked.headers["x-ms-documentdb-query-metrics"]["0"].retrievedDocumentCount >= 3, "query metrics");
    assert.match(asked.indexMetrics, /\/n\/\?/);
    const plain = await c.items.query(query, inKey("p1")).fetchNext();
    assert.equal(plain.indexMetrics, "{}", "index metrics that nobody asked for");
  },
};
