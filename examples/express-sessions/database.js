import { CosmosClient } from "@azure/cosmos";

/** The container of the sessions, made where it is not there yet. */
export async function openSessions({ endpoint, key }) {
  const client = new CosmosClient({ endpoint, key });
  const { database } = await client.databases.createIfNotExists({ id: "web" });
  const { container } = await database.containers.createIfNotExists({
    id: "sessions",
    partitionKey: { paths: ["/id"], version: 2 },
    defaultTtl: -1, // TTL is on, and each session says how long
    indexingPolicy: { indexingMode: "consistent", excludedPaths: [{ path: "/*" }] }, // read by id alone
  });
  return container;
}
