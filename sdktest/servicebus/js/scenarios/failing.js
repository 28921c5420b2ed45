// Errors, and the ways in beside the plain port.
import WebSocket from "ws";
import { KEY, Place, bodies, connection, msg, one, refused } from "../bus.js";
import assert from "node:assert/strict";

const GONE = "MessagingEntityNotFound";
const DISABLED = "MessagingEntityDisabled";

const receive = (t, place) => t.receiver(place).receiveMessages(1, { maxWaitTimeInMs: 5000 });

async function setStatus(t, q, status) {
  await t.adm.updateQueue({ ...(await t.adm.getQueue(q.name)), status });
}

// secure does over a client with TLS what tells that it works.
async function secure(t, options) {
  const q = await t.queue();
  const client = t.connect(connection(t.flags.tls, KEY), options);
  await t.sender(q.name, client).sendMessages(msg("a"));
  const r = t.receiver(q, {}, client);
  assert.deepEqual(bodies(await r.peekMessages(1)), ["a"]);
  await r.completeMessage(await one(r, "a"));
  await t.left(q);
}

export const scenarios = {
  "error-missing": async (t) => {
    for (const call of [() => t.send("not-there", "a"), () => receive(t, new Place("not-there"))]) {
      const e = await refused(call(), "could not be found. to know more visit");
      assert.equal(e.code, "MessagingEntityNotFound");
    }
  },

  "error-disabled": async (t) => {
    const q = await t.queue();
    await setStatus(t, q, "Disabled");
    await refused(t.send(q.name, "a"), DISABLED);
    await refused(receive(t, q), DISABLED);
    await setStatus(t, q, "Active");
    await t.send(q.name, "b");
    await t.left(q, ["b"]);
  },

  "error-send-disabled": async (t) => {
    const q = await t.queue();
    await t.send(q.name, "a");
    await setStatus(t, q, "SendDisabled");
    await refused(t.send(q.name, "b"), DISABLED);
    await t.left(q, ["a"]);
  },

  "error-receive-disabled": async (t) => {
    const q = await t.queue();
    await setStatus(t, q, "ReceiveDisabled");
    await t.send(q.name, "a");
    await refused(receive(t, q), DISABLED);
  },

  "error-wrong-key": async (t) => {
    const q = await t.queue();
    const client = t.connect(`${connection(t.flags.amqp, "another")}UseDevelopmentEmulator=true;`);
    await refused(t.sender(q.name, client).sendMessages(msg("a")), "Unauthorized");
    await refused(t.administrator("another").getQueue(q.name), "Unauthorized", "401");
  },

  "error-deleted-queue": async (t) => {
    const q = await t.queue();
    const s = t.sender(q.name);
    await s.sendMessages(msg("a"));
    await t.adm.deleteQueue(q.name);
    await refused(s.sendMessages(msg("b")), GONE);
  },

  "over-tls": (t) => secure(t, {}),

  "over-websocket": (t) => secure(t, { webSocketOptions: { webSocket: WebSocket } }),
};
