// The account, databases and containers.
import assert from "node:assert/strict";
import { KEY, fails, ids, inKey, rows, theTwenty, wantIds } from "../lib.js";

export const scenarios = {
  "account-read": async (t) => {
    const { resource } = await t.client.getDatabaseAccount();
    assert.equal(resource.consistencyPolicy, "Session");
    assert.equal(resource.writableLocations.length, 1);
    assert.equal(new URL(resource.writableLocations[0].databaseAccountEndpoint).origin, new URL(t.endpoint).origin);
    assert.equal(new URL(resource.readableLocations[0].databaseAccountEndpoint).origin, new URL(t.endpoint).origin);
  },

  "connection-string": async (t) => {
    const client = t.connect({ endpoint: undefined, connectionString: `AccountEndpoint=${t.endpoint};AccountKey=${KEY};` });
    const { database, statusCode } = await client.databases.create({ id: t.name });
    assert.equal(statusCode, 201);
    assert.equal((await database.delete()).statusCode, 204);
  },

  "wrong-key": async (t) => {
    const client = t.connect({ key: Buffer.from("another key").toString("base64") });
    await fails(401, client.databases.create({ id: t.name }));
  },

  "response-headers": async (t) => {
    const c = await t.container();
    const seen = new Set();
    const want = (res, token) => {
      assert.ok(res.requestCharge > 0, "a charge");
      assert.ok(res.activityId, "an activity id");
      assert.ok(!seen.has(res.activityId), "an activity id of its own");
      seen.add(res.activityId);
      if (token) assert.match(res.headers["x-ms-session-token"], /^\d+:.*#\d+/);
    };
    want(await c.items.create({ id: "1", pk: "a" }), true);
    want(await c.item("1", "a").read(), true);
    want(await c.item("1", "a").replace({ id: "1", pk: "a", v: 1 }), true);
    want(await c.items.query("SELECT * FROM c", inKey("a")).fetchNext(), false);
    want(await c.item("1", "a").delete(), true);
  },

  "consistency-levels": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "1", pk: "a" });
    for (const consistencyLevel of ["ConsistentPrefix", "Eventual"]) {
      const other = t.connect({ key: KEY, consistencyLevel }).database(t.name).container("c");
      assert.equal((await other.item("1", "a").read()).resource.id, "1");
      wantIds(await rows(other, "SELECT * FROM c", inKey("a")), ["1"]);
    }
  },

  "database-lifecycle": async (t) => {
    const { database, statusCode } = await t.client.databases.create({ id: t.name });
    assert.equal(statusCode, 201);
    await fails(409, t.client.databases.create({ id: t.name }));
    assert.equal((await database.read()).resource.id, t.name);
    const q = { query: "SELECT * FROM d WHERE d.id = @id", parameters: [{ name: "@id", value: t.name }] };
    assert.deepEqual(ids((await t.client.databases.query(q).fetchAll()).resources), [t.name]);
    assert.equal((await database.delete()).statusCode, 204);
    await fails(404, database.read());
  },

  "database-listing": async (t) => {
    const names = ["x", "y", "z"].map((s) => `${t.name}-${s}`);
    for (const id of names) await t.client.databases.create({ id });
    const q = { query: "SELECT * FROM d WHERE STARTSWITH(d.id, @p)", parameters: [{ name: "@p", value: t.name + "-" }] };
    wantIds((await t.client.databases.query(q).fetchAll()).resources, names);
    const all = (await t.client.databases.readAll().fetchAll()).resources;
    wantIds(all.filter((d) => names.includes(d.id)), names);
    for (const id of names) await t.client.database(id).delete();
  },

  "container-lifecycle": async (t) => {
    const db = await t.database();
    const definition = { id: "c", partitionKey: { paths: ["/pk"], version: 2 } };
    const { container, statusCode } = await db.containers.create(definition);
    assert.equal(statusCode, 201);
    await fails(409, db.containers.create(definition));
    const { resource } = await container.read();
    assert.equal(resource.id, "c");
    assert.deepEqual(resource.partitionKey.paths, ["/pk"]);
    assert.equal((await container.delete()).statusCode, 204);
    await fails(404, container.read());
    await fails(404, t.client.database(t.name + "-none").containers.create(definition));
  },

  "container-listing": async (t) => {
    const db = await t.database();
    for (const id of ["x", "y", "z"]) await t.container({ id });
    wantIds((await db.containers.readAll().fetchAll()).resources, ["x", "y", "z"]);
    const q = { query: "SELECT * FROM c WHERE c.id = @id", parameters: [{ name: "@id", value: "y" }] };
    assert.deepEqual(ids((await db.containers.query(q).fetchAll()).resources), ["y"]);
  },

  "container-replace": async (t) => {
    const c = await t.container();
    const { resource } = await c.read();
    const replaced = await c.replace({
      ...resource,
      defaultTtl: 100,
      indexingPolicy: { indexingMode: "consistent", automatic: true, includedPaths: [{ path: "/*" }], excludedPaths: [{ path: "/big/*" }] },
    });
    assert.equal(replaced.statusCode, 200);
    const now = (await c.read()).resource;
    assert.equal(now.defaultTtl, 100);
    assert.ok(now.indexingPolicy.excludedPaths.some((p) => p.path === "/big/*"));
    assert.equal(now._rid, resource._rid);
    await fails(400, c.replace({ ...resource, partitionKey: { paths: ["/other"], version: 2 } }));
  },

  "container-quota": async (t) => {
    const c = await t.container();
    for (const id of ["1", "2", "3"]) await c.items.create({ id, pk: id });
    const { headers } = await c.read({ populateQuotaInfo: true });
    assert.match(headers["x-ms-resource-quota"], /collectionSize=\d+/);
    assert.match(headers["x-ms-resource-usage"], /documentsCount=3;/);
  },

  "indexing-policy": async (t) => {
    const policy = {
      indexingMode: "consistent",
      automatic: true,
      includedPaths: [{ path: "/*" }],
      excludedPaths: [{ path: "/big/*" }],
      compositeIndexes: [[{ path: "/g", order: "ascending" }, { path: "/n", order: "descending" }]],
      spatialIndexes: [{ path: "/at/*", types: ["Point", "LineString", "Polygon", "MultiPolygon"] }],
    };
    const c = await t.container({ indexingPolicy: policy });
    const got = (await c.read()).resource.indexingPolicy;
    assert.equal(got.indexingMode, "consistent");
    assert.deepEqual(got.includedPaths, policy.includedPaths);
    assert.deepEqual(got.excludedPaths, [{ path: "/big/*" }, { path: '/"_etag"/?' }]);
    assert.deepEqual(got.compositeIndexes, policy.compositeIndexes);
    assert.equal(got.spatialIndexes[0].path, "/at/*");
    assert.deepEqual([...got.spatialIndexes[0].types].sort(), [...policy.spatialIndexes[0].types].sort());
  },

  "indexing-none": async (t) => {
    const c = await t.twenty({ indexingPolicy: { indexingMode: "none", automatic: false } });
    const got = (await c.read()).resource.indexingPolicy;
    assert.equal(got.indexingMode, "none");
    assert.equal(got.automatic, false);
    wantIds(await rows(c, "SELECT * FROM c WHERE c.n > 17"), ["i18", "i19"]);
  },

  "indexing-change": async (t) => {
    const c = await t.twenty();
    const want = theTwenty().filter((i) => i.g === "g1").map((i) => i.id);
    const query = "SELECT * FROM c WHERE c.g = 'g1'";
    wantIds(await rows(c, query), want);
    for (const excludedPaths of [[{ path: "/g/?" }], []]) {
      const { resource } = await c.read();
      await c.replace({ ...resource, indexingPolicy: { indexingMode: "consistent", automatic: true, includedPaths: [{ path: "/*" }], excludedPaths } });
      wantIds(await rows(c, query), want);
    }
  },

  "unique-keys": async (t) => {
    const c = await t.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/name", "/o/x"] }] } });
    assert.deepEqual((await c.read()).resource.uniqueKeyPolicy.uniqueKeys[0].paths, ["/name", "/o/x"]);
    const item = (id, pk, name) => ({ id, pk, name, o: { x: 1 } });
    await c.items.create(item("1", "a", "ada"));
    await c.items.create(item("2", "a", "bob"));
    await fails(409, c.items.create(item("3", "a", "ada")));
    await fails(409, c.items.upsert(item("3", "a", "ada")));
    await fails(409, c.item("2", "a").replace(item("2", "a", "ada")));
    assert.equal((await c.item("1", "a").replace({ ...item("1", "a", "ada"), more: 1 })).statusCode, 200);
    assert.equal((await c.items.create(item("3", "b", "ada"))).statusCode, 201);
    await c.item("1", "a").delete();
    assert.equal((await c.items.create(item("4", "a", "ada"))).statusCode, 201);
  },

  "computed-properties": async (t) => {
    const computedProperties = [{ name: "double", query: "SELECT VALUE c.n * 2 FROM c" }];
    const includedPaths = [{ path: "/*" }, { path: "/double/?" }]; // the wildcard leaves computed properties out
    const c = await t.twenty({ computedProperties, indexingPolicy: { indexingMode: "consistent", automatic: true, includedPaths, excludedPaths: [] } });
    assert.deepEqual((await c.read()).resource.computedProperties, computedProperties);
    assert.deepEqual(await rows(c, "SELECT VALUE c.double FROM c WHERE c.double > 30 ORDER BY c.n", inKey("p3")), [36]);
    assert.deepEqual(await rows(c, "SELECT VALUE c.id FROM c WHERE c.double = 14"), ["i07"]);
    assert.deepEqual(await rows(c, "SELECT VALUE c.n FROM c ORDER BY c.double DESC", inKey("p0")), [15, 10, 5, 0]);
    assert.ok(!("double" in (await rows(c, "SELECT * FROM c"))[0]));
  },

  "conflict-feed": async (t) => {
    const c = await t.container();
    assert.deepEqual((await c.conflicts.readAll().fetchAll()).resources, []);
    assert.deepEqual((await c.conflicts.query("SELECT * FROM c").fetchAll()).resources, []);
  },

  "throughput-manual": async (t) => {
    const c = await t.container({ throughput: 600 });
    const { resource, offer } = await c.readOffer();
    assert.equal(resource.content.offerThroughput, 600);
    resource.content.offerThroughput = 1000;
    assert.equal((await offer.replace(resource)).statusCode, 200);
    assert.equal((await c.readOffer()).resource.content.offerThroughput, 1000);
  },

  "throughput-autoscale": async (t) => {
    const c = await t.container({ maxThroughput: 4000 });
    const { resource, offer } = await c.readOffer();
    assert.equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
    resource.content.offerAutopilotSettings.maxThroughput = 8000;
    assert.equal((await offer.replace(resource)).statusCode, 200);
    assert.equal((await c.readOffer()).resource.content.offerAutopilotSettings.maxThroughput, 8000);
  },

  "throughput-database": async (t) => {
    const db = await t.database({ throughput: 800 });
    assert.equal((await db.readOffer()).resource.content.offerThroughput, 800);
    const c = await t.container();
    assert.equal((await c.readOffer()).resource, undefined);
  },

  "throughput-default": async (t) => {
    const c = await t.container();
    assert.equal((await c.readOffer()).resource.content.offerThroughput, 400);
    assert.equal((await (await t.database()).readOffer()).resource, undefined);
  },

  "feed-range-list": async (t) => {
    const c = await t.container();
    const ranges = await c.getFeedRanges();
    assert.equal(ranges.length, t.ranges);
    let edge = "";
    for (const r of ranges) {
      assert.equal(r.minInclusive, edge);
      edge = r.maxExclusive;
    }
    assert.equal(edge, "FF");
  },
};
