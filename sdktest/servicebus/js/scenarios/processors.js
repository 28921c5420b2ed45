// Transactions, which the SDK does not have; processors and renewers, which go by the SDK's clock.
import assert from "node:assert/strict";
import { SOME_TIME, msg, numbered, one, sleep, text, without } from "../bus.js";

// MINUTE is how long a handler takes, HELD how long a renewer keeps a lock of ten seconds, in milliseconds.
const MINUTE = 60_000;
const HELD = 25_000;

// handle subscribes a receiver until as many messages have been handled as are wanted, and a little longer.
export async function handle(receiver, wanted, handler, options = {}, time = SOME_TIME) {
  const seen = [];
  const errors = [];
  const subscription = receiver.subscribe(
    {
      processMessage: async (m) => {
        await handler?.(m, seen);
        seen.push(m);
      },
      processError: async ({ error }) => void errors.push(error.message),
    },
    options,
  );
  const until = Date.now() + time;
  while (seen.length < wanted && Date.now() < until) await sleep(50);
  await sleep(300);
  await subscription.close();
  assert.equal(seen.length, wanted, `handled ${seen.map(text)}; errors: ${errors}`);
  return seen;
}

export const scenarios = {
  "transaction-commit": without("no transactions"),
  "transaction-rollback": without("no transactions"),
  "transaction-settle": without("no transactions"),
  "transaction-across": without("no transactions"),

  "processor-all": async (t) => {
    const q = await t.queue({ lockDuration: "PT10S" });
    await t.send(q.name, ...numbered(20));
    const seen = await handle(t.receiver(q), 20, () => sleep(20), { maxConcurrentCalls: 4 });
    assert.deepEqual(seen.map(text).sort(), numbered(20));
    await t.left(q);
  },

  "processor-throws": async (t) => {
    const q = await t.queue({ lockDuration: "PT10S" });
    await t.send(q.name, "a");
    const counts = [];
    await handle(t.receiver(q), 1, async (m) => {
      counts.push(m.deliveryCount);
      if (counts.length === 1) throw new Error("not now");
    });
    assert.deepEqual(counts, [0, 1]);
    await t.left(q);
  },

  "processor-sessions": without("no processor of sessions"),

  "processor-minute": async (t) => {
    const q = await t.queue({ lockDuration: "PT10S" });
    await t.send(q.name, "long");
    const sending = (async () => {
      for (const body of numbered(50)) {
        await sleep(1000);
        await t.send(q.name, body);
      }
    })();
    const seen = await handle(
      t.receiver(q, { maxAutoLockRenewalDurationInMs: 2 * MINUTE }),
      51,
      (m) => (text(m) === "long" ? sleep(MINUTE) : undefined),
      { maxConcurrentCalls: 2 },
      2 * MINUTE,
    );
    await sending;
    assert.deepEqual(seen.map(text).sort(), ["long", ...numbered(50)]);
    await t.left(q);
  },

  "renewer-message": async (t) => {
    const q = await t.queue({ lockDuration: "PT10S" });
    await t.send(q.name, "a");
    const r = t.receiver(q, { maxAutoLockRenewalDurationInMs: MINUTE });
    const got = await one(r, "a");
    await sleep(HELD);
    await r.completeMessage(got);
    await t.left(q);
  },

  "renewer-session": async (t) => {
    const q = await t.queue({ lockDuration: "PT10S", requiresSession: true });
    await t.send(q.name, msg("x1", { sessionId: "x" }));
    const options = { maxAutoLockRenewalDurationInMs: MINUTE, skipParsingBodyAsJson: true };
    const r = await t.client.acceptSession(q.name, "x", options);
    t.after(() => r.close());
    const got = await one(r, "x1");
    await sleep(HELD);
    await r.completeMessage(got);
    assert.deepEqual(await r.peekMessages(1), []);
  },
};
