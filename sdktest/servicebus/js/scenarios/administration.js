// The administration client.
import assert from "node:assert/strict";
import { Place, drain, later, msg, numbered, one, refused } from "../bus.js";

const NEVER = "P10675199DT2H48M5.4775807S";
const EXISTS = "AlreadyExists";
// The administration spells it MessageEntityNotFound, the data plane MessagingEntityNotFound.
const MISSING = "EntityNotFound";

// has wants an entity to have these settings.
function has(entity, wanted) {
  for (const [name, value] of Object.entries(wanted)) assert.deepEqual(entity[name], value, name);
}

const recent = (moment) => assert.ok(Math.abs(later(0) - moment) < 60_000, String(moment));

const queues = {
  "admin-namespace": async (t) => {
    const n = await t.adm.getNamespaceProperties();
    assert.ok(n.name);
    assert.equal(n.messagingSku, "Standard");
  },

  "admin-queue-lifecycle": async (t) => {
    const q = await t.queue();
    await refused(t.adm.createQueue(q.name), EXISTS);
    assert.equal((await t.adm.getQueue(q.name)).name, q.name);
    assert.equal(await t.adm.queueExists(q.name), true);
    await t.adm.deleteQueue(q.name);
    assert.equal(await t.adm.queueExists(q.name), false);
    await refused(t.adm.getQueue(q.name), MISSING);
    await refused(t.adm.deleteQueue(q.name), MISSING);
  },

  "admin-queue-defaults": async (t) => {
    has(await t.adm.getQueue((await t.queue()).name), {
      lockDuration: "PT1M",
      maxDeliveryCount: 10,
      defaultMessageTimeToLive: NEVER,
      autoDeleteOnIdle: NEVER,
      requiresSession: false,
      requiresDuplicateDetection: false,
      deadLetteringOnMessageExpiration: false,
      maxSizeInMegabytes: 1024,
      status: "Active",
    });
  },

  "admin-queue-properties": async (t) => {
    const dead = await t.queue({}, "dead");
    const wanted = {
      lockDuration: "PT42S",
      maxSizeInMegabytes: 2048,
      requiresDuplicateDetection: true,
      requiresSession: true,
      defaultMessageTimeToLive: "P1DT1H",
      deadLetteringOnMessageExpiration: true,
      duplicateDetectionHistoryTimeWindow: "PT5M",
      maxDeliveryCount: 7,
      enableBatchedOperations: false,
      autoDeleteOnIdle: "PT10M",
      userMetadata: "<&> ä",
    };
    const rule = {
      claimType: "SharedAccessKey",
      keyName: "reads",
      accessRights: ["Listen"],
      primaryKey: "MTIz",
      secondaryKey: "NDU2",
    };
    const q = await t.queue({
      ...wanted,
      forwardDeadLetteredMessagesTo: dead.name,
      authorizationRules: [rule],
    });
    const p = await t.adm.getQueue(q.name);
    has(p, wanted);
    assert.ok(p.forwardDeadLetteredMessagesTo.endsWith(dead.name), p.forwardDeadLetteredMessagesTo);
    assert.equal(p.authorizationRules[0].keyName, "reads");
    const changes = { maxDeliveryCount: 3, defaultMessageTimeToLive: "PT5S", userMetadata: "other" };
    await t.adm.updateQueue({ ...p, ...changes });
    has(await t.adm.getQueue(q.name), { ...wanted, ...changes });
  },

  "admin-queue-listing": async (t) => {
    const want = [];
    for (const suffix of numbered(105)) want.push((await t.queue({}, suffix)).name);
    const names = (await drain(t.adm.listQueues())).map((q) => q.name).filter((n) => n.startsWith(t.name));
    assert.deepEqual(names.sort(), want.sort());
  },

  "admin-queue-runtime": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "dead", "a", "b");
    const r = t.receiver(q);
    await r.deadLetterMessage(await one(r, "dead"));
    await t.sender(q.name).scheduleMessages(msg("later"), later(300));
    const p = await t.adm.getQueueRuntimeProperties(q.name);
    has(p, {
      activeMessageCount: 2,
      deadLetterMessageCount: 1,
      scheduledMessageCount: 1,
      totalMessageCount: 4,
    });
    assert.ok(p.sizeInBytes > 0);
    recent(p.createdAt);
    recent(p.modifiedAt);
  },
};

