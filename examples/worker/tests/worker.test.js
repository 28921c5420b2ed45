import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { ServiceBusClient } from "@azure/service-bus";
import { list, resubmit } from "../deadletters.js";
import { Ledger, QUEUE, payment } from "../payments.js";
import { work } from "../worker.js";
import { Mayfly } from "./mayfly.js";

let mayfly, client, ledger;

beforeEach(async () => {
  mayfly = await Mayfly.start();
  client = new ServiceBusClient(mayfly.serviceBus);
  ledger = await Ledger.open(mayfly);
});

afterEach(async () => {
  await client?.close();
  await mayfly?.stop();
});

async function send(...messages) {
  const sender = client.createSender(QUEUE);
  await sender.sendMessages(messages);
  await sender.close();
}

/** Lets a worker run until the queue is empty, and returns the codes of the errors that it was told. */
async function workOff(handle = (message) => ledger.book(message)) {
  const errors = [];
  const onError = (error) => errors.push(error.code ?? error.message);
  const worker = work(client, QUEUE, handle, { onError });
  await mayfly.untilEmpty(QUEUE);
  await worker.stop();
  return errors;
}

async function reasons() {
  return (await list(client, QUEUE)).map((message) => message.deadLetterReason);
}

test("payments are booked", async () => {
  await send(payment(100), payment(250));
  assert.deepEqual(await workOff(), []);
  assert.equal(await ledger.total(), 350);
});

test("who takes longer than the lock is told so, gets the message again, and books it once", async () => {
  const deliveries = [];
  await send(payment(100));
  const errors = await workOff(async (message) => {
    deliveries.push(message.deliveryCount);
    await ledger.book(message);
    if (deliveries.length === 1) await mayfly.advance("61s"); // the lock is of a minute
  });
  assert.deepEqual(errors, ["MessageLockLost"]);
  assert.deepEqual(deliveries, [0, 1]);
  assert.equal(await ledger.total(), 100);
});

test("what fails is tried three times, and may be sent again when the bank is back", async () => {
  await send(payment(100));
  const errors = await workOff(() => {
    throw new Error("the bank does not answer");
  });
  assert.deepEqual(errors, Array(3).fill("the bank does not answer"));
  assert.deepEqual(await reasons(), ["MaxDeliveryCountExceeded"]);

  assert.equal(await resubmit(client, QUEUE), 1);
  await workOff();
  assert.equal(await ledger.total(), 100);
  assert.deepEqual(await reasons(), []);
});

test("what is no payment is not tried again", async () => {
  await send({ body: { dollars: 1 }, messageId: "wrong" }, payment(100));
  assert.deepEqual(await workOff(), []);
  const [dead] = await list(client, QUEUE);
  assert.equal(dead.messageId, "wrong");
  assert.equal(dead.deadLetterReason, "Rejected");
  assert.equal(dead.deadLetterErrorDescription, "a payment has cents");
  assert.equal(await ledger.total(), 100);
});

test("a payment that nobody books within a day is a dead letter; sent again it has time", async () => {
  await send(payment(100));
  await mayfly.advance("24h");
  await workOff();
  assert.equal(await ledger.total(), 0);
  assert.deepEqual(await reasons(), ["TTLExpiredException"]);

  assert.equal(await resubmit(client, QUEUE), 1);
  await mayfly.advance("720h");
  await workOff();
  assert.equal(await ledger.total(), 100);
});
