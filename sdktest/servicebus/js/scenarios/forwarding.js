// Forwarding, duplicates and idleness.
import assert from "node:assert/strict";
import { Place, later, msg, one } from "../bus.js";

const unique = (t, duplicateDetectionHistoryTimeWindow) =>
  t.queue({ requiresDuplicateDetection: true, duplicateDetectionHistoryTimeWindow });
const named = (messageId, body) => msg(body, { messageId });

// goes wants a queue to be there for 290 seconds more, and gone after 300.
async function goes(t, q) {
  await t.advance(290);
  assert.ok(await t.adm.queueExists(q.name), "gone too soon");
  await t.advance(15);
  assert.ok(!(await t.adm.queueExists(q.name)), "still there");
}

export const scenarios = {
  "forward-queue": async (t) => {
    const target = await t.queue({}, "target");
    const q = await t.queue({ forwardTo: target.name });
    await t.send(q.name, named("id-1", "a"));
    assert.equal((await one(t.deleting(target), "a")).messageId, "id-1");
  },

  "forward-subscription": async (t) => {
    const target = await t.queue({}, "target");
    await t.topic();
    await t.ruled("s", { sqlExpression: "color = 'blue'" }, undefined, { forwardTo: target.name });
    for (const color of ["blue", "red"])
      await t.send(t.name, msg(color, { applicationProperties: { color } }));
    await t.left(target, ["blue"]);
  },

  "forward-hops": async (t) => {
    let next = await t.queue({}, "6");
    for (let i = 5; i >= 1; i--) next = await t.queue({ forwardTo: next.name }, String(i));
    await t.send(next.name, "a");
    const dead = await one(t.receiver(new Place(`${t.name}-5`).deadLetters), "a");
    assert.equal(dead.deadLetterReason, "MaxTransferHopCountExceeded");
    await t.left(new Place(`${t.name}-6`));
  },

  "forward-dead-letters": async (t) => {
    const target = await t.queue({}, "target");
    const q = await t.queue({ forwardDeadLetteredMessagesTo: target.name });
    await t.send(q.name, "a");
    const r = t.receiver(q);
    await r.deadLetterMessage(await one(r, "a"), {
      deadLetterReason: "why",
      deadLetterErrorDescription: "because",
    });
    const got = await one(t.receiver(target), "a");
    assert.deepEqual([got.deadLetterReason, got.deadLetterSource], ["why", q.name]);
  },

  "duplicate-dropped": async (t) => {
    const q = await unique(t, "PT10M");
    await t.send(q.name, named("1", "a"), named("1", "b"), named("2", "c"));
    await t.left(q, ["a", "c"]);
    await t.send(q.name, named("1", "d"));
    await t.left(q);
  },

  "duplicate-window": async (t) => {
    const q = await unique(t, "PT60S");
    await t.send(q.name, named("1", "a"));
    await t.advance(61);
    await t.send(q.name, named("1", "b"));
    await t.left(q, ["a", "b"]);
  },

  "duplicate-batch": async (t) => {
    const q = await unique(t, "PT10M");
    await t.sender(q.name).sendMessages([named("1", "a"), named("1", "b")]);
    await t.left(q, ["a"]);
  },

  "duplicate-scheduled": async (t) => {
    const q = await unique(t, "PT10M");
    await t.sender(q.name).scheduleMessages(named("1", "a"), later(300));
    await t.send(q.name, named("1", "b"));
    await t.nothing(q);
    await t.advance(301);
    await t.left(q, ["a"]);
  },

  "idle-queue": async (t) => {
    const q = await t.queue({ autoDeleteOnIdle: "PT5M" });
    await t.send(q.name, "a");
    await goes(t, q);
  },

  "idle-activity": async (t) => {
    const q = await t.queue({ autoDeleteOnIdle: "PT5M" });
    await t.advance(200);
    await t.send(q.name, "a");
    await t.advance(200);
    const r = t.receiver(q);
    await r.peekMessages(1);
    await t.advance(200);
    await r.completeMessage(await one(r, "a"));
    await r.close();
    await goes(t, q);
  },

  "idle-subscription": async (t) => {
    await t.topic();
    await t.sub("s", { autoDeleteOnIdle: "PT5M" });
    await t.advance(200);
    await t.send(t.name, "a");
    await t.advance(105);
    assert.ok(!(await t.adm.subscriptionExists(t.name, "s")), "still there");
    assert.ok(await t.adm.topicExists(t.name), "the topic is gone as well");
  },
};
