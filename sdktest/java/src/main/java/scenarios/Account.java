package scenarios;

import static scenarios.Run.without;
import static scenarios.Want.across;
import static scenarios.Want.delete;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.matches;
import static scenarios.Want.query;
import static scenarios.Want.read;
import static scenarios.Want.replace;
import static scenarios.Want.rows;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantNames;
import static scenarios.Want.wantRows;
import static scenarios.Want.with;
import static scenarios.Want.yes;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.ComputedProperty;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosContainerRequestOptions;
import com.azure.cosmos.models.CosmosDatabaseProperties;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.SpatialSpec;
import com.azure.cosmos.models.SpatialType;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.azure.cosmos.util.CosmosPagedIterable;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The account, databases and containers. */
final class Account {
    private Account() {}

    static void add(Map<String, Run.Body> every) {
        every.put("account-read", without("no call that reads the account"));
        every.put("connection-string", without("no connection strings in the SDK"));
        every.put("wrong-key", Account::wrongKey);
        every.put("response-headers", Account::responseHeaders);
        every.put("consistency-levels", Account::consistencyLevels);
        every.put("database-lifecycle", Account::databaseLifecycle);
        every.put("database-listing", Account::databaseListing);
        every.put("container-lifecycle", Account::containerLifecycle);
        every.put("container-listing", Account::containerListing);
        every.put("container-replace", Account::containerReplace);
        every.put("container-quota", Account::containerQuota);
        every.put("indexing-policy", Account::indexingPolicy);
        every.put("indexing-none", Account::indexingNone);
        every.put("indexing-change", Account::indexingChange);
        every.put("unique-keys", Account::uniqueKeys);
        every.put("computed-properties", Account::computedProperties);
        every.put("conflict-feed", Account::conflictFeed);
        every.put("throughput-manual", Account::throughputManual);
        every.put("throughput-autoscale", Account::throughputAutoscale);
        every.put("throughput-database", Account::throughputDatabase);
        every.put("throughput-default", Account::throughputDefault);
        every.put("feed-range-list", Account::feedRangeList);
    }

    private static SqlQuerySpec byId(String id) {
        return new SqlQuerySpec("SELECT * FROM x WHERE x.id = @id", new SqlParameter("@id", id));
    }

    private static void wrongKey(Scenario t) {
        String key = Base64.getEncoder().encodeToString("another key".getBytes());
        try {
            t.connect(t.builder().key(key));
        } catch (RuntimeException e) { // the SDK reads the account where it makes a client, and wraps what goes wrong
            equal(e.getCause() instanceof CosmosException c ? c.getStatusCode() : e, 401);
            return;
        }
        throw new AssertionError("not refused");
    }

    private static void responseHeaders(Scenario t) {
        CosmosContainer c = t.container();
        Set<String> seen = new HashSet<>();
        for (CosmosItemResponse<?> r : List.of(
            c.createItem(json("{id:'1', pk:'a'}")),
            c.readItem("1", key("a"), ObjectNode.class),
            replace(c, json("{id:'1', pk:'a', v:1}"), "a"),
            c.deleteItem("1", key("a"), null))) {
            yes(r.getRequestCharge() > 0, "a charge");
            yes(seen.add(r.getActivityId()), "an activity id of its own");
            matches(r.getSessionToken(), "^\\d+:.*#\\d+");
        }
        var page = query(c, "SELECT * FROM c", in("a")).iterableByPage().iterator().next();
        yes(page.getRequestCharge() > 0, "a charge");
        yes(seen.add(page.getActivityId()), "an activity id of its own");
    }

    private static void consistencyLevels(Scenario t) {
        t.container().createItem(json("{id:'1', pk:'a'}"));
        for (ConsistencyLevel level : List.of(ConsistencyLevel.CONSISTENT_PREFIX, ConsistencyLevel.EVENTUAL)) {
            var other = t.connect(t.builder().key(Server.KEY).consistencyLevel(level)).getDatabase(t.name).getContainer("c");
            equal(read(other, "1", "a").get("id").asText(), "1");
            wantIds(rows(other, "SELECT * FROM c", in("a")), List.of("1"));
        }
    }

    private static void databaseLifecycle(Scenario t) {
        equal(t.client.createDatabase(t.name).getStatusCode(), 201);
        fails(409, () -> t.client.createDatabase(t.name));
        CosmosDatabase db = t.client.getDatabase(t.name);
        equal(db.read().getProperties().getId(), t.name);
        wantDatabases(t.client.queryDatabases(byId(t.name), null), List.of(t.name));
        equal(db.delete().getStatusCode(), 204);
        fails(404, db::read);
    }

    private static void wantDatabases(Iterable<CosmosDatabaseProperties> found, List<String> want) {
        Set<String> names = new HashSet<>();
        for (CosmosDatabaseProperties p : found) {
            yes(names.add(p.getId()), p.getId() + " twice");
        }
        wantNames(names, want);
    }

