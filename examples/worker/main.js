import { ServiceBusClient } from "@azure/service-bus";
import { once } from "node:events";
import { list, resubmit } from "./deadletters.js";
import { Ledger, QUEUE, payment } from "./payments.js";
import { work } from "./worker.js";

const { SERVICEBUS_CONNECTION, COSMOS_ENDPOINT, COSMOS_KEY } = process.env;
const [command, argument] = process.argv.slice(2);

const commands = {
  async send(client) {
    await client.createSender(QUEUE).sendMessages(payment(Number(argument)));
  },
  async work(client) {
    const ledger = await Ledger.open({ endpoint: COSMOS_ENDPOINT, key: COSMOS_KEY });
    const worker = work(client, QUEUE, (message) => ledger.book(message), { concurrency: 4 });
    await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
    await worker.stop();
    console.log("booked so far:", await ledger.total());
  },
  async dead(client) {
    for (const { messageId, deadLetterReason, deadLetterErrorDescription } of await list(client, QUEUE)) {
      console.log(messageId, deadLetterReason, deadLetterErrorDescription ?? "");
    }
  },
  async resubmit(client) {
    console.log(await resubmit(client, QUEUE), "sent again");
  },
};

if (!commands[command]) {
  console.error("usage: node main.js send CENTS | work | dead | resubmit");
  process.exit(2);
}
const client = new ServiceBusClient(SERVICEBUS_CONNECTION);
try {
  await commands[command](client);
} finally {
  await client.close();
}
