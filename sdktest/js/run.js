// The runner for JavaScript; ../scenarios.md says what it takes and prints.
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { NoApi, Scenario, freezeClock } from "./lib.js";
import * as account from "./scenarios/account.js";
import * as items from "./scenarios/items.js";
import * as keys from "./scenarios/keys.js";
import * as queries from "./scenarios/queries.js";
import * as writes from "./scenarios/writes.js";
import * as feed from "./scenarios/feed.js";
import * as scripts from "./scenarios/scripts.js";
import * as users from "./scenarios/users.js";
import * as ttl from "./scenarios/ttl.js";
import * as moves from "./scenarios/moves.js";

const { values: flags } = parseArgs({
  options: {
    endpoint: { type: "string" },
    ranges: { type: "string", default: "1" },
    control: { type: "string" },
    only: { type: "string" },
    times: { type: "boolean", default: false },
  },
});
if (!flags.endpoint) {
  console.error("usage: node run.js --endpoint URL [--ranges N] [--control URL] [--only NAME,NAME] [--times]");
  process.exit(2);
}

const all = Object.assign({}, ...[account, items, keys, queries, writes, feed, scripts, users, ttl, moves].map((m) => m.scenarios));
const names = flags.only ? flags.only.split(",") : Object.keys(all);
const { version } = createRequire(import.meta.url)("@azure/cosmos/package.json");

await freezeClock(flags.endpoint);
let passed = 0;
let failed = 0;
let absent = 0;
for (const name of names) {
  const t = new Scenario(name, flags);
  const began = performance.now();
  let line;
  try {
    if (!all[name]) throw new Error("there is no such scenario");
    await inTime(all[name](t));
    line = `ok ${name}`;
    passed++;
  } catch (e) {
    if (e instanceof NoApi) {
      line = `no-api ${name}: ${e.message}`;
      absent++;
    } else {
      failed++;
      line = `FAIL ${name}: ${explain(e)}`;
    }
  }
  try {
    await t.close();
  } catch (e) {
    console.log(`FAIL ${name}: afterwards: ${explain(e)}`);
    failed++;
  }
  console.log(flags.times ? `${line} (${Math.round(performance.now() - began)} ms)` : line);
}
console.log(`@azure/cosmos ${version}: ${passed}/${names.length - absent} (${absent} no-api)`);
process.exit(failed > 0 ? 1 : 0);

// inTime fails when a scenario takes longer than any should, such as one whose SDK asks without end.
function inTime(running) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("no end after 2 minutes")), 120_000);
  });
  return Promise.race([running, late]).finally(() => clearTimeout(timer));
}

// explain puts an error on one line: what it says, the status if there is one, and the scenario's line.
function explain(e) {
  const at = /scenarios\/\w+\.js:\d+/.exec(e?.stack ?? "")?.[0] ?? "";
  const status = e?.code !== undefined ? `[${e.code}${e.substatus ? "/" + e.substatus : ""}] ` : "";
  return `${status}${e?.message ?? JSON.stringify(e)} ${at}`.replace(/\s+/g, " ").trim();
}
