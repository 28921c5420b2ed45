import { openSessions } from "./database.js";
import { CosmosStore } from "./store.js";
import { createApp } from "./app.js";

const { COSMOS_ENDPOINT, COSMOS_KEY, SESSION_SECRET, PORT = "3000" } = process.env;
if (!COSMOS_ENDPOINT || !COSMOS_KEY || !SESSION_SECRET) {
  console.error("set COSMOS_ENDPOINT, COSMOS_KEY and SESSION_SECRET");
  process.exit(2);
}
const container = await openSessions({ endpoint: COSMOS_ENDPOINT, key: COSMOS_KEY });
createApp({ store: new CosmosStore(container), secret: SESSION_SECRET }).listen(Number(PORT), () => {
  console.log(`listening on http://localhost:${PORT}/`);
});
