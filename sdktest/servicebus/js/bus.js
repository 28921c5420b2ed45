// What the scenarios share: clients, entities, the server's clock, and a few ways to say what is wanted.
import assert from "node:assert/strict";
import { ServiceBusAdministrationClient, ServiceBusClient } from "@azure/service-bus";

// MASTER_KEY is for the server's own routes; every Cosmos DB emulator is known to have it.
const MASTER_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
export const KEY = "SAS_KEY_VALUE";

// SOME_TIME is how long a call may take. SHORTLY is how long a receiver waits that is to get nothing.
export const SOME_TIME = 20_000;
export const SHORTLY = 500;

// NoApi is thrown by a scenario that the SDK has no call for.
export class NoApi extends Error {}

export function without(reason) {
  return async () => {
    throw new NoApi(reason);
  };
}

// Place is where messages are received from: a queue by its name alone, or a subscription of a topic.
export class Place {
  constructor(name, sub, dead = false) {
    Object.assign(this, { name, sub, dead });
  }

  get path() {
    return this.sub ? [this.name, this.sub] : [this.name];
  }

  get deadLetters() {
    return new Place(this.name, this.sub, true);
  }
}

// Scenario is what one scenario works with. Its entities are deleted at the end.
export class Scenario {
  #after = [];

  constructor(name, flags) {
    this.name = name;
    this.flags = flags;
    this.connectionString = `${connection(flags.amqp, KEY)}UseDevelopmentEmulator=true;`;
    this.client = this.connect(this.connectionString);
    this.adm = this.administrator(KEY);
  }

  async begin() {
    await changeClock(this.flags.mayfly, { real: true });
  }

  // connect makes one more client. Its retries come soon, and go on over a restart.
  connect(text, options = {}) {
    const retryOptions = { maxRetries: 5, retryDelayInMs: 200, maxRetryDelayInMs: 1000, timeoutInMs: 15_000 };
    const client = new ServiceBusClient(text, { retryOptions, ...options });
    this.after(() => client.close());
    return client;
  }

  administrator(key) {
    return new ServiceBusAdministrationClient(connection(this.flags.admin, key), {
      retryOptions: { maxRetries: 0 },
    });
  }

  // after has something done at the end.
  after(call) {
    this.#after.unshift(call);
  }

  // queue creates a queue by the scenario's name.
  async queue(options = {}, suffix = "") {
    const name = suffix ? `${this.name}-${suffix}` : this.name;
    await this.adm.createQueue(name, options);
    this.dropQueue(name);
    return new Place(name);
  }

  dropQueue(name) {
    this.after(() => unlessMissing(this.adm.deleteQueue(name)));
  }

  // topic creates a topic by the scenario's name, and subscriptions with these names.
  async topic(subs = [], options = {}) {
    await this.adm.createTopic(this.name, options);
    this.dropTopic(this.name);
    const places = [];
    for (const s of subs) places.push(await this.sub(s));
    return places;
  }

  dropTopic(name) {
    this.after(() => unlessMissing(this.adm.deleteTopic(name)));
  }

  async sub(name, options = {}) {
    await this.adm.createSubscription(this.name, name, options);
    return new Place(this.name, name);
  }

  // ruled creates a subscription with one rule in place of $Default.
  async ruled(name, filter, action, options = {}) {
    return this.sub(name, { defaultRuleOptions: { name, filter, action }, ...options });
  }

  sender(name, client = this.client) {
    const sender = client.createSender(name);
    this.after(() => sender.close());
    return sender;
  }

  // send sends messages, or texts as messages, one after the other.
  async send(name, ...messages) {
    const sender = this.sender(name);
    for (const m of messages) await sender.sendMessages(typeof m === "string" ? msg(m) : m);
  }

  // receiver makes a receiver that renews no locks by itself.
  receiver(place, options = {}, client = this.client) {
    const receiver = client.createReceiver(...place.path, {
      subQueueType: place.dead ? "deadLetter" : undefined,
      maxAutoLockRenewalDurationInMs: 0,
      skipParsingBodyAsJson: true,
      ...options,
    });
    this.after(() => receiver.close());
    return receiver;
  }