const topics = {
  "admin-topic-lifecycle": async (t) => {
    await t.topic();
    await refused(t.adm.createTopic(t.name), EXISTS);
    assert.equal((await t.adm.getTopic(t.name)).name, t.name);
    assert.equal(await t.adm.topicExists(t.name), true);
    await t.adm.deleteTopic(t.name);
    assert.equal(await t.adm.topicExists(t.name), false);
    await refused(t.adm.getTopic(t.name), MISSING);
    await refused(t.adm.deleteTopic(t.name), MISSING);
  },

  "admin-topic-properties": async (t) => {
    const wanted = {
      maxSizeInMegabytes: 2048,
      requiresDuplicateDetection: true,
      defaultMessageTimeToLive: "P1DT1H",
      duplicateDetectionHistoryTimeWindow: "PT5M",
      enableBatchedOperations: false,
      autoDeleteOnIdle: "PT10M",
      supportOrdering: true,
      userMetadata: "<&> ä",
    };
    await t.topic([], wanted);
    const p = await t.adm.getTopic(t.name);
    has(p, wanted);
    const changes = { defaultMessageTimeToLive: "PT5S", userMetadata: "other" };
    await t.adm.updateTopic({ ...p, ...changes });
    has(await t.adm.getTopic(t.name), { ...wanted, ...changes });
  },

  "admin-topic-listing": async (t) => {
    const want = [1, 2, 3].map((i) => `${t.name}-${i}`);
    for (const name of want) {
      await t.adm.createTopic(name);
      t.dropTopic(name);
    }
    const names = (await drain(t.adm.listTopics()))
      .map((topic) => topic.name)
      .filter((n) => n.startsWith(t.name));
    assert.deepEqual(names.sort(), want);
  },

  "admin-topic-runtime": async (t) => {
    await t.topic(["s1", "s2"]);
    await t.sender(t.name).scheduleMessages(msg("later"), later(300));
    has(await t.adm.getTopicRuntimeProperties(t.name), { subscriptionCount: 2, scheduledMessageCount: 1 });
  },
};

