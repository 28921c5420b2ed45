// Stored procedures, triggers and user-defined functions. Their bodies run on the server.
/* global getContext, __ */
import assert from "node:assert/strict";
import { fails, ids, inKey, rows, status, wantIds } from "../lib.js";

// lifecycle is the same for the three kinds; changed is what a replace sends.
async function lifecycle(feed, one, first, changed) {
  const made = await feed.create(first);
  assert.equal(made.statusCode, 201);
  assert.equal(made.resource.body, first.body);
  await fails(409, feed.create(first));
  assert.equal((await one.read()).resource.body, first.body);
  assert.deepEqual(ids((await feed.readAll().fetchAll()).resources), [first.id]);
  const q = { query: "SELECT * FROM s WHERE s.id = @id", parameters: [{ name: "@id", value: first.id }] };
  assert.deepEqual(ids((await feed.query(q).fetchAll()).resources), [first.id]);
  const replaced = await one.replace({ ...first, ...changed });
  assert.equal(replaced.statusCode, 200);
  assert.equal((await one.read()).resource.body, changed.body);
  assert.equal((await one.delete()).statusCode, 204);
  await fails(404, one.read());
}

async function procedure(c, body, id = "p") {
  await c.scripts.storedProcedures.create({ id, body: body.toString() });
  return c.scripts.storedProcedure(id);
}