  // deleting makes a receiver that deletes.
  deleting(place) {
    return this.receiver(place, { receiveMode: "receiveAndDelete" });
  }

  // nothing wants a receiver that waits shortly to get nothing.
  async nothing(place) {
    const receiver = this.receiver(place);
    await none(receiver);
    await receiver.close();
  }

  // left wants exactly these bodies, and takes them out.
  async left(place, want = [], { ordered = true } = {}) {
    const receiver = this.deleting(place);
    const got = bodies(await take(receiver, want.length));
    assert.deepEqual(ordered ? got : got.sort(), ordered ? want : [...want].sort());
    await none(receiver);
    await receiver.close();
  }

  // advance moves the server's clock on.
  async advance(seconds) {
    await changeClock(this.flags.mayfly, { advance: `${seconds}s` });
  }

  // restart ends the server, by "stop" or "kill", and returns when it is back.
  async restart(how) {
    if (!this.flags.control) throw new Error("needs --control");
    const res = await fetch(new URL(how, this.flags.control), { method: "POST" });
    assert.equal(res.status, 200, `${how}: ${await res.text()}`);
  }

  async close() {
    for (const call of this.#after) await call();
  }
}

async function unlessMissing(deletion) {
  try {
    await deletion;
  } catch (e) {
    if (e.code !== "MessageEntityNotFoundError") throw e;
  }
}

export function connection(place, key) {
  return `Endpoint=sb://${place};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${key};`;
}

async function changeClock(mayfly, change) {
  const res = await fetch(new URL("_mayfly/clock?settle=true", mayfly), {
    method: "PUT",
    headers: { Authorization: `Bearer ${MASTER_KEY}` },
    body: JSON.stringify(change),
  });
  assert.equal(res.status, 200, `clock: ${await res.text()}`);
}

// take receives this many messages.
export async function take(receiver, n) {
  const got = [];
  const until = Date.now() + SOME_TIME;
  while (got.length < n && Date.now() < until) {
    got.push(...(await receiver.receiveMessages(n - got.length, { maxWaitTimeInMs: 5000 })));
  }
  assert.equal(got.length, n, `received ${bodies(got)}`);
  return got;
}

// one receives a message and wants it to have this body.
export async function one(receiver, body) {
  const [got] = await take(receiver, 1);
  assert.equal(text(got), body);
  return got;
}

// none wants nothing.
export async function none(receiver) {
  assert.deepEqual(bodies(await receiver.receiveMessages(1, { maxWaitTimeInMs: SHORTLY })), []);
}

export async function deferred(receiver, ...numbers) {
  const got = await receiver.receiveDeferredMessages(numbers);
  assert.equal(got.length, numbers.length);
  return got;
}

export const text = (m) => m.body.toString();
export const bodies = (messages) => messages.map(text);
export const msg = (body, more = {}) => ({ body: Buffer.from(body), ...more });

// numbered are the bodies m00, m01 and so on.
export const numbered = (n) => Array.from({ length: n }, (_, i) => `m${String(i).padStart(2, "0")}`);

// refused wants a call to fail with an error whose code or text has one of these words.
export async function refused(call, ...words) {
  let answer;
  try {
    answer = await call;
  } catch (e) {
    const all = [e, ...(e.errors ?? [])]; // of each try
    const said = all.map((x) => `${x.code} ${x.name} ${x.statusCode} ${x.message}`.toLowerCase()).join(" ");
    if (!words.some((w) => said.includes(w.toLowerCase()))) throw e;
    return e;
  }
  assert.fail(`not refused: ${answer}, wanted ${words}`);
}

// later is a moment by the machine's clock, with which the server's agrees when a scenario begins.
export const later = (seconds) => new Date(Date.now() + seconds * 1000);

// lasts wants two moments to be so far apart, give or take what real time has passed meanwhile.
export function lasts(from, to, seconds) {
  assert.ok(from && to, `a moment is missing: ${from}, ${to}`);
  assert.ok(Math.abs(to - from - seconds * 1000) < 8000, `${to} is not ${seconds} s after ${from}`);
}

export const drain = async (pages) => {
  const all = [];
  for await (const item of pages) all.push(item);
  return all;
};

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