const subscriptions = {
  "admin-subscription-lifecycle": async (t) => {
    await t.topic(["s"]);
    await refused(t.adm.createSubscription(t.name, "s"), EXISTS);
    await refused(t.adm.createSubscription(`${t.name}-not`, "s"), MISSING);
    assert.equal((await t.adm.getSubscription(t.name, "s")).subscriptionName, "s");
    assert.equal(await t.adm.subscriptionExists(t.name, "s"), true);
    await t.adm.deleteSubscription(t.name, "s");
    assert.equal(await t.adm.subscriptionExists(t.name, "s"), false);
    await refused(t.adm.getSubscription(t.name, "s"), MISSING);
    await refused(t.adm.deleteSubscription(t.name, "s"), MISSING);
  },

  "admin-subscription-properties": async (t) => {
    await t.topic();
    const wanted = {
      lockDuration: "PT42S",
      requiresSession: true,
      defaultMessageTimeToLive: "P1DT1H",
      deadLetteringOnMessageExpiration: true,
      deadLetteringOnFilterEvaluationExceptions: false,
      maxDeliveryCount: 7,
      enableBatchedOperations: false,
      autoDeleteOnIdle: "PT10M",
      userMetadata: "<&> ä",
    };
    await t.sub("s", wanted);
    const p = await t.adm.getSubscription(t.name, "s");
    has(p, wanted);
    const changes = { maxDeliveryCount: 3, userMetadata: "other" };
    await t.adm.updateSubscription({ ...p, ...changes });
    has(await t.adm.getSubscription(t.name, "s"), { ...wanted, ...changes });
  },

  "admin-subscription-listing": async (t) => {
    await t.topic();
    for (const name of numbered(105)) await t.sub(name);
    const names = (await drain(t.adm.listSubscriptions(t.name))).map((s) => s.subscriptionName);
    assert.deepEqual(names.sort(), numbered(105).sort());
  },

  "admin-subscription-runtime": async (t) => {
    const [s] = await t.topic(["s"]);
    await t.send(t.name, "dead", "a", "b");
    const r = t.receiver(s);
    await r.deadLetterMessage(await one(r, "dead"));
    const want = { activeMessageCount: 2, deadLetterMessageCount: 1, totalMessageCount: 3 };
    has(await t.adm.getSubscriptionRuntimeProperties(t.name, "s"), want);
  },

  "admin-rule-lifecycle": async (t) => {
    await t.topic(["s"]);
    const filter = { sqlExpression: "a = 1" };
    await t.adm.createRule(t.name, "s", "sql", filter, { sqlExpression: "SET b = 2" });
    await t.adm.createRule(t.name, "s", "correlation", { subject: "x", applicationProperties: { n: "v" } });
    await refused(t.adm.createRule(t.name, "s", "sql", filter), EXISTS);
    const got = await t.adm.getRule(t.name, "s", "sql");
    assert.deepEqual([got.filter.sqlExpression, got.action.sqlExpression], ["a = 1", "SET b = 2"]);
    await t.adm.updateRule(t.name, "s", { ...got, filter: { sqlExpression: "a = 3" } });
    assert.equal((await t.adm.getRule(t.name, "s", "sql")).filter.sqlExpression, "a = 3");
    const correlation = (await t.adm.getRule(t.name, "s", "correlation")).filter;
    assert.deepEqual([correlation.subject, correlation.applicationProperties], ["x", { n: "v" }]);
    await t.adm.deleteRule(t.name, "s", "sql");
    assert.equal(await t.adm.ruleExists(t.name, "s", "sql"), false);
    await refused(t.adm.getRule(t.name, "s", "sql"), MISSING);
  },

  "admin-rule-listing": async (t) => {
    await t.topic(["s"]);
    for (const name of numbered(5)) await t.adm.createRule(t.name, "s", name, { sqlExpression: "a = 1" });
    const names = (await drain(t.adm.listRules(t.name, "s"))).map((r) => r.name);
    assert.deepEqual(names.sort(), ["$Default", ...numbered(5)]);
  },

  "admin-default-rule": async (t) => {
    await t.topic();
    await t.ruled("s", { sqlExpression: "a = 1" });
    assert.deepEqual(
      (await drain(t.adm.listRules(t.name, "s"))).map((r) => r.name),
      ["s"],
    );
  },

  "admin-names": async (t) => {
    const name = "Admin-Names/deep.er/Queue_1";
    await t.adm.createQueue(name);
    t.dropQueue(name);
    await t.send(name, "a");
    const other = new Place("admin-names/DEEP.er/queue_1");
    assert.ok(await t.adm.queueExists(other.name));
    await t.left(other, ["a"]);
    await refused(t.adm.createQueue("no~tilde"), "400");
  },

  "admin-one-namespace": async (t) => {
    const q = await t.queue();
    await refused(t.adm.createTopic(q.name), EXISTS);
  },

  "admin-forward-missing": async (t) => {
    await refused(t.adm.createQueue(t.name, { forwardTo: "not-there" }), "400", "404");
  },

  "admin-delete-topic": async (t) => {
    const [s] = await t.topic(["s"]);
    await t.adm.deleteTopic(t.name);
    await refused(t.receiver(s).receiveMessages(1, { maxWaitTimeInMs: 5000 }), MISSING);
    await t.topic();
    assert.equal(await t.adm.subscriptionExists(t.name, "s"), false);
  },
};

export const scenarios = { ...queues, ...topics, ...subscriptions };
