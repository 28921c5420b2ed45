/** Thrown by a handler for a message that no retry will help. */
export class Rejected extends Error {}

/**
 * Hands each message of a queue to a function. Where that throws, the message comes again until the queue's
 * MaxDeliveryCount is reached, and is a dead letter then. It comes again, too, when its lock was lost: the
 * handler has to know what it has done already, by the message's id for example.
 */
export function work(client, queue, handle, { onError = console.error, concurrency = 1 } = {}) {
  const receiver = client.createReceiver(queue);
  const busy = new Set();
  const subscription = receiver.subscribe({
    async processMessage(message) {
      const settled = settle(receiver, message, handle);
      busy.add(settled);
      await settled.finally(() => busy.delete(settled)); // what is thrown abandons the message
    },
    async processError({ error }) {
      onError(error);
    },
  }, { maxConcurrentCalls: concurrency, autoCompleteMessages: false });

  return {
    /** Takes no more messages, and ends when those at hand are settled. */
    async stop() {
      await subscription.close();
      await Promise.allSettled(busy);
      await receiver.close();
    },
  };
}

async function settle(receiver, message, handle) {
  try {
    await handle(message);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const reason = { deadLetterReason: "Rejected", deadLetterErrorDescription: error.message };
    return receiver.deadLetterMessage(message, reason);
  }
  await receiver.completeMessage(message);
}
