// What is there after the server was ended and started again.
import assert from "node:assert/strict";
import { SOME_TIME, bodies, later, msg, numbered, one, refused, sleep, take, text } from "../bus.js";

export const scenarios = {
  "restart-sender": async (t) => {
    const q = await t.queue();
    const s = t.sender(q.name);
    await s.sendMessages(msg("a"));
    await t.restart("kill");
    await s.sendMessages(msg("b"));
    await t.left(q, ["a", "b"]);
  },

  "restart-receiver": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a", "b");
    const r = t.receiver(q);
    await r.completeMessage(await one(r, "a"));
    await t.restart("kill");
    const until = Date.now() + SOME_TIME;
    let got = [];
    while (got.length === 0 && Date.now() < until)
      got = await r.receiveMessages(1, { maxWaitTimeInMs: 5000 });
    assert.deepEqual(bodies(got), ["b"]);
    await r.completeMessage(got[0]);
    await t.left(q);
  },

  "restart-durable": async (t) => {
    const q = await t.queue();
    await t.send(q.name, ...numbered(50));
    const r = t.receiver(q);
    for (const got of await take(r, 20)) await r.completeMessage(got);
    await t.restart("kill");
    await t.left(q, numbered(50).slice(20));
  },

  "restart-locks": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a");
    const r = t.receiver(q);
    const got = await one(r, "a");
    await t.restart("kill");
    await refused(r.completeMessage(got), "lost", "error");
    await t.left(q, ["a"]);
  },

  "restart-session": async (t) => {
    const q = await t.queue({ requiresSession: true });
    await t.send(q.name, msg("x1", { sessionId: "x" }));
    const holder = await t.client.acceptSession(q.name, "x");
    t.after(() => holder.close());
    await holder.setSessionState("half");
    await t.restart("kill");
    const r = await t.client.acceptSession(q.name, "x");
    t.after(() => r.close());
    assert.equal(String(await r.getSessionState()), "half");
    await take(r, 1);
  },

  "restart-scheduled": async (t) => {
    const q = await t.queue();
    await t.sender(q.name).scheduleMessages(msg("a"), later(300));
    await t.restart("kill");
    await t.nothing(q);
    await t.advance(301);
    await t.left(q, ["a"]);
  },

  "restart-entities": async (t) => {
    const q = await t.queue({ lockDuration: "PT42S" }, "queue");
    await t.topic();
    await t.ruled("s", { sqlExpression: "color = 'blue'" });
    await t.restart("stop");
    assert.equal((await t.adm.getQueue(q.name)).lockDuration, "PT42S");
    assert.equal((await t.adm.getRule(t.name, "s", "s")).filter.sqlExpression, "color = 'blue'");
    await t.send(q.name, "a");
    await t.left(q, ["a"]);
  },

  "restart-processor": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a");
    const seen = [];
    const subscription = t.receiver(q).subscribe({
      processMessage: async (m) => void seen.push(text(m)),
      processError: async () => {},
    });
    const handled = async (n) => {
      const until = Date.now() + 2 * SOME_TIME;
      while (seen.length < n && Date.now() < until) await sleep(50);
    };
    await handled(1);
    await t.restart("kill");
    await t.send(q.name, "b");
    await handled(2);
    await subscription.close();
    assert.deepEqual([...new Set(seen)], ["a", "b"]);
  },
};
