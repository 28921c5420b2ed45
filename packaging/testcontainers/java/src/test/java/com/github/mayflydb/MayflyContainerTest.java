package com.github.mayflydb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.PartitionKey;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.CosmosDBEmulatorContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

class MayflyContainerTest {

    private static final String IMAGE = System.getenv().getOrDefault("MAYFLY_IMAGE", MayflyContainer.IMAGE);
    private static final PartitionKey ADA = new PartitionKey("ada");

    @Test
    void aSessionExpires() {
        try (MayflyContainer mayfly = new MayflyContainer(IMAGE)) {
            mayfly.start();
            try (CosmosClient client = client(mayfly.getEndpoint(), MayflyContainer.KEY)) {
                CosmosContainer sessions = sessions(client);
                mayfly.advance(Duration.ofSeconds(1799));
                assertEquals(200, read(sessions).getStatusCode());
                mayfly.advance(Duration.ofSeconds(1));
                CosmosException gone = assertThrows(CosmosException.class, () -> read(sessions));
                assertEquals(404, gone.getStatusCode());
            }
            assertTrue(mayfly.getServiceBusConnectionString().startsWith("Endpoint=sb://"));
        }
    }

    /** The module for Microsoft's emulator takes this image in its place. */
    @Test
    void theOfficialModule() {
        DockerImageName image = DockerImageName.parse(IMAGE)
            .asCompatibleSubstituteFor("mcr.microsoft.com/cosmosdb/linux/azure-cosmos-emulator");
        try (CosmosDBEmulatorContainer emulator = new CosmosDBEmulatorContainer(image)) {
            emulator.waitingFor(Wait.forHttp("/_mayfly/readyz").forPort(8081)).start();
            String endpoint = emulator.getEmulatorEndpoint().replace("https:", "http:"); // no certificate to trust
            try (CosmosClient client = client(endpoint, emulator.getEmulatorKey())) {
                assertEquals(200, read(sessions(client)).getStatusCode());
            }
        }
    }

    private static CosmosClient client(String endpoint, String key) {
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true"); // else the SDK asks for https
        return new CosmosClientBuilder().endpoint(endpoint).key(key).gatewayMode().buildClient();
    }

    /** A container whose documents have a time to live of their own, with one document of half an hour. */
    private static CosmosContainer sessions(CosmosClient client) {
        client.createDatabase("app");
        CosmosContainerProperties properties = new CosmosContainerProperties("sessions", "/user");
        properties.setDefaultTimeToLiveInSeconds(-1);
        client.getDatabase("app").createContainer(properties);
        CosmosContainer sessions = client.getDatabase("app").getContainer("sessions");
        sessions.createItem(Map.of("id", "1", "user", "ada", "ttl", 1800), ADA, null);
        return sessions;
    }

    private static CosmosItemResponse<Object> read(CosmosContainer sessions) {
        return sessions.readItem("1", ADA, Object.class);
    }
}
