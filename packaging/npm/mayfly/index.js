'use strict';

const { spawn } = require('node:child_process');
const { binaryPath } = require('./binary.js');

/** The key of the emulators, which the SDKs' samples have. */
const WELL_KNOWN_KEY =
  'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';

/** How long a server may take to be ready, unless the options say otherwise. */
const START_TIMEOUT = 15_000;

/** The flags of `mayfly serve` for options; what is not said is free ports, and nothing kept. */
function flags(options) {
  const args = ['serve', '--port', String(options.port ?? 0), '--compute-port', 'off'];
  if (options.data) args.push('--data', options.data);
  else if (options.memory ?? true) args.push('--memory');
  if (options.virtualClock ?? true) args.push('--virtual-clock');
  if (options.seed) args.push('--seed', options.seed);
  if (options.servicebus) {
    args.push('--servicebus', '--servicebus-port', '0', '--servicebus-admin-port', '0');
    args.push('--servicebus-tls-port', 'off', '--servicebus-admin-tls-port', 'off');
    if (typeof options.servicebus === 'string') args.push('--servicebus-config', options.servicebus);
  }
  return args.concat(options.args ?? []);
}

/** The lines of a greeting, as the last of them tells that it is complete. */
function readGreeting(text) {
  if (!/^ {2}stop /m.test(text)) return undefined;
  const find = (pattern) => text.match(pattern)?.[1];
  return {
    http: find(/^\s+(?:endpoint\s+)?(http:\S+)$/m),
    https: find(/^\s+(?:endpoint\s+)?(https:\S+)$/m),
    messages: find(/(Endpoint=sb:\S+) \(messages\)$/m),
    management: find(/(Endpoint=sb:\S+) \(management\)$/m),
  };
}

/** A server that runs. */
class Mayfly {
  #child;
  #exited;
  #onExit;

  constructor(child, exited, greeting, key) {
    this.#child = child;
    this.#exited = exited;
    this.#onExit = () => child.kill();
    process.on('exit', this.#onExit);
    this.endpoint = greeting.http;
    this.httpsEndpoint = greeting.https;
    this.key = key;
    this.connectionString = `AccountEndpoint=${greeting.http};AccountKey=${key};`;
    this.serviceBusConnectionString = greeting.messages;
    this.serviceBusAdministrationConnectionString = greeting.management;
  }

  /** Asks Mayfly's own API, below /_mayfly/; what it answers as JSON. */
  async request(method, path, body) {
    const response = await fetch(new URL(`_mayfly/${path}`, this.endpoint), {
      method,
      headers: { Authorization: `Bearer ${this.key}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`mayfly: ${method} /_mayfly/${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** Moves the clock on; resolves when all that has expired by then is purged and told. */
  async advance(seconds) {
    await this.request('PUT', 'clock?settle=true', { advance: `${seconds}s` });
  }

  /** Goes back to the state after the start: that of the seed, or the snapshot called "seeded". */
  async reset() {
    await this.request('POST', 'reset', {});
  }

  /** Ends the server; resolves when it is gone. It may be called more than once. */
  async stop() {
    process.removeListener('exit', this.#onExit);
    this.#child.kill();
    await this.#exited;
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.stop();
  }
}

/** Starts a server and resolves when it is ready. */
async function start(options = {}) {
  const key = options.key ?? WELL_KNOWN_KEY;
  // The key is no argument: others see those. Whatever this process has as a key is not meant.
  const env = { ...process.env, MAYFLY_KEY: key, MAYFLY_KEY_FILE: '' };
  const child = spawn(binaryPath(), flags(options), { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  let out = '';
  let log = '';
  let fail;
  const failed = new Promise((_, reject) => (fail = reject));
  const exited = new Promise((resolve) => child.once('close', resolve));
  child.once('error', (error) => fail(new Error(`mayfly: ${error.message}`, { cause: error })));
  child.once('close', (code) => fail(new Error(`mayfly: the server ended with ${code}: ${log.trim()}`)));
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log = (log + text).slice(-10_000);
    options.log?.(text);
  });
  const greeted = new Promise((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      const greeting = readGreeting((out += text));
      if (greeting) resolve(greeting);
    });
  });
  const timeout = options.timeout ?? START_TIMEOUT;
  const timer = setTimeout(() => fail(new Error(`mayfly: not ready after ${timeout} ms: ${log.trim()}`)), timeout);
  try {
    const greeting = await Promise.race([greeted, failed]);
    failed.catch(() => {}); // from now on an end is no failure of the start
    return new Mayfly(child, exited, greeting, key);
  } catch (error) {
    child.kill();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

module.exports = { start, binaryPath, WELL_KNOWN_KEY };
