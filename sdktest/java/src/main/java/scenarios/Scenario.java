package scenarios;

import static scenarios.Want.json;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** What one scenario works with: a client, and a database of its own that is made when it is first asked for. */
final class Scenario implements Closeable {
    /** What the command line says. control is null if the server cannot be ended; with separate, clients share no connections. */
    record Flags(URI endpoint, int ranges, URI control, boolean direct, boolean separate) {}

    final String name;
    final int ranges;
    final boolean direct;
    final CosmosClient client;
    private final Flags flags;
    private final List<Closeable> clients = new ArrayList<>();
    private CosmosAsyncClient async;
    private CosmosDatabase database;

    Scenario(String name, Flags flags) {
        this.name = name;
        this.ranges = flags.ranges();
        this.direct = flags.direct();
        this.flags = flags;
        this.client = connect();
    }

    /** The settings of a client, but for what it shows to be let in. */
    CosmosClientBuilder builder() {
        CosmosClientBuilder builder = new CosmosClientBuilder()
            .endpoint(flags.endpoint().toString())
            .contentResponseOnWriteEnabled(true)
            .connectionSharingAcrossClientsEnabled(!flags.separate());
        return flags.direct() ? builder.directMode() : builder.gatewayMode();
    }

    /** One more client. */
    CosmosClient connect() {
        return connect(builder().key(Server.KEY));
    }

    CosmosClient connect(CosmosClientBuilder builder) {
        CosmosClient made = builder.buildClient();
        clients.add(made);
        return made;
    }

    /** The database as the asynchronous client has it, for what the other one has no calls for. */
    CosmosAsyncDatabase asyncDatabase() {
        if (async == null) {
            async = builder().key(Server.KEY).buildAsyncClient();
            clients.add(async);
        }
        return async.getDatabase(database().getId());
    }

    CosmosDatabase database() {
        return database(null);
    }

    CosmosDatabase database(ThroughputProperties throughput) {
        if (database == null) {
            client.createDatabase(name, throughput);
            database = client.getDatabase(name);
        }
        return database;
    }

    /** Creates a container, partitioned by /pk. */
    CosmosContainer container() {
        return container(p -> {});
    }

    /** Creates a container that is partitioned by /pk unless it is changed to be something else. */
    CosmosContainer container(Consumer<CosmosContainerProperties> change) {
        CosmosContainerProperties properties = properties("c", "/pk");
        change.accept(properties);
        database().createContainer(properties);
        return database().getContainer(properties.getId());
    }

    static CosmosContainerProperties properties(String id, String path) {
        return new CosmosContainerProperties(id, new PartitionKeyDefinition()
            .setPaths(List.of(path))
            .setVersion(PartitionKeyDefinitionVersion.V2));
    }

    /** A policy that indexes everything that it is not changed to leave out. */
    static IndexingPolicy indexing() {
        return new IndexingPolicy()
            .setIndexingMode(IndexingMode.CONSISTENT)
            .setAutomatic(true)
            .setIncludedPaths(List.of(new IncludedPath("/*")));
    }

    /** Creates a container with the twenty. */
    CosmosContainer twenty() {
        return twenty(p -> {});
    }

    CosmosContainer twenty(Consumer<CosmosContainerProperties> change) {
        CosmosContainer made = container(change);
        theTwenty().forEach(made::createItem);
        return made;
    }

    /** The documents that scenarios.md describes. */
    static List<ObjectNode> theTwenty() {
        return IntStream.range(0, 20).mapToObj(Scenario::twentieth).toList();
    }

    static ObjectNode twentieth(int i) {
        return json("{id:'i%02d', pk:'p%d', n:%d, g:'g%d', tags:['t%d','all'], o:{x:%d}}", i, i % 5, i, i % 3, i % 4, i);
    }

    /** The ids of those of the twenty from one number up to another. */
    static List<String> ids(int from, int to) {
        return IntStream.range(from, to).mapToObj(i -> String.format("i%02d", i)).toList();
    }

    /** The ids of the twenty. */
    static final List<String> EVERYTHING = ids(0, 20);

    /** Moves the server's clock on. */
    void advance(int seconds) throws Exception {
        Server.clock(flags.endpoint(), "{\"advance\": \"" + seconds + "s\"}");
    }

    /** Splits the container's first range in two. A new container's first range has the id 0. */
    void split(CosmosContainer c) throws Exception {
        Server.send("POST", flags.endpoint().resolve("_mayfly/dbs/" + name + "/colls/" + c.getId() + "/split"), "{\"range\": \"0\"}");
    }

    /** Ends the server, by "stop" or "kill", and returns when it is back. */
    void restart(String how) throws Exception {
        if (flags.control() == null) {
            throw new IllegalStateException("needs --control");
        }
        Server.send("POST", flags.control().resolve(how), "");
    }

    @Override
    public void close() throws IOException {
        try {
            if (database != null) {
                client.getDatabase(name).delete();
            }
        } finally {
            for (Closeable c : clients) {
                c.close();
            }
        }
    }
}
