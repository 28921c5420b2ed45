/** What a server is started with. Without any: in memory, on a free port, with a clock that can be moved. */
export interface StartOptions {
  /** Keep everything in memory. By default true, unless there is `data`. */
  memory?: boolean;
  /** Folder for the data. */
  data?: string;
  /** Port for HTTP and HTTPS alike; 0, the default, is a free one. */
  port?: number;
  /** Master key in base64; by default the emulators', which everybody knows. */
  key?: string;
  /** Let the clock be moved. By default true. */
  virtualClock?: boolean;
  /** File or folder with what there is from the start. */
  seed?: string;
  /** Answer for Service Bus, too; a string is the emulator's Config.json. */
  servicebus?: boolean | string;
  /** More flags of `mayfly serve`. */
  args?: string[];
  /** Milliseconds that the start may take. By default 15,000. */
  timeout?: number;
  /** Gets the server's log. */
  log?: (text: string) => void;
}

/** A server that runs. */
export interface Mayfly {
  /** http://localhost:port/, for CosmosClient. */
  readonly endpoint: string;
  /** The same port in TLS, by a certificate of the server's own. */
  readonly httpsEndpoint: string;
  readonly key: string;
  readonly connectionString: string;
  /** For ServiceBusClient; undefined without `servicebus`. */
  readonly serviceBusConnectionString?: string;
  /** For ServiceBusAdministrationClient; undefined without `servicebus`. */
  readonly serviceBusAdministrationConnectionString?: string;

  /** Asks Mayfly's own API below /_mayfly/ and gives its answer. Rejects where that is an error. */
  request(method: string, path: string, body?: unknown): Promise<any>;
  /** Moves the clock on; resolves when all that has expired by then is purged and told. */
  advance(seconds: number): Promise<void>;
  /** Goes back to the state after the start: that of the seed, or the snapshot called "seeded". */
  reset(): Promise<void>;
  /** Ends the server; resolves when it is gone. It may be called more than once. */
  stop(): Promise<void>;
}

/** Starts a server and resolves when it is ready. */
export function start(options?: StartOptions): Promise<Mayfly>;
/** The path of the binary of this platform. Throws where there is none. */
export function binaryPath(): string;
/** The key of the emulators. */
export const WELL_KNOWN_KEY: string;