    private static void databaseListing(Scenario t) {
        List<String> names = List.of(t.name + "-x", t.name + "-y", t.name + "-z");
        names.forEach(t.client::createDatabase);
        var text = new SqlQuerySpec("SELECT * FROM d WHERE STARTSWITH(d.id, @p)", new SqlParameter("@p", t.name + "-"));
        wantDatabases(t.client.queryDatabases(text, null), names);
        wantDatabases(t.client.readAllDatabases().stream().filter(d -> names.contains(d.getId())).toList(), names);
        names.forEach(name -> t.client.getDatabase(name).delete());
    }

    private static void containerLifecycle(Scenario t) {
        CosmosDatabase db = t.database();
        equal(db.createContainer(Scenario.properties("c", "/pk")).getStatusCode(), 201);
        fails(409, () -> db.createContainer(Scenario.properties("c", "/pk")));
        CosmosContainer c = db.getContainer("c");
        CosmosContainerProperties got = c.read().getProperties();
        equal(got.getId(), "c");
        equal(got.getPartitionKeyDefinition().getPaths(), List.of("/pk"));
        equal(c.delete().getStatusCode(), 204);
        fails(404, c::read);
        fails(404, () -> t.client.getDatabase(t.name + "-none").createContainer(Scenario.properties("c", "/pk")));
    }

    private static void containerListing(Scenario t) {
        List.of("x", "y", "z").forEach(id -> t.container(p -> p.setId(id)));
        wantNames(names(t.database().readAllContainers()), List.of("x", "y", "z"));
        wantNames(names(t.database().queryContainers(byId("y"))), List.of("y"));
    }

    private static List<String> names(CosmosPagedIterable<CosmosContainerProperties> containers) {
        return containers.stream().map(CosmosContainerProperties::getId).toList();
    }

    private static void containerReplace(Scenario t) {
        CosmosContainer c = t.container();
        CosmosContainerProperties was = c.read().getProperties();
        String rid = was.getResourceId();
        was.setDefaultTimeToLiveInSeconds(100).setIndexingPolicy(excluding("/big/*"));
        equal(c.replace(was).getStatusCode(), 200);
        CosmosContainerProperties now = c.read().getProperties();
        equal(now.getDefaultTimeToLiveInSeconds(), 100);
        yes(excluded(now).contains("/big/*"), excluded(now));
        equal(now.getResourceId(), rid);
        now.setPartitionKeyDefinition(Scenario.properties("c", "/other").getPartitionKeyDefinition());
        fails(400, () -> c.replace(now));
    }

    private static IndexingPolicy excluding(String... paths) {
        return Scenario.indexing().setExcludedPaths(Arrays.stream(paths).map(ExcludedPath::new).toList());
    }

    private static List<String> excluded(CosmosContainerProperties p) {
        return p.getIndexingPolicy().getExcludedPaths().stream().map(ExcludedPath::getPath).toList();
    }

    private static void containerQuota(Scenario t) {
        CosmosContainer c = t.container();
        List.of("1", "2", "3").forEach(id -> c.createItem(json("{id:'%s', pk:'%s'}", id, id)));
        var got = c.read(new CosmosContainerRequestOptions().setQuotaInfoEnabled(true));
        matches(got.getMaxResourceQuota(), "collectionSize=\\d+");
        matches(got.getCurrentResourceQuotaUsage(), "documentsCount=3;");
    }

    private static void indexingPolicy(Scenario t) {
        CosmosContainer c = t.container(p -> p.setIndexingPolicy(excluding("/big/*")
            .setCompositeIndexes(List.of(List.of(
                new CompositePath().setPath("/g").setOrder(CompositePathSortOrder.ASCENDING),
                new CompositePath().setPath("/n").setOrder(CompositePathSortOrder.DESCENDING))))
            .setSpatialIndexes(List.of(new SpatialSpec().setPath("/at/*").setSpatialTypes(Arrays.asList(SpatialType.values()))))));
        CosmosContainerProperties properties = c.read().getProperties();
        IndexingPolicy got = properties.getIndexingPolicy();
        equal(got.getIndexingMode(), IndexingMode.CONSISTENT);
        equal(got.getIncludedPaths().stream().map(IncludedPath::getPath).toList(), List.of("/*"));
        equal(excluded(properties), List.of("/big/*", "/\"_etag\"/?"));
        equal(got.getCompositeIndexes().size(), 1);
        equal(got.getCompositeIndexes().get(0).stream().map(p -> p.getPath() + " " + p.getOrder()).toList(), List.of("/g ascending", "/n descending"));
        equal(got.getSpatialIndexes().get(0).getPath(), "/at/*");
        equal(Set.copyOf(got.getSpatialIndexes().get(0).getSpatialTypes()), Set.of(SpatialType.values()));
    }

    private static void indexingNone(Scenario t) {
        CosmosContainer c = t.twenty(p -> p.setIndexingPolicy(new IndexingPolicy().setIndexingMode(IndexingMode.NONE).setAutomatic(false)));
        IndexingPolicy got = c.read().getProperties().getIndexingPolicy();
        equal(got.getIndexingMode(), IndexingMode.NONE);
        equal(got.isAutomatic(), false);
        wantIds(rows(c, "SELECT * FROM c WHERE c.n > 17", across()), Scenario.ids(18, 20));
    }

