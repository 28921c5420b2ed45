import Long from "long";

const MOST = 100;

/** The first dead letters of a queue, each with its deadLetterReason; they stay where they are. */
export function list(client, queue) {
  return withReceiver(client, queue, peek);
}

/** Sends the first dead letters to their queue again, and returns how many. */
export async function resubmit(client, queue) {
  const sender = client.createSender(queue);
  try {
    return await withReceiver(client, queue, async (receiver) => {
      const { length: all } = await peek(receiver);
      let done = 0;
      while (done < all) {
        const messages = await receiver.receiveMessages(all - done, { maxWaitTimeInMs: 5000 });
        if (messages.length === 0) break; // another one was faster
        for (const message of messages) {
          await sender.sendMessages(again(message));
          await receiver.completeMessage(message); // after that: rather twice than never
        }
        done += messages.length;
      }
      return done;
    });
  } finally {
    await sender.close();
  }
}

/** Begins at the first one; a client that is not told goes on where it has peeked last. */
function peek(receiver) {
  return receiver.peekMessages(MOST, { fromSequenceNumber: Long.ONE });
}

/** The same message, by the id that the handler knows it by, without the time to live that it had. */
function again({ body, messageId, contentType, subject, applicationProperties }) {
  return { body, messageId, contentType, subject, applicationProperties };
}

async function withReceiver(client, queue, call) {
  const receiver = client.createReceiver(queue, { subQueueType: "deadLetter" });
  try {
    return await call(receiver);
  } finally {
    await receiver.close();
  }
}
