/** Options of a server. The default is a server in memory, on a free port, with a clock that can be moved. */
export interface StartOptions {
  /** Keep all data in memory. The default is true, unless `data` is set. */
  memory?: boolean;
  /** Folder for the data. */
  data?: string;
  /** Port for HTTP and HTTPS; 0, the default, means any free port. */
  port?: number;
  /** Master key in base64; by default the public key of the emulators. */
  key?: string;
  /** Allow the clock to be moved. The default is true. */
  virtualClock?: boolean;
  /** File or folder with the initial data (a seed). */
  seed?: string;
  /** Also serve Service Bus; a string is the path of the emulator's Config.json. */
  servicebus?: boolean | string;
  /** More flags of `mayfly serve`. */
  args?: string[];
  /** Time limit for the start, in milliseconds. The default is 15,000. */
  timeout?: number;
  /** Called with the text of the server's log. */
  log?: (text: string) => void;
}

/** A running server. */
export interface Mayfly {
  /** http://localhost:port/, for CosmosClient. */
  readonly endpoint: string;
  /** The same port over TLS, with the server's own certificate. */
  readonly httpsEndpoint: string;
  readonly key: string;
  readonly connectionString: string;
  /** For ServiceBusClient; undefined without `servicebus`. */
  readonly serviceBusConnectionString?: string;
  /** For ServiceBusAdministrationClient; undefined without `servicebus`. */
  readonly serviceBusAdministrationConnectionString?: string;

  /** Sends a request to Mayfly's own API under /_mayfly/; resolves to the answer, rejects if it is an error. */
  request(method: string, path: string, body?: unknown): Promise<any>;
  /** Advances the clock; resolves when everything that has expired by then is purged and its expiry recorded. */
  advance(seconds: number): Promise<void>;
  /** Restores the state after the start: that of the seed, or the snapshot `seeded`. */
  reset(): Promise<void>;
  /** Stops the server; resolves when it has ended. It can be called more than once. */
  stop(): Promise<void>;
}

/** Starts a server and resolves when it is ready. */
export function start(options?: StartOptions): Promise<Mayfly>;
/** Returns the path of the binary for this platform. Throws if there is none. */
export function binaryPath(): string;
/** The key of the emulators. */
export const WELL_KNOWN_KEY: string;
