package com.github.mayflydb;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A Mayfly server in a container: in memory, on random ports, with a clock that the test moves. {@code withEnv} takes
 * Mayfly's variables (MAYFLY_THROTTLE, ...).
 */
public class MayflyContainer extends GenericContainer<MayflyContainer> {

    /** The image of the latest release. */
    public static final String IMAGE = "ghcr.io/mayflydb/mayfly:latest";

    /** The key of the emulators, which the server takes. */
    public static final String KEY =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    private static final int COSMOS = 8081;
    private static final int MESSAGES = 5672;
    private static final int MANAGEMENT = 5300;

    public MayflyContainer(String image) {
        this(DockerImageName.parse(image));
    }

    public MayflyContainer(DockerImageName image) {
        super(image);
        withExposedPorts(COSMOS, MESSAGES, MANAGEMENT);
        withEnv("MAYFLY_MEMORY", "true");
        withEnv("MAYFLY_VIRTUAL_CLOCK", "true");
        waitingFor(Wait.forHttp("/_mayfly/readyz").forPort(COSMOS));
    }

    /**
     * The address for clients of Cosmos DB, without TLS. The SDK takes it in gateway mode, and with the system property
     * COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED set to true.
     */
    public String getEndpoint() {
        return "http://" + getHost() + ":" + getMappedPort(COSMOS) + "/";
    }

    /** The connection string for sending and receiving. */
    public String getServiceBusConnectionString() {
        return serviceBus(MESSAGES);
    }

    /** The connection string for managing entities. */
    public String getServiceBusAdministrationConnectionString() {
        return serviceBus(MANAGEMENT);
    }

    /** Moves the clock on, and returns when all that has expired by then is purged and told. */
    public void advance(Duration by) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(getEndpoint() + "_mayfly/clock?settle=true"))
            .header("Authorization", "Bearer " + KEY)
            .PUT(HttpRequest.BodyPublishers.ofString("{\"advance\": \"" + by.toMillis() + "ms\"}"))
            .build();
        try {
            HttpResponse<String> response =
                HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                throw new IllegalStateException("the clock does not move: " + response.body());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private String serviceBus(int port) {
        return "Endpoint=sb://" + getHost() + ":" + getMappedPort(port)
            + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;";
    }
}
