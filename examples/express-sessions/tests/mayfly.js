import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The key that every Cosmos DB emulator has. */
const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/** A Mayfly in memory on a free port, with a clock that stands still until a test moves it. */
export class Mayfly {
  #server;
  #exited;
  #folder;

  constructor(server, folder, endpoint) {
    this.#server = server;
    this.#exited = once(server, "exit");
    this.#folder = folder;
    this.endpoint = endpoint;
    this.key = KEY;
  }

  /** Runs the binary that MAYFLY names, or one that is built from this repository. */
  static async start() {
    const folder = mkdtempSync(join(tmpdir(), "mayfly-"));
    const binary = process.env.MAYFLY ?? build(join(folder, "mayfly"));
    const args = ["serve", "--memory", "--virtual-clock", "--port", "0", "--log-level", "warn"];
    const server = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface(server.stdout)) {
      const endpoint = line.match(/http:\/\/localhost:\d+\//); // the greeting, once it is ready
      if (!endpoint) continue;
      const mayfly = new Mayfly(server, folder, endpoint[0]);
      await mayfly.#moveClock({ freeze: true });
      return mayfly;
    }
    throw new Error("mayfly ended before it was ready");
  }

  /** Moves the clock on and returns when all that has expired by then is gone. */
  advance(duration) {
    return this.#moveClock({ advance: duration });
  }

  async #moveClock(change) {
    const answer = await fetch(new URL("_mayfly/clock?settle=true", this.endpoint), {
      method: "PUT",
      headers: { authorization: `Bearer ${this.key}` },
      body: JSON.stringify(change),
    });
    if (!answer.ok) throw new Error(`clock: ${answer.status} ${await answer.text()}`);
  }

  async stop() {
    this.#server.kill();
    await this.#exited;
    rmSync(this.#folder, { recursive: true });
  }
}

function build(binary) {
  execFileSync("go", ["build", "-o", binary, "./cmd/mayfly"], { cwd: new URL("../../..", import.meta.url) });
  return binary;
}