    private static void indexingChange(Scenario t) {
        CosmosContainer c = t.twenty();
        String text = "SELECT * FROM c WHERE c.g = 'g1'";
        List<String> want = List.of("i01", "i04", "i07", "i10", "i13", "i16", "i19");
        wantIds(rows(c, text, across()), want);
        for (IndexingPolicy policy : List.of(excluding("/g/?"), excluding())) {
            c.replace(c.read().getProperties().setIndexingPolicy(policy));
            wantIds(rows(c, text, across()), want);
        }
    }

    private static void uniqueKeys(Scenario t) {
        CosmosContainer c = t.container(p -> p.setUniqueKeyPolicy(
            new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/name", "/o/x"))))));
        equal(c.read().getProperties().getUniqueKeyPolicy().getUniqueKeys().get(0).getPaths(), List.of("/name", "/o/x"));
        c.createItem(person("1", "a", "ada"));
        c.createItem(person("2", "a", "bob"));
        fails(409, () -> c.createItem(person("3", "a", "ada")));
        fails(409, () -> c.upsertItem(person("3", "a", "ada")));
        fails(409, () -> replace(c, person("2", "a", "ada"), "a"));
        equal(replace(c, with(person("1", "a", "ada"), "more", 1), "a").getStatusCode(), 200);
        equal(c.createItem(person("3", "b", "ada")).getStatusCode(), 201);
        delete(c, "1", "a");
        equal(c.createItem(person("4", "a", "ada")).getStatusCode(), 201);
    }

    private static ObjectNode person(String id, String pk, String name) {
        return json("{id:'%s', pk:'%s', name:'%s', o:{x:1}}", id, pk, name);
    }

    private static void computedProperties(Scenario t) {
        ComputedProperty twice = new ComputedProperty("double", "SELECT VALUE c.n * 2 FROM c");
        // the wildcard leaves computed properties out
        IndexingPolicy policy = Scenario.indexing().setIncludedPaths(List.of(new IncludedPath("/*"), new IncludedPath("/double/?")));
        CosmosContainer c = t.twenty(p -> p.setComputedProperties(List.of(twice)).setIndexingPolicy(policy));
        ComputedProperty got = c.read().getProperties().getComputedProperties().iterator().next();
        equal(got.getName(), twice.getName());
        equal(got.getQuery(), twice.getQuery());
        wantRows(c, "SELECT VALUE c.double FROM c WHERE c.double > 30 ORDER BY c.n", in("p3"), "[36]");
        wantRows(c, "SELECT VALUE c.id FROM c WHERE c.double = 14", across(), "['i07']");
        wantRows(c, "SELECT VALUE c.n FROM c ORDER BY c.double DESC", in("p0"), "[15, 10, 5, 0]");
        JsonNode row = rows(c, "SELECT * FROM c", across()).get(0);
        yes(!row.has("double"), row);
    }

    private static void conflictFeed(Scenario t) {
        t.container();
        var c = t.asyncDatabase().getContainer("c");
        equal(c.readAllConflicts(new CosmosQueryRequestOptions()).collectList().block(), List.of());
        equal(c.queryConflicts("SELECT * FROM c").collectList().block(), List.of());
    }

    private static void throughputManual(Scenario t) {
        t.database().createContainer(Scenario.properties("c", "/pk"), ThroughputProperties.createManualThroughput(600));
        CosmosContainer c = t.database().getContainer("c");
        equal(c.readThroughput().getProperties().getManualThroughput(), 600);
        equal(c.replaceThroughput(ThroughputProperties.createManualThroughput(1000)).getStatusCode(), 200);
        equal(c.readThroughput().getProperties().getManualThroughput(), 1000);
    }

    private static void throughputAutoscale(Scenario t) {
        t.database().createContainer(Scenario.properties("c", "/pk"), ThroughputProperties.createAutoscaledThroughput(4000));
        CosmosContainer c = t.database().getContainer("c");
        equal(c.readThroughput().getProperties().getAutoscaleMaxThroughput(), 4000);
        equal(c.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(8000)).getStatusCode(), 200);
        equal(c.readThroughput().getProperties().getAutoscaleMaxThroughput(), 8000);
    }

    private static void throughputDatabase(Scenario t) {
        CosmosDatabase db = t.database(ThroughputProperties.createManualThroughput(800));
        equal(db.readThroughput().getProperties().getManualThroughput(), 800);
        CosmosContainer c = t.container();
        fails(NO_OFFER, c::readThroughput);
    }

    private static void throughputDefault(Scenario t) {
        equal(t.container().readThroughput().getProperties().getManualThroughput(), 400);
        fails(NO_OFFER, t.database()::readThroughput);
    }

    private static final int NO_OFFER = 400; // the SDK's own, where it finds no offer

    private static void feedRangeList(Scenario t) throws Exception {
        String edge = "";
        var ranges = t.container().getFeedRanges();
        equal(ranges.size(), t.ranges);
        for (var r : ranges) {
            JsonNode range = Want.parse(new String(Base64.getDecoder().decode(r.toString()))).get("Range");
            equal(range.get("min").asText(), edge);
            edge = range.get("max").asText();
        }
        equal(edge, "FF");
    }
}
