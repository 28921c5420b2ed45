// Locks, scheduling and time to live, by the server's virtual clock.
import assert from "node:assert/strict";
import Long from "long";
import { bodies, deferred, later, lasts, msg, numbered, one, refused, take } from "../bus.js";

const brief = (t, more = {}) => t.queue({ lockDuration: "PT30S", ...more });
const aged = (body, seconds) => msg(body, { timeToLive: seconds * 1000 });

// locked is a brief queue with one message, which a receiver has locked.
async function locked(t, q, message = "a") {
  await t.send(q.name, message);
  const r = t.receiver(q);
  return { r, got: await one(r, "a") };
}

async function schedule(t, name, seconds, ...messages) {
  const numbers = await t.sender(name).scheduleMessages(messages, later(seconds));
  assert.equal(numbers.length, messages.length);
  return numbers;
}

// diesAfterAHundred wants of "a" and "b" one to be there after 90 seconds, and none after 100.
async function diesAfterAHundred(t, q) {
  await t.advance(90);
  await one(t.deleting(q), "a");
  await t.advance(10);
  await t.left(q);
}

export const scenarios = {
  "lock-renew": async (t) => {
    const q = await brief(t);
    const { r, got } = await locked(t, q);
    const was = got.lockedUntilUtc;
    await t.advance(20);
    lasts(was, await r.renewMessageLock(got), 20);
    await t.advance(20);
    await r.completeMessage(got);
    await t.left(q);
  },

  "lock-expires": async (t) => {
    const q = await brief(t);
    await locked(t, q);
    await t.advance(20);
    await t.nothing(q);
    await t.advance(11);
    assert.equal((await one(t.receiver(q), "a")).deliveryCount, 1);
  },

  "lock-lost": async (t) => {
    const q = await brief(t);
    await t.send(q.name, ...numbered(4));
    const r = t.receiver(q);
    const got = await take(r, 4);
    await t.advance(31);
    await refused(r.completeMessage(got[0]), "MessageLockLost");
    await refused(r.abandonMessage(got[1]), "MessageLockLost");
    await refused(r.deferMessage(got[2]), "MessageLockLost");
    await refused(r.deadLetterMessage(got[3]), "MessageLockLost");
    await t.left(q, numbered(4));
  },

  "lock-lost-renew": async (t) => {
    const { r, got } = await locked(t, await brief(t));
    await t.advance(31);
    await refused(r.renewMessageLock(got), "MessageLockLost");
  },

  "lock-last-delivery": async (t) => {
    const q = await brief(t, { maxDeliveryCount: 2 });
    await t.send(q.name, "a");
    for (let i = 0; i < 2; i++) {
      await one(t.receiver(q), "a");
      await t.advance(31);
    }
    await t.nothing(q);
    assert.equal((await one(t.receiver(q.deadLetters), "a")).deadLetterReason, "MaxDeliveryCountExceeded");
  },

  "lock-updated-queue": async (t) => {
    const q = await t.queue();
    const { r, got } = await locked(t, q);
    await t.adm.updateQueue({ ...(await t.adm.getQueue(q.name)), lockDuration: "PT2M" });
    await refused(r.completeMessage(got), "MessageLockLost");
    await t.left(q, ["a"]);
  },

  "lock-closed-receiver": async (t) => {
    const q = await brief(t);
    const { r } = await locked(t, q);
    await r.close();
    await t.nothing(q);
    await t.advance(31);
    assert.equal((await one(t.receiver(q), "a")).deliveryCount, 1);
  },

  schedule: async (t) => {
    const q = await t.queue();
    const due = later(300);
    await schedule(t, q.name, 300, msg("a"));
    await t.advance(290);
    await t.nothing(q);
    await t.advance(11);
    const got = await one(t.receiver(q), "a");
    lasts(due, got.enqueuedTimeUtc, 0);
    lasts(due, got.scheduledEnqueueTimeUtc, 0);
    assert.equal(got.state, "scheduled");
  },

  "schedule-property": async (t) => {
    const q = await t.queue();
    const due = later(300);
    await t.send(q.name, msg("a", { scheduledEnqueueTimeUtc: due }));
    await t.advance(290);
    await t.nothing(q);
    await t.advance(11);
    lasts(due, (await one(t.receiver(q), "a")).enqueuedTimeUtc, 0);
  },

  "schedule-several": async (t) => {
    const q = await t.queue();
    const numbers = await schedule(t, q.name, 300, msg("a"), msg("b"), msg("c"));
    assert.equal(new Set(numbers.map(String)).size, 3);
    await t.nothing(q);
    await t.advance(301);
    await t.left(q, ["a", "b", "c"]);
  },

  "schedule-cancel": async (t) => {
    const q = await t.queue();
    const [first] = await schedule(t, q.name, 300, msg("a"), msg("b"));
    await t.sender(q.name).cancelScheduledMessages(first);
    await t.advance(301);
    await t.left(q, ["b"]);
  },

  "schedule-cancel-unknown": async (t) => {
    const s = t.sender((await t.queue()).name);
    await refused(s.cancelScheduledMessages(Long.fromNumber(4711)), "MessageNotFound");
  },

  "schedule-past": async (t) => {
    const q = await t.queue();
    await schedule(t, q.name, -60, msg("a"));
    await t.left(q, ["a"]);
  },

  "schedule-topic": async (t) => {
    const [first, second] = await t.topic(["s1", "s2"]);
    await schedule(t, t.name, 300, msg("a"));
    await t.nothing(first);
    await t.advance(301);
    await t.left(first, ["a"]);
    await t.left(second, ["a"]);
  },

  "ttl-message": async (t) => {
    const q = await t.queue();
    await t.send(q.name, aged("a", 100), aged("b", 100));
    await diesAfterAHundred(t, q);
  },

  "ttl-default": async (t) => {
    const q = await t.queue({ defaultMessageTimeToLive: "PT100S" });
    await t.send(q.name, "a", "b");
    await diesAfterAHundred(t, q);
  },

  "ttl-ceiling": async (t) => {
    const q = await t.queue({ defaultMessageTimeToLive: "PT100S" });
    await t.send(q.name, aged("a", 1000), aged("b", 1000));
    assert.equal((await one(t.deleting(q), "a")).timeToLive, 100_000);
    await t.advance(100);
    await t.left(q);
  },

  "ttl-expires-at": async (t) => {
    const q = await t.queue();
    await t.send(q.name, aged("a", 100));
    const r = t.receiver(q);
    for (const got of [(await r.peekMessages(1))[0], await one(r, "a")]) {
      lasts(got.enqueuedTimeUtc, got.expiresAtUtc, 100);
    }
  },

  "ttl-dead-letter": async (t) => {
    const q = await t.queue({ deadLetteringOnMessageExpiration: true });
    await t.send(q.name, aged("a", 100));
    await t.advance(101);
    await t.nothing(q);
    assert.equal((await one(t.receiver(q.deadLetters), "a")).deadLetterReason, "TTLExpiredException");
  },

  "ttl-locked": async (t) => {
    const q = await t.queue({ deadLetteringOnMessageExpiration: true });
    const { r, got } = await locked(t, q, aged("a", 20));
    await t.advance(40);
    await r.completeMessage(got);
    await t.left(q);
    await t.left(q.deadLetters);
  },

  "ttl-abandon": async (t) => {
    const q = await t.queue({ deadLetteringOnMessageExpiration: true });
    const { r, got } = await locked(t, q, aged("a", 20));
    await t.advance(40);
    await r.abandonMessage(got);
    await t.nothing(q);
    assert.equal((await one(t.receiver(q.deadLetters), "a")).deadLetterReason, "TTLExpiredException");
  },

  "ttl-scheduled": async (t) => {
    const q = await t.queue();
    await schedule(t, q.name, 300, aged("a", 100), aged("b", 100));
    await t.advance(301);
    await t.advance(90);
    await one(t.deleting(q), "a");
    await t.advance(11);
    await t.left(q);
  },

  "ttl-default-changes": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "none", aged("own", 200));
    await t.adm.updateQueue({ ...(await t.adm.getQueue(q.name)), defaultMessageTimeToLive: "PT100S" });
    await t.advance(101);
    await t.left(q, ["own"]);
  },

  "ttl-subscription": async (t) => {
    await t.topic([], { defaultMessageTimeToLive: "PT100S" });
    const short = await t.sub("short", { defaultMessageTimeToLive: "PT50S" });
    const long = await t.sub("long");
    await t.send(t.name, "a", "b");
    await t.advance(51);
    await t.left(short);
    await one(t.deleting(long), "a");
    await t.advance(50);
    await t.left(long);
  },

  "ttl-deferred": async (t) => {
    const { r, got } = await locked(t, await t.queue(), aged("a", 100));
    await r.deferMessage(got);
    await t.advance(200);
    assert.deepEqual(bodies(await deferred(r, got.sequenceNumber)), ["a"]);
  },

  "ttl-dead-letter-stays": async (t) => {
    const q = await t.queue();
    const { r, got } = await locked(t, q, aged("a", 100));
    await r.deadLetterMessage(got);
    await t.advance(365 * 24 * 3600);
    await t.left(q.deadLetters, ["a"]);
  },
};
