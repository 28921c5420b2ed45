// The runner for JavaScript; ../../servicebus.md says what it takes and prints.
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { NoApi, Scenario } from "./bus.js";
import * as sending from "./scenarios/sending.js";
import * as settling from "./scenarios/settling.js";
import * as times from "./scenarios/times.js";
import * as sessions from "./scenarios/sessions.js";
import * as topics from "./scenarios/topics.js";
import * as forwarding from "./scenarios/forwarding.js";
import * as processors from "./scenarios/processors.js";
import * as restarts from "./scenarios/restarts.js";
import * as administration from "./scenarios/administration.js";
import * as failing from "./scenarios/failing.js";

const { values: flags } = parseArgs({
  options: {
    amqp: { type: "string" },
    admin: { type: "string" },
    tls: { type: "string" },
    mayfly: { type: "string" },
    control: { type: "string" },
    only: { type: "string" },
    times: { type: "boolean", default: false },
  },
});
if (!flags.amqp || !flags.admin || !flags.tls || !flags.mayfly) {
  console.error(
    "usage: node run.js --amqp HOST:PORT --admin HOST:PORT --tls HOST:PORT --mayfly URL [--control URL]",
  );
  console.error("    [--only NAME,NAME] [--times]");
  process.exit(2);
}

const modules = [
  sending,
  settling,
  times,
  sessions,
  topics,
  forwarding,
  processors,
  restarts,
  administration,
  failing,
];
const all = Object.assign({}, ...modules.map((m) => m.scenarios));
const names = flags.only ? flags.only.split(",") : Object.keys(all);
const { version } = createRequire(import.meta.url)("@azure/service-bus/package.json");

// The SDK leaves promises of its own behind when a scenario cuts a connection.
process.on("unhandledRejection", () => {});

let passed = 0;
let failed = 0;
let absent = 0;
for (const name of names) {
  const t = new Scenario(name, flags);
  const began = performance.now();
  let line;
  try {
    if (!all[name]) throw new Error("there is no such scenario");
    await inTime(
      150,
      t.begin().then(() => all[name](t)),
    );
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
    await inTime(30, t.close());
  } catch (e) {
    if (!line.startsWith("FAIL ")) {
      line = `FAIL ${name}: afterwards: ${explain(e)}`;
      failed++;
    }
  }
  console.log(flags.times ? `${line} (${Math.round(performance.now() - began)} ms)` : line);
}
console.log(`@azure/service-bus ${version}: ${passed}/${names.length - absent} (${absent} no-api)`);
process.exit(failed > 0 ? 1 : 0);

// inTime fails when something takes longer than it should, such as a scenario whose SDK waits without end.
function inTime(seconds, running) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([running, late]).finally(() => clearTimeout(timer));
}

// explain puts an error on one line: what it says, the code if there is one, and the scenario's line.
function explain(e) {
  const at = /scenarios\/\w+\.js:\d+/.exec(e?.stack ?? "")?.[0] ?? "";
  const code = e?.code !== undefined ? `[${e.code}] ` : "";
  return `${code}${e?.message ?? JSON.stringify(e)} ${at}`.replace(/\s+/g, " ").trim();
}
