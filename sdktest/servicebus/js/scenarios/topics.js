// Topics and their subscriptions' rules.
import assert from "node:assert/strict";
import { Place, drain, msg, none, one, refused, take } from "../bus.js";

const tagged = (body, applicationProperties) => msg(body, { applicationProperties });
const sql = (sqlExpression) => ({ sqlExpression });

export const scenarios = {
  "topic-copies": async (t) => {
    const [first, second] = await t.topic(["s1", "s2"]);
    await t.send(t.name, "a", "b");
    const r = t.receiver(first);
    await r.completeMessage(await one(r, "a"));
    await t.left(second, ["a", "b"]);
    await t.left(first, ["b"]);
  },

  "topic-default-rule": async (t) => {
    const [s] = await t.topic(["s"]);
    assert.equal((await t.adm.getRule(t.name, "s", "$Default")).filter.sqlExpression, "1=1");
    await t.adm.deleteRule(t.name, "s", "$Default");
    await t.send(t.name, "a");
    await t.left(s);
  },

  "rule-sql": async (t) => {
    await t.topic();
    const s = await t.ruled("s", sql("color = 'blue' AND size > 10"));
    await t.send(
      t.name,
      tagged("1", { color: "blue", size: 10 }),
      tagged("2", { color: "blue", size: 11 }),
      tagged("3", { color: "red", size: 11 }),
      msg("4"),
    );
    await t.left(s, ["2"]);
  },

  "rule-sql-grammar": async (t) => {
    await t.topic();
    const cases = {
      in: ["color IN ('blue', 'green')", "blue"],
      like: ["color LIKE 'b%' AND note LIKE '100!%' ESCAPE '!'", "blue"],
      null: ["note IS NULL", "red"],
      exists: ["EXISTS(note)", "blue"],
      not: ["NOT (size < 10)", "blue"],
      arithmetic: ["size * 2 + 1 = 7", "red"],
      brackets: ["(color = 'red' OR color = 'blue') AND size <> 12", "red"],
    };
    for (const [name, [condition]] of Object.entries(cases)) await t.ruled(name, sql(condition));
    await t.send(
      t.name,
      tagged("blue", { color: "blue", size: 12, note: "100%" }),
      tagged("red", { color: "red", size: 3 }),
    );
    for (const [name, [, want]] of Object.entries(cases)) await t.left(new Place(t.name, name), [want]);
  },

  "rule-sql-system": async (t) => {
    await t.topic();
    const cases = {
      label: ["sys.Label = 'l'", { subject: "l" }],
      correlation: ["sys.CorrelationId = 'c'", { correlationId: "c" }],
      id: ["sys.MessageId = 'i'", { messageId: "i" }],
      to: ["sys.To = 't'", { to: "t" }],
      content: ["sys.ContentType = 'ct'", { contentType: "ct" }],
    };
    for (const [name, [condition]] of Object.entries(cases)) await t.ruled(name, sql(condition));
    await t.send(t.name, "plain");
    for (const [name, [, properties]] of Object.entries(cases)) await t.send(t.name, msg(name, properties));
    for (const name of Object.keys(cases)) await t.left(new Place(t.name, name), [name]);
  },

  "rule-parameters": async (t) => {
    await t.topic();
    const sqlParameters = { "@c": "blue", "@n": 12 };
    const s = await t.ruled("s", { sqlExpression: "color = @c AND size = @n", sqlParameters });
    assert.deepEqual((await t.adm.getRule(t.name, "s", "s")).filter.sqlParameters, sqlParameters);
    await t.send(t.name, tagged("1", { color: "blue", size: 12 }), tagged("2", { color: "blue", size: 13 }));
    await t.left(s, ["1"]);
  },

  "rule-correlation": async (t) => {
    await t.topic();
    const filters = {
      subject: { subject: "s" },
      correlation: { correlationId: "c" },
      property: { applicationProperties: { color: "blue" } },
      both: { subject: "t", applicationProperties: { color: "red" } },
      capital: { subject: "S" },
    };
    for (const [name, filter] of Object.entries(filters)) await t.ruled(name, filter);
    await t.send(
      t.name,
      msg("subject", { subject: "s" }),
      msg("correlation", { correlationId: "c" }),
      tagged("property", { color: "blue" }),
      msg("both", { subject: "t", applicationProperties: { color: "red" } }),
      msg("neither", { subject: "t" }),
    );
    for (const name of ["subject", "correlation", "property", "both"])
      await t.left(new Place(t.name, name), [name]);
    await t.left(new Place(t.name, "capital"));
  },

  "rule-true-false": async (t) => {
    await t.topic();
    const all = await t.ruled("all", sql("1=1"));
    const never = await t.ruled("none", sql("1=0"));
    await t.send(t.name, "a");
    await t.left(all, ["a"]);
    await t.left(never);
  },

  "rule-action": async (t) => {
    const [untouched] = await t.topic(["plain"]);
    const statements = "SET color = 'red'; SET size = 5; SET sys.Label = 'new'; REMOVE note";
    const changed = await t.ruled("changed", sql("1=1"), sql(statements));
    const applicationProperties = { color: "blue", note: "n" };
    await t.send(t.name, msg("a", { subject: "old", applicationProperties }));
    let got = await one(t.deleting(changed), "a");
    assert.equal(got.subject, "new");
    const { color, size, note } = got.applicationProperties;
    assert.deepEqual([color, Number(size), note], ["red", 5, undefined]);
    got = await one(t.deleting(untouched), "a");
    assert.deepEqual([got.subject, got.applicationProperties], ["old", applicationProperties]);
  },

  "rule-several": async (t) => {
    await t.topic();
    const s = await t.ruled("plain1", sql("1=1"));
    await t.adm.createRule(t.name, "plain1", "plain2", sql("2=2"));
    await t.adm.createRule(t.name, "plain1", "acts1", sql("1=1"), sql("SET x = 1"));
    await t.adm.createRule(t.name, "plain1", "acts2", sql("1=1"), sql("SET x = 2"));
    await t.send(t.name, "a");
    const r = t.deleting(s);
    const names = (await take(r, 3)).map((m) => m.applicationProperties?.RuleName ?? "");
    assert.deepEqual(names.sort(), ["", "acts1", "acts2"]);
    await none(r);
  },

  "rule-no-match": async (t) => {
    await t.topic();
    const s = await t.ruled("s", sql("color = 'blue'"));
    await t.send(t.name, "a");
    await t.left(s);
  },

  "rule-later": async (t) => {
    await t.topic();
    const s = await t.ruled("s", sql("1=0"));
    await t.send(t.name, "a");
    await t.adm.createRule(t.name, "s", "all", sql("1=1"));
    await t.send(t.name, "b");
    await t.left(s, ["b"]);
  },

  "rule-manager": async (t) => {
    const [s] = await t.topic(["s"]);
    const rules = t.client.createRuleManager(t.name, "s");
    assert.deepEqual(
      (await drain(rules.listRules())).map((r) => r.name),
      ["$Default"],
    );
    await rules.deleteRule("$Default");
    await rules.createRule("sql", sql("color = 'blue'"), sql("SET seen = 'yes'"));
    await rules.createRule("correlation", { subject: "s", applicationProperties: { n: "v" } });
    const listed = Object.fromEntries((await drain(rules.listRules())).map((r) => [r.name, r]));
    assert.deepEqual(Object.keys(listed).sort(), ["correlation", "sql"]);
    assert.equal(listed.sql.filter.sqlExpression, "color = 'blue'");
    assert.equal(listed.sql.action.sqlExpression, "SET seen = 'yes'");
    assert.equal(listed.correlation.filter.subject, "s");
    await t.send(t.name, "no", tagged("yes", { color: "blue" }));
    assert.equal((await one(t.deleting(s), "yes")).applicationProperties.seen, "yes");
  },

  "rule-manager-errors": async (t) => {
    await t.topic(["s"]);
    const rules = t.client.createRuleManager(t.name, "s");
    await refused(rules.createRule("$Default", sql("1=1")), "AlreadyExists", "already");
    await refused(rules.deleteRule("not-there"), "NotFound", "not found", "not be found");
  },
};
