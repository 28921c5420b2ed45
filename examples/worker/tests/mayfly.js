import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The key that every Cosmos DB emulator has. */
const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
const CONFIG = fileURLToPath(new URL("../Config.json", import.meta.url));

/** A Mayfly in memory on free ports, with the queue of Config.json, and a clock that tests alone move. */
export class Mayfly {
  #server;
  #exited;
  #folder;

  constructor(server, folder, endpoint, serviceBus) {
    this.#server = server;
    this.#exited = once(server, "exit");
    this.#folder = folder;
    this.endpoint = endpoint;
    this.key = KEY;
    this.serviceBus = serviceBus;
  }

  /** Runs the binary that MAYFLY names, or one that is built from this repository. */
  static async start() {
    const folder = mkdtempSync(join(tmpdir(), "mayfly-"));
    const binary = process.env.MAYFLY ?? build(join(folder, "mayfly"));
    const args = ["serve", "--memory", "--virtual-clock", "--port", "0", "--log-level", "warn",
      "--servicebus", "--servicebus-config", CONFIG, "--servicebus-port", "0",
      "--servicebus-admin-port", "off", "--servicebus-tls-port", "off", "--servicebus-admin-tls-port", "off"];
    const server = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] });
    let endpoint, serviceBus;
    for await (const line of createInterface(server.stdout)) { // the greeting, once it is ready
      endpoint ??= line.match(/http:\/\/localhost:\d+\//)?.[0];
      serviceBus ??= line.match(/Endpoint=sb:\S+/)?.[0];
      if (!endpoint || !serviceBus) continue;
      const mayfly = new Mayfly(server, folder, endpoint, serviceBus);
      await mayfly.#ask("PUT", "clock", { freeze: true });
      return mayfly;
    }
    throw new Error("mayfly ended before it was ready");
  }

  /** Moves the clock on and returns when all that has expired by then is gone. */
  async advance(duration) {
    await this.#ask("PUT", "clock?settle=true", { advance: duration });
  }

  /** Returns when a queue has no message left but dead letters. */
  async untilEmpty(queue) {
    await this.#ask("POST", `entities/${queue}/wait`, { until: "empty", timeout: 20 });
  }

  async stop() {
    this.#server.kill();
    await this.#exited;
    rmSync(this.#folder, { recursive: true });
  }

  async #ask(method, path, body) {
    const answer = await fetch(new URL(`_mayfly/${path}`, this.endpoint), {
      method,
      headers: { authorization: `Bearer ${this.key}` },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  }
}

function build(binary) {
  execFileSync("go", ["build", "-o", binary, "./cmd/mayfly"], { cwd: new URL("../../..", import.meta.url) });
  return binary;
}
