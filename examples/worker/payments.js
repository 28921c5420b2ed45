import { CosmosClient } from "@azure/cosmos";
import { randomUUID } from "node:crypto";
import { Rejected } from "./worker.js";

export const QUEUE = "orders";
const DAY = 24 * 60 * 60 * 1000;

/** A message for a payment that has to be booked within a day. */
export function payment(cents) {
  return { body: { cents }, messageId: randomUUID(), contentType: "application/json", timeToLive: DAY };
}

/** Books payments, each once however often its message is delivered. */
export class Ledger {
  #bookings;

  constructor(bookings) {
    this.#bookings = bookings;
  }

  /** The ledger in a database, made where it is not there yet. */
  static async open({ endpoint, key }) {
    const client = new CosmosClient({ endpoint, key });
    const { database } = await client.databases.createIfNotExists({ id: "payments" });
    const partitionKey = { paths: ["/id"], version: 2 };
    const { container } = await database.containers.createIfNotExists({ id: "bookings", partitionKey });
    return new Ledger(container);
  }

  async book({ messageId, body }) {
    if (!Number.isInteger(body?.cents)) throw new Rejected("a payment has cents");
    try {
      await this.#bookings.items.create({ id: messageId, cents: body.cents });
    } catch (error) {
      if (error.code !== 409) throw error; // 409: it is booked
    }
  }

  async total() {
    const { resources } = await this.#bookings.items.query("SELECT VALUE SUM(c.cents) FROM c").fetchAll();
    return resources[0] ?? 0;
  }
}
