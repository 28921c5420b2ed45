import { AbstractStartedContainer, GenericContainer, type StartedTestContainer, Wait } from "testcontainers";

/** The image of the latest release. */
export const IMAGE = "ghcr.io/mayflydb/mayfly:latest";
/** The key of the emulators, which the server takes. */
export const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

const COSMOS = 8081;
const MESSAGES = 5672;
const MANAGEMENT = 5300;

/** A server in memory on random ports, with a clock that the test moves. `withEnvironment` takes Mayfly's variables. */
export class MayflyContainer extends GenericContainer {
  constructor(image = IMAGE) {
    super(image);
    this.withExposedPorts(COSMOS, MESSAGES, MANAGEMENT)
      .withEnvironment({ MAYFLY_MEMORY: "true", MAYFLY_VIRTUAL_CLOCK: "true" })
      .withWaitStrategy(Wait.forHttp("/_mayfly/readyz", COSMOS));
  }

  public override async start(): Promise<StartedMayflyContainer> {
    return new StartedMayflyContainer(await super.start());
  }
}

export class StartedMayflyContainer extends AbstractStartedContainer {
  constructor(started: StartedTestContainer) {
    super(started);
  }

  /** The address for clients of Cosmos DB, without TLS. */
  public getEndpoint(): string {
    return `http://${this.getHost()}:${this.getMappedPort(COSMOS)}/`;
  }

  public getConnectionString(): string {
    return `AccountEndpoint=${this.getEndpoint()};AccountKey=${KEY};`;
  }

  /** For sending and receiving. */
  public getServiceBusConnectionString(): string {
    return this.serviceBus(MESSAGES);
  }

  /** For managing entities. */
  public getServiceBusAdministrationConnectionString(): string {
    return this.serviceBus(MANAGEMENT);
  }

  /** Moves the clock on; resolves when all that has expired by then is purged and told. */
  public async advance(seconds: number): Promise<void> {
    const response = await fetch(`${this.getEndpoint()}_mayfly/clock?settle=true`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ advance: `${seconds}s` }),
    });
    if (!response.ok) throw new Error(`the clock does not move: ${response.status} ${await response.text()}`);
  }

  private serviceBus(port: number): string {
    return (
      `Endpoint=sb://${this.getHost()}:${this.getMappedPort(port)};SharedAccessKeyName=RootManageSharedAccessKey;` +
      "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
    );
  }
}
