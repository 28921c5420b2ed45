// Sessions. Their queues have locks of 30 seconds.
import assert from "node:assert/strict";
import { bodies, deferred, later, lasts, msg, none, one, refused, take, text, without } from "../bus.js";

const talks = (t) => t.queue({ requiresSession: true, lockDuration: "PT30S" });
const inside = (sessionId, body) => msg(body, { sessionId });
const options = { maxAutoLockRenewalDurationInMs: 0, skipParsingBodyAsJson: true };

// accept accepts a session by its id, or the next one.
async function accept(t, place, id) {
  const r = id
    ? await t.client.acceptSession(...place.path, id, options)
    : await t.client.acceptNextSession(...place.path, options);
  t.after(() => r.close());
  return r;
}

export const scenarios = {
  "session-accept": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"), inside("y", "y1"), inside("x", "x2"), inside("y", "y2"));
    const r = await accept(t, q, "y");
    assert.equal(r.sessionId, "y");
    const got = await take(r, 2);
    assert.deepEqual(bodies(got), ["y1", "y2"]);
    assert.equal(got[0].sessionId, "y");
    await none(r);
  },

  "session-next": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"), inside("y", "y1"));
    for (let i = 0; i < 2; i++) {
      const r = await accept(t, q);
      await one(r, `${r.sessionId}1`);
    }
  },

  "session-next-none": async (t) => {
    const q = await talks(t);
    const retryOptions = { timeoutInMs: 2000, maxRetries: 0 };
    const client = t.connect(t.connectionString, { retryOptions });
    await refused(client.acceptNextSession(q.name), "timeout", "OperationTimeout", "ServiceTimeout");
  },

  "session-locked": async (t) => {
    const q = await talks(t);
    await accept(t, q, "x");
    await refused(accept(t, q, "x"), "SessionCannotBeLocked");
  },

  "session-state": async (t) => {
    const q = await talks(t);
    let r = await accept(t, q, "x");
    await r.setSessionState("half");
    assert.equal(String(await r.getSessionState()), "half");
    await r.close();
    r = await accept(t, q, "x");
    assert.equal(String(await r.getSessionState()), "half");
    await r.setSessionState(null);
    assert.ok(!(await r.getSessionState()));
  },

  "session-locked-until": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"));
    const r = await accept(t, q, "x");
    const got = await one(r, "x1");
    assert.ok(got.lockedUntilUtc.getUTCFullYear() >= 9999, String(got.lockedUntilUtc));
    await r.deferMessage(got);
    const [again] = await deferred(r, got.sequenceNumber);
    assert.ok(again.lockedUntilUtc.getUTCFullYear() >= 9999, String(again.lockedUntilUtc));
    await t.advance(20);
    await r.renewSessionLock();
    await t.advance(20);
    await r.completeMessage(again);
  },

  "session-renew": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"));
    const r = await accept(t, q, "x");
    const got = await one(r, "x1");
    const was = r.sessionLockedUntilUtc;
    await t.advance(20);
    lasts(was, await r.renewSessionLock(), 20);
    await t.advance(20);
    await r.completeMessage(got);
    await none(r);
  },

  "session-lock-lost": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"));
    const r = await accept(t, q, "x");
    const got = await one(r, "x1");
    await t.advance(31);
    await refused(r.completeMessage(got), "SessionLockLost");
    assert.equal((await one(await accept(t, q, "x"), "x1")).deliveryCount, 1);
  },

  "session-close": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"));
    const r = await accept(t, q, "x");
    await one(r, "x1");
    await r.close();
    assert.equal((await one(await accept(t, q, "x"), "x1")).deliveryCount, 0);
  },

  "session-abandon": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"), inside("x", "x2"));
    const r = await accept(t, q, "x");
    await r.abandonMessage(await one(r, "x1"));
    assert.deepEqual(bodies(await take(r, 2)), ["x1", "x2"]);
  },

  "session-defer": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"));
    let r = await accept(t, q, "x");
    const got = await one(r, "x1");
    await r.deferMessage(got);
    await r.close();
    r = await accept(t, q, "x");
    await none(r);
    const [again] = await deferred(r, got.sequenceNumber);
    assert.equal(text(again), "x1");
    await r.completeMessage(again);
    assert.deepEqual(await r.peekMessages(1), []);
  },

  "session-schedule": async (t) => {
    const q = await talks(t);
    await t.sender(q.name).scheduleMessages(inside("x", "x1"), later(300));
    await t.advance(301);
    await one(await accept(t, q, "x"), "x1");
  },

  "session-peek": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"), inside("y", "y1"), inside("x", "x2"));
    assert.deepEqual(bodies(await (await accept(t, q, "x")).peekMessages(10)), ["x1", "x2"]);
  },

  "session-required": async (t) => {
    const q = await talks(t);
    await refused(t.send(q.name, "a"), "session");
    await refused(t.receiver(q).receiveMessages(1, { maxWaitTimeInMs: 5000 }), "session");
  },

  "session-not-supported": async (t) => {
    await refused(accept(t, await t.queue(), "x"), "session");
  },

  "session-subscription": async (t) => {
    await t.topic();
    const s = await t.sub("s", { requiresSession: true });
    await t.send(t.name, inside("x", "x1"));
    const r = await accept(t, s);
    assert.equal(r.sessionId, "x");
    await r.completeMessage(await one(r, "x1"));
    await none(r);
  },

  "session-dead-letter": async (t) => {
    const q = await talks(t);
    await t.send(q.name, inside("x", "x1"));
    const r = await accept(t, q, "x");
    const why = { deadLetterReason: "why", deadLetterErrorDescription: "because" };
    await r.deadLetterMessage(await one(r, "x1"), why);
    const got = await one(t.receiver(q.deadLetters), "x1");
    assert.deepEqual([got.sessionId, got.deadLetterReason], ["x", "why"]);
  },

  "session-list": without("no list of sessions"),
};
