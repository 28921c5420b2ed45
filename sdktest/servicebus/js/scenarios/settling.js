// Peeking and settling.
import assert from "node:assert/strict";
import Long from "long";
import { bodies, deferred, later, msg, numbered, one, refused, take, text } from "../bus.js";

// dead sends a message and dead-letters it.
async function dead(t, place, body) {
  await t.send(place.name, body);
  const r = t.receiver(place);
  await r.deadLetterMessage(await one(r, body), {
    deadLetterReason: "why",
    deadLetterErrorDescription: "because",
  });
  return r;
}

// aside makes a queue with one message that is deferred.
async function aside(t, properties) {
  const q = await t.queue();
  await t.send(q.name, "a");
  const r = t.receiver(q);
  const got = await one(r, "a");
  await r.deferMessage(got, properties);
  return { q, r, number: got.sequenceNumber };
}

export const scenarios = {
  "peek-order": async (t) => {
    const q = await t.queue();
    await t.send(q.name, ...numbered(5));
    const r = t.receiver(q);
    assert.deepEqual(bodies(await r.peekMessages(5)), numbered(5));
    assert.deepEqual(
      (await take(r, 5)).map((m) => m.deliveryCount),
      Array(5).fill(0),
    );
  },

  "peek-from": async (t) => {
    const q = await t.queue();
    await t.send(q.name, ...numbered(5));
    const got = await t.receiver(q).peekMessages(10, { fromSequenceNumber: Long.fromNumber(3) });
    assert.deepEqual(bodies(got), numbered(5).slice(2));
  },

  "peek-continues": async (t) => {
    const q = await t.queue();
    await t.send(q.name, ...numbered(30));
    const r = t.receiver(q);
    const seen = [];
    for (let i = 0; i < 30; i++) {
      const some = await r.peekMessages(10);
      if (some.length === 0) break;
      seen.push(...some);
    }
    assert.deepEqual(bodies(seen), numbered(30));
    assert.deepEqual(await r.peekMessages(10), []);
  },

  "peek-states": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "deferred", "locked", "active");
    const r = t.receiver(q);
    await r.deferMessage(await one(r, "deferred"));
    await one(r, "locked");
    await t.sender(q.name).scheduleMessages(msg("scheduled"), later(300));
    const states = Object.fromEntries((await t.receiver(q).peekMessages(10)).map((m) => [text(m), m.state]));
    const want = { deferred: "deferred", locked: "active", active: "active", scheduled: "scheduled" };
    assert.deepEqual(states, want);
  },

  "peek-nothing": async (t) => assert.deepEqual(await t.receiver(await t.queue()).peekMessages(5), []),

  "peek-dead-letters": async (t) => {
    const q = await t.queue();
    await dead(t, q, "bad");
    const [got] = await t.receiver(q.deadLetters).peekMessages(1);
    assert.deepEqual([got.deadLetterReason, got.deadLetterErrorDescription], ["why", "because"]);
  },

  complete: async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a", "b", "c");
    const r = t.receiver(q);
    const [a, b, c] = await take(r, 3);
    await r.completeMessage(b);
    await r.abandonMessage(a);
    await r.abandonMessage(c);
    await t.left(q, ["a", "c"]);
  },

  "complete-twice": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a");
    const r = t.receiver(q);
    const got = await one(r, "a");
    await r.completeMessage(got);
    await refused((async () => r.completeMessage(got))(), "settled", "lost");
  },

  abandon: async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a", "b");
    const r = t.receiver(q);
    await r.abandonMessage(await one(r, "a"));
    assert.equal((await one(r, "a")).deliveryCount, 1);
  },

  "abandon-properties": async (t) => {
    const q = await t.queue();
    await t.send(q.name, msg("a", { applicationProperties: { x: "old", z: "kept" } }));
    const r = t.receiver(q);
    await r.abandonMessage(await one(r, "a"), { x: "new", y: 5 });
    assert.deepEqual((await one(r, "a")).applicationProperties, { x: "new", y: 5, z: "kept" });
  },

  "abandon-last": async (t) => {
    const q = await t.queue({ maxDeliveryCount: 3 });
    await t.send(q.name, "a");
    const r = t.receiver(q);
    for (let i = 0; i < 3; i++) {
      const got = await one(r, "a");
      assert.equal(got.deliveryCount, i);
      await r.abandonMessage(got);
    }
    await t.nothing(q);
    assert.equal((await one(t.receiver(q.deadLetters), "a")).deadLetterReason, "MaxDeliveryCountExceeded");
  },

  defer: async (t) => {
    const { q, r, number } = await aside(t);
    await t.nothing(q);
    assert.deepEqual(
      (await t.receiver(q).peekMessages(1)).map((m) => m.state),
      ["deferred"],
    );
    const [again] = await deferred(r, number);
    assert.equal(text(again), "a");
    assert.deepEqual([again.deliveryCount, again.state], [1, "deferred"]);
    await r.completeMessage(again);
    assert.deepEqual(await t.receiver(q).peekMessages(1), []);
  },

  "defer-properties": async (t) => {
    const { r, number } = await aside(t, { step: "one" });
    assert.deepEqual((await deferred(r, number))[0].applicationProperties, { step: "one" });
  },

  "defer-abandon": async (t) => {
    const { q, r, number } = await aside(t);
    await r.abandonMessage((await deferred(r, number))[0]);
    await t.nothing(q);
    assert.equal((await deferred(r, number))[0].deliveryCount, 2);
  },

  "defer-last": async (t) => {
    const q = await t.queue({ maxDeliveryCount: 1 });
    await t.send(q.name, "a");
    const r = t.receiver(q);
    await r.deferMessage(await one(r, "a"));
    assert.deepEqual(await r.peekMessages(1), []);
    assert.equal((await one(t.receiver(q.deadLetters), "a")).deadLetterReason, "MaxDeliveryCountExceeded");
  },

  "defer-deleted": async (t) => {
    const { q, number } = await aside(t);
    assert.deepEqual(bodies(await deferred(t.deleting(q), number)), ["a"]);
    assert.deepEqual(await t.receiver(q).peekMessages(1), []);
  },

  "defer-unknown": async (t) => {
    const r = t.receiver(await t.queue());
    await refused(r.receiveDeferredMessages(Long.fromNumber(4711)), "MessageNotFound");
  },

  "dead-letter": async (t) => {
    const q = await t.queue();
    await t.send(q.name, msg("bad", { messageId: "id-1" }));
    const r = t.receiver(q);
    const was = await one(r, "bad");
    await r.deadLetterMessage(was, { deadLetterReason: "why", deadLetterErrorDescription: "because" });
    await t.left(q);
    const got = await one(t.receiver(q.deadLetters), "bad");
    assert.deepEqual([got.deadLetterReason, got.deadLetterErrorDescription], ["why", "because"]);
    assert.deepEqual([got.messageId, Number(got.sequenceNumber)], ["id-1", Number(was.sequenceNumber)]);
  },

  "dead-letter-properties": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "bad");
    const r = t.receiver(q);
    await r.deadLetterMessage(await one(r, "bad"), { deadLetterReason: "why", seen: "yes" });
    assert.equal((await one(t.receiver(q.deadLetters), "bad")).applicationProperties.seen, "yes");
  },

  "dead-letter-plain": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "bad");
    const r = t.receiver(q);
    await r.deadLetterMessage(await one(r, "bad"));
    assert.ok(!(await one(t.receiver(q.deadLetters), "bad")).deadLetterReason);
  },

  "dead-letter-abandon": async (t) => {
    const q = await t.queue();
    await dead(t, q, "bad");
    const r = t.receiver(q.deadLetters);
    for (let i = 0; i < 12; i++) await r.abandonMessage(await one(r, "bad"));
    await t.left(q.deadLetters, ["bad"]);
  },

  "dead-letter-resubmit": async (t) => {
    const q = await t.queue();
    await t.send(q.name, msg("retry", { messageId: "id-1" }));
    const r = t.receiver(q);
    await r.deadLetterMessage(await one(r, "retry"));
    const graves = t.receiver(q.deadLetters);
    const got = await one(graves, "retry");
    await t.send(q.name, got);
    await graves.completeMessage(got);
    assert.equal((await one(r, "retry")).messageId, "id-1");
    await t.left(q.deadLetters);
  },

  "dead-letter-subscription": async (t) => {
    const [s] = await t.topic(["s"]);
    await dead(t, s, "bad");
    assert.equal((await one(t.receiver(s.deadLetters), "bad")).deadLetterReason, "why");
  },
};