export const scenarios = {
  "procedure-lifecycle": async (t) => {
    const { scripts } = await t.container();
    await lifecycle(scripts.storedProcedures, scripts.storedProcedure("p"), { id: "p", body: "function () { return 1; }" }, { body: "function () { return 2; }" });
  },

  "procedure-execute": async (t) => {
    const c = await t.container();
    const p = await procedure(c, function (text, number, flag, nothing, list, object) {
      getContext().getResponse().setBody({ text, number: number + 1, flag: !flag, nothing, list: list.length, object });
    });
    const { resource, statusCode } = await p.execute("a", ["x", 41, true, null, [1, 2, 3], { a: { b: 1 } }]);
    assert.equal(statusCode, 200);
    assert.deepEqual(resource, { text: "x", number: 42, flag: false, nothing: null, list: 3, object: { a: { b: 1 } } });
  },

  "procedure-writes": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "other", pk: "b", v: 0 });
    await c.items.create({ id: "doomed", pk: "a", v: 0 });
    const p = await procedure(c, function (pk) {
      const coll = getContext().getCollection();
      const link = coll.getSelfLink();
      const stop = (err) => {
        if (err) throw err;
      };
      coll.createDocument(link, { id: "made", pk, v: 1 }, (err, doc) => {
        stop(err);
        coll.readDocument(doc._self, (err, read) => {
          stop(err);
          read.v++;
          coll.replaceDocument(read._self, read, (err) => {
            stop(err);
            coll.queryDocuments(link, "SELECT * FROM c WHERE c.v = 0", (err, found) => {
              stop(err);
              for (const doc of found) coll.deleteDocument(doc._self, stop);
              getContext().getResponse().setBody(found.length);
            });
          });
        });
      });
    });
    assert.equal((await p.execute("a", ["a"])).resource, 1);
    wantIds(await rows(c, "SELECT * FROM c"), ["other", "made"]);
    assert.equal((await c.item("made", "a").read()).resource.v, 2);
  },

  "procedure-continuation": async (t) => {
    const c = await t.container();
    const p = await procedure(c, function (docs) {
      const coll = getContext().getCollection();
      let done = 0;
      const next = () => {
        if (done === docs.length || done === 10) return getContext().getResponse().setBody(done);
        const accepted = coll.createDocument(coll.getSelfLink(), docs[done], (err) => {
          if (err) throw err;
          done++;
          next();
        });
        if (!accepted) getContext().getResponse().setBody(done);
      };
      next();
    });
    let left = Array.from({ length: 25 }, (_, i) => ({ id: String(i), pk: "a" }));
    let calls = 0;
    for (; left.length > 0; calls++) left = left.slice((await p.execute("a", [left])).resource);
    assert.equal(calls, 3);
    assert.deepEqual(await rows(c, "SELECT VALUE COUNT(1) FROM c", inKey("a")), [25]);
  },

  "procedure-query-pages": async (t) => {
    const c = await t.container();
    for (let i = 0; i < 7; i++) await c.items.create({ id: String(i), pk: "a" });
    const p = await procedure(c, function () {
      const coll = getContext().getCollection();
      const sizes = [];
      const next = (continuation) => {
        coll.queryDocuments(coll.getSelfLink(), { query: "SELECT * FROM c WHERE c.pk = @p", parameters: [{ name: "@p", value: "a" }] }, { pageSize: 3, continuation }, (err, docs, more) => {
          if (err) throw err;
          sizes.push(docs.length);
          if (more.continuation) next(more.continuation);
          else getContext().getResponse().setBody(sizes);
        });
      };
      next();
    });
    assert.deepEqual((await p.execute("a")).resource, [3, 3, 1]);
  },

  "procedure-rollback": async (t) => {
    const c = await t.container();
    const p = await procedure(c, function () {
      const coll = getContext().getCollection();
      coll.createDocument(coll.getSelfLink(), { id: "1", pk: "a" }, () => {
        throw new Error("on second thoughts");
      });
    });
    const e = await fails(400, p.execute("a"));
    assert.match(e.message, /on second thoughts/);
    assert.equal(await status(c.item("1", "a").read()), 404);
  },

  "procedure-log": async (t) => {
    const c = await t.container();
    const p = await procedure(c, function () {
      console.log("said & done ä");
      getContext().getResponse().setBody("ok");
    });
    const loud = await p.execute("a", [], { enableScriptLogging: true });
    assert.equal(loud.headers["x-ms-documentdb-script-log-results"], encodeURIComponent("said & done ä"));
    const quiet = await p.execute("a", []);
    assert.equal(quiet.headers["x-ms-documentdb-script-log-results"], undefined);
  },

  "trigger-lifecycle": async (t) => {
    const { scripts } = await t.container();
    const first = { id: "t", body: "function () { var a = 1; }", triggerType: "Pre", triggerOperation: "All" };
    await lifecycle(scripts.triggers, scripts.trigger("t"), first, { body: "function () { var a = 2; }" });
  },

  "trigger-pre": async (t) => {
    const c = await t.container();
    await c.scripts.triggers.create({
      id: "stamp",
      triggerType: "Pre",
      triggerOperation: "Create",
      body: function () {
        const request = getContext().getRequest();
        const doc = request.getBody();
        doc.stamped = true;
        request.setBody(doc);
      }.toString(),
    });
    const { resource } = await c.items.create({ id: "1", pk: "a" }, { preTriggerInclude: ["stamp"] });
    assert.equal(resource.stamped, true);
    await c.items.create({ id: "2", pk: "a" });
    assert.deepEqual(await rows(c, "SELECT VALUE c.id FROM c WHERE c.stamped", inKey("a")), ["1"]);
  },

  "trigger-post": async (t) => {
    const c = await t.container();
    await c.items.create({ id: "counter", pk: "a", n: 0 });
    await c.scripts.triggers.create({
      id: "count",
      triggerType: "Post",
      triggerOperation: "All",
      body: function () {
        const coll = getContext().getCollection();
        const made = getContext().getResponse().getBody();
        coll.queryDocuments(coll.getSelfLink(), "SELECT * FROM c WHERE c.id = 'counter'", (err, found) => {
          if (err) throw err;
          found[0].n++;
          found[0].last = made.id;
          coll.replaceDocument(found[0]._self, found[0], (err) => {
            if (err) throw err;
          });
        });
      }.toString(),
    });
    for (const id of ["1", "2"]) await c.items.create({ id, pk: "a" }, { postTriggerInclude: "count" });
    const { resource } = await c.item("counter", "a").read();
    assert.equal(resource.n, 2);
    assert.equal(resource.last, "2");
  },

  "trigger-rollback": async (t) => {
    const c = await t.container();
    const body = "function () { throw new Error('not today'); }";
    await c.scripts.triggers.create({ id: "no", triggerType: "Post", triggerOperation: "All", body });
    await fails(400, c.items.create({ id: "1", pk: "a" }, { postTriggerInclude: ["no"] }));
    assert.equal(await status(c.item("1", "a").read()), 404);
  },

  "trigger-wrong-operation": async (t) => {
    const c = await t.container();
    await c.scripts.triggers.create({ id: "d", triggerType: "Pre", triggerOperation: "Delete", body: "function () {}" });
    await fails(400, c.items.create({ id: "1", pk: "a" }, { preTriggerInclude: ["d"] }));
    assert.equal(await status(c.item("1", "a").read()), 404);
  },

  "function-lifecycle": async (t) => {
    const { scripts } = await t.container();
    await lifecycle(scripts.userDefinedFunctions, scripts.userDefinedFunction("f"), { id: "f", body: "function (x) { return x; }" }, { body: "function (x) { return x + 1; }" });
  },

  "function-query": async (t) => {
    const c = await t.twenty();
    await c.scripts.userDefinedFunctions.create({ id: "tax", body: "function (n) { return n * 10; }" });
    assert.deepEqual(await rows(c, "SELECT VALUE udf.tax(c.n) FROM c", inKey("p1")), [10, 60, 110, 160]);
    assert.deepEqual(await rows(c, "SELECT VALUE c.n FROM c WHERE udf.tax(c.n) = 70"), [7]);
    await fails(400, rows(c, "SELECT VALUE udf.none(c.n) FROM c", inKey("p1")));
  },
};
