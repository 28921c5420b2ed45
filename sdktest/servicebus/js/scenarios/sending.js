// Sending and receiving.
import assert from "node:assert/strict";
import { SHORTLY, bodies, later, lasts, msg, none, numbered, one, refused, sleep, take } from "../bus.js";

export const scenarios = {
  "send-receive": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "hello");
    const r = t.receiver(q);
    const got = await one(r, "hello");
    assert.equal(Number(got.sequenceNumber), 1);
    assert.equal(got.deliveryCount, 0);
    assert.equal(got.state, "active");
    lasts(got.enqueuedTimeUtc, got.lockedUntilUtc, 60);
    assert.ok(Math.abs(later(0) - got.enqueuedTimeUtc) < 60_000, got.enqueuedTimeUtc);
    await r.completeMessage(got);
    await t.left(q);
  },

  "send-properties": async (t) => {
    const q = await t.queue();
    const sent = {
      messageId: "id-1",
      subject: "greeting",
      correlationId: "c-1",
      to: "somebody",
      replyTo: "answers",
      replyToSessionId: "rs",
      contentType: "text/plain",
      partitionKey: "pk",
    };
    await t.send(q.name, msg("b", sent));
    const got = await one(t.receiver(q), "b");
    for (const name of Object.keys(sent)) assert.equal(got[name], sent[name], name);
  },

  "send-application-properties": async (t) => {
    const q = await t.queue();
    const sent = {
      text: "ä€😀",
      empty: "",
      int: 2 ** 31 - 1,
      long: 2 ** 53 - 1,
      small: -7,
      fraction: 0.1,
      yes: true,
      no: false,
      moment: new Date(1700000000123),
      "a name with blanks": "1",
      größe: "2",
    };
    await t.send(q.name, msg("b", { applicationProperties: sent }));
    const r = t.receiver(q, { skipConvertingDate: true }); // else it makes numbers of moments
    assert.deepEqual((await one(r, "b")).applicationProperties, sent);
  },

  "send-empty": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "");
    await t.left(q, [""]);
  },

  "send-binary": async (t) => {
    const q = await t.queue();
    const body = Buffer.from(Array.from({ length: 1024 }, (_, i) => i % 256));
    await t.send(q.name, msg(body));
    const [got] = await take(t.receiver(q), 1);
    assert.ok(body.equals(got.body));
  },

  "send-large": async (t) => {
    const q = await t.queue();
    const body = "0123456789".repeat(20 << 10);
    await t.send(q.name, body);
    await t.left(q, [body]);
  },

  "send-too-large": async (t) => {
    const q = await t.queue();
    await refused(t.send(q.name, "x".repeat(300 << 10)), "MessageSizeExceeded");
    await t.left(q);
  },

  "send-without-id": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a", "b");
    const [a, b] = await take(t.receiver(q), 2);
    assert.ok(a.messageId && b.messageId, `${a.messageId} ${b.messageId}`);
    assert.notEqual(a.messageId, b.messageId);
  },

  "send-concurrent": async (t) => {
    const q = await t.queue();
    const s = t.sender(q.name);
    await Promise.all(numbered(100).map((body) => s.sendMessages(msg(body))));
    await t.left(q, numbered(100), { ordered: false });
  },

  "send-value-body": async (t) => {
    const q = await t.queue();
    await t.send(q.name, { bodyType: "value", body: "plain text" });
    await t.send(q.name, { bodyType: "sequence", body: [1, "two", true] });
    const [value, sequence] = await take(t.receiver(q), 2);
    assert.equal(value.body, "plain text");
    assert.equal(value._rawAmqpMessage.bodyType, "value");
    assert.deepEqual(sequence.body.flat(), [1, "two", true]);
    assert.equal(sequence._rawAmqpMessage.bodyType, "sequence");
  },

  "send-annotated": async (t) => {
    const q = await t.queue();
    await t.send(q.name, {
      bodyType: "data",
      body: "b",
      header: { durable: true, priority: 7 },
      deliveryAnnotations: { "x-opt-hop": "one" },
      messageAnnotations: { "x-opt-mine": "two" },
      footer: { "x-opt-sum": "three" },
    });
    const [got] = await take(t.receiver(q), 1);
    const raw = got._rawAmqpMessage;
    assert.deepEqual([raw.header.durable, raw.header.priority, raw.header.firstAcquirer], [true, 7, undefined]);
    assert.equal(raw.deliveryAnnotations["x-opt-hop"], "one");
    assert.ok(raw.deliveryAnnotations["x-opt-lock-token"]);
    assert.equal(raw.messageAnnotations["x-opt-mine"], "two");
    assert.equal(raw.footer["x-opt-sum"], "three");
  },

  "send-again": async (t) => {
    const q = await t.queue();
    const properties = { messageId: "id-1", partitionKey: "pk", applicationProperties: { step: "one" } };
    await t.send(q.name, msg("b", properties));
    const r = t.receiver(q);
    const was = await one(r, "b");
    await r.completeMessage(was);
    await t.send(q.name, was);
    const got = await one(r, "b");
    assert.deepEqual([got.messageId, got.partitionKey], ["id-1", "pk"]);
    assert.deepEqual(got.applicationProperties, { step: "one" });
    assert.equal(Number(got.sequenceNumber), 2);
  },

  "batch-send": async (t) => {
    const q = await t.queue();
    const s = t.sender(q.name);
    const batch = await s.createMessageBatch();
    for (const body of numbered(20)) assert.ok(batch.tryAddMessage(msg(body)));
    assert.equal(batch.count, 20);
    await s.sendMessages(batch);
    await t.left(q, numbered(20));
  },

  "batch-list": async (t) => {
    const q = await t.queue();
    await t.sender(q.name).sendMessages(numbered(20).map((body) => msg(body)));
    await t.left(q, numbered(20));
  },

  "batch-full": async (t) => {
    const q = await t.queue();
    const s = t.sender(q.name);
    const batch = await s.createMessageBatch();
    const body = "x".repeat(50 << 10);
    while (batch.count <= 20 && batch.tryAddMessage(msg(body)));
    assert.ok(batch.count >= 4 && batch.count <= 20, `${batch.count} went in`);
    await s.sendMessages(batch);
    await t.left(q, Array(batch.count).fill(body));
  },

  "receive-several": async (t) => {
    const q = await t.queue();
    await t.send(q.name, ...numbered(10));
    const r = t.receiver(q);
    const got = [];
    while (got.length < 10) {
      const some = await r.receiveMessages(4, { maxWaitTimeInMs: 5000 });
      assert.ok(some.length >= 1 && some.length <= 4, `${some.length} at once`);
      got.push(...some);
    }
    assert.deepEqual(bodies(got), numbered(10));
    assert.deepEqual(
      got.map((m) => Number(m.sequenceNumber)),
      Array.from({ length: 10 }, (_, i) => i + 1),
    );
  },

  "receive-waits": async (t) => {
    const q = await t.queue();
    const receiving = one(t.receiver(q), "late");
    await sleep(SHORTLY);
    await t.send(q.name, "late");
    await receiving;
  },

  "receive-nothing": async (t) => t.nothing(await t.queue()),

  "receive-and-delete": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "once");
    const r = t.deleting(q);
    const got = await one(r, "once");
    await refused((async () => r.completeMessage(got))(), "settle", "receiveAndDelete", "lock");
    await t.left(q);
  },

  "receive-competing": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a", "b");
    const [first, second] = [t.receiver(q), t.receiver(q)];
    await one(first, "a");
    await one(second, "b");
    await none(second);
  },

  "receive-iterate": async (t) => {
    const q = await t.queue();
    await t.send(q.name, ...numbered(5));
    const r = t.receiver(q);
    const seen = [];
    for await (const got of r.getMessageIterator()) {
      seen.push(got);
      await r.completeMessage(got);
      if (seen.length === 5) break;
    }
    assert.deepEqual(bodies(seen), numbered(5));
    await t.left(q);
  },
};
