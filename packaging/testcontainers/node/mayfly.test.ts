import assert from "node:assert/strict";
import test from "node:test";
import { type Container, CosmosClient } from "@azure/cosmos";
import { AzureCosmosDbEmulatorContainer } from "@testcontainers/azure-cosmosdb-emulator";
import { IMAGE, MayflyContainer } from "./mayfly.js";

const image = process.env.MAYFLY_IMAGE ?? IMAGE;

/** A container whose documents have a time to live of their own, with one document of half an hour. */
async function sessions(connection: string): Promise<Container> {
  const client = new CosmosClient(connection);
  const { database } = await client.databases.create({ id: "app" });
  const { container } = await database.containers.create({ id: "sessions", partitionKey: "/user", defaultTtl: -1 });
  await container.items.create({ id: "1", user: "ada", ttl: 1800 });
  return container;
}

test("a session expires", async () => {
  const mayfly = await new MayflyContainer(image).start();
  try {
    const items = await sessions(mayfly.getConnectionString());
    await mayfly.advance(1799);
    assert.equal((await items.item("1", "ada").read()).statusCode, 200);
    await mayfly.advance(1);
    assert.equal((await items.item("1", "ada").read()).statusCode, 404);
    assert.match(mayfly.getServiceBusConnectionString(), /^Endpoint=sb:\/\/[^;]+:\d+;/);
  } finally {
    await mayfly.stop();
  }
});

test("the module for Microsoft's emulator takes this image in its place", async () => {
  const emulator = await new AzureCosmosDbEmulatorContainer(image).start();
  try {
    const items = await sessions(emulator.getConnectionUri());
    assert.equal((await items.item("1", "ada").read()).statusCode, 200);
  } finally {
    await emulator.stop();
  }
});
