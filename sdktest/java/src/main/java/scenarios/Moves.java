package scenarios;

import static scenarios.Want.across;
import static scenarios.Want.equal;
import static scenarios.Want.ifMatch;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.query;
import static scenarios.Want.read;
import static scenarios.Want.replace;
import static scenarios.Want.reversed;
import static scenarios.Want.rows;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantOrder;
import static scenarios.Want.wantRows;
import static scenarios.Want.with;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.util.CosmosPagedIterable;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** What a client does not notice: splits of ranges, other clients, restarts of the server. */
final class Moves {
    private Moves() {}

    static void add(Map<String, Run.Body> every) {
        every.put("split-items", Moves::splitItems);
        every.put("split-while-paging", Moves::splitWhilePaging);
        every.put("split-while-ordering", Moves::splitWhileOrdering);
        every.put("split-partition-paging", Moves::splitPartitionPaging);
        every.put("split-feed", Moves::splitFeed);
        every.put("split-aggregates", Moves::splitAggregates);
        every.put("split-batch", Moves::splitBatch);
        every.put("container-recreated", Moves::containerRecreated);
        every.put("session-other-client", Moves::sessionOtherClient);
        every.put("session-restart", t -> over(t, "stop"));
        every.put("session-kill", t -> over(t, "kill"));
        every.put("restart-paging", Moves::restartPaging);
        every.put("restart-feed", Moves::restartFeed);
    }

    private static void splitItems(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        wantIds(rows(c, "SELECT * FROM c WHERE c.n >= 0", across()), Scenario.EVERYTHING);
        t.split(c);
        for (ObjectNode item : Scenario.theTwenty()) {
            String pk = item.get("pk").asText();
            int n = item.get("n").asInt();
            equal(read(c, item.get("id").asText(), pk).get("n").asInt(), n);
            equal(replace(c, with(item, "n", n + 100), pk).getStatusCode(), 200);
        }
        IntStream.range(0, 10).forEach(i -> c.createItem(json("{id:'new%d', pk:'q%d', n:0}", i, i)));
        equal(rows(c, "SELECT * FROM c WHERE c.n >= 100", across()).size(), 20);
        equal(rows(c, "SELECT * FROM c", across()).size(), 30);
        equal(c.getFeedRanges().size(), t.ranges + 1);
    }

    /** Reads a page, splits the container's first range and reads on with the same iterator. */
    private static List<JsonNode> splitAfterFirstPage(Scenario t, CosmosContainer c, CosmosPagedIterable<JsonNode> found) throws Exception {
        Iterator<FeedResponse<JsonNode>> pages = found.iterableByPage(3).iterator();
        List<JsonNode> got = new ArrayList<>(pages.next().getResults());
        yes(got.size() <= 3, got.size());
        t.split(c);
        pages.forEachRemaining(page -> got.addAll(page.getResults()));
        return got;
    }

    private static void splitWhilePaging(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        wantIds(splitAfterFirstPage(t, c, query(c, "SELECT * FROM c", across())), Scenario.EVERYTHING);
    }

    private static void splitWhileOrdering(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        wantOrder(splitAfterFirstPage(t, c, query(c, "SELECT * FROM c ORDER BY c.n DESC", across())), reversed(Scenario.EVERYTHING));
    }

    private static void splitPartitionPaging(Scenario t) throws Exception {
        CosmosContainer c = t.container();
        List<String> names = List.of("0123456789".split(""));
        names.forEach(id -> c.createItem(json("{id:'%s', pk:'a'}", id)));
        IntStream.range(0, 20).forEach(i -> c.createItem(json("{id:'x', pk:'b%d'}", i)));
        wantOrder(splitAfterFirstPage(t, c, query(c, "SELECT * FROM c", in("a"))), names);
    }

    private static void splitFeed(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        Changes changes = Changes.fromBeginning(c).by(4);
        List<JsonNode> got = new ArrayList<>(changes.page());
        t.split(c);
        got.addAll(changes.drain());
        wantIds(got, Scenario.EVERYTHING);
        c.createItem(json("{id:'new', pk:'p0'}"));
        replace(c, with(Scenario.twentieth(1), "n", 100), "p1");
        wantIds(changes.drain(), List.of("new", "i01"));
    }

    /** The ways in which another client makes the container again, one after the other. */
    private static final List<String> RECREATIONS = List.of(
        "ranges=1", "ranges=2", "ranges=4", "ranges=1", "ranges=4&whole=true", "ranges=2&whole=true", "ranges=4", "ranges=1&whole=true");

    /** Something that the client that lives on does. */
    private interface Use {
        void run() throws Exception;
    }

    private static void containerRecreated(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        wantIds(rows(c, "SELECT * FROM c", across()), Scenario.EVERYTHING);
        for (int round = 0; round < RECREATIONS.size(); round++) {
            t.restart("recreate?database=" + t.name + "&round=" + round + "&" + RECREATIONS.get(round));
            List<String> want = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                want.add("r" + round + "-" + i);
            }
            List<Use> uses = List.of(
                () -> wantIds(rows(c, "SELECT * FROM c", across()), want),
                () -> wantOrder(rows(c, "SELECT * FROM c ORDER BY c.n", across()), want),
                () -> wantIds(Changes.fromBeginning(c).drain(), want),
                () -> {
                    for (int i = 0; i < want.size(); i++) {
                        JsonNode item = read(c, want.get(i), "k" + i);
                        equal(item.get("n").asInt(), i);
                        c.upsertItem(item);
                    }
                },
                () -> {
                    List<CosmosItemOperation> operations = new ArrayList<>();
                    for (int i = 0; i < want.size(); i++) {
                        operations.add(CosmosBulkOperations.getReadItemOperation(want.get(i), key("k" + i)));
                    }
                    c.executeBulkOperations(operations).forEach(one -> equal(one.getResponse().getStatusCode(), 200));
                });
            for (int i = 0; i < uses.size(); i++) {
                uses.get((i + round) % uses.size()).run();
            }
        }
    }

    private static void splitAggregates(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        equal(number(c, "SELECT VALUE SUM(c.n) FROM c"), 190);
        t.split(c);
        equal(number(c, "SELECT VALUE SUM(c.n) FROM c"), 190);
        equal(number(c, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 4"), 15);
    }

    private static int number(CosmosContainer c, String text) {
        List<JsonNode> got = rows(c, text, across());
        equal(got.size(), 1);
        return got.get(0).asInt();
    }

    private static void splitBatch(Scenario t) throws Exception {
        CosmosContainer c = t.container();
        bulkOfTwenty(c, "before");
        t.split(c);
        for (int i = 0; i < 20; i++) {
            CosmosBatch b = CosmosBatch.createCosmosBatch(key("p" + i));
            b.createItemOperation(json("{id:'batch', pk:'p%d'}", i));
            b.readItemOperation("before");
            equal(Batches.statuses(c.executeCosmosBatch(b)), List.of(201, 200));
        }
        bulkOfTwenty(c, "after");
        equal(rows(c, "SELECT * FROM c", across()).size(), 60);
    }

    private static void bulkOfTwenty(CosmosContainer c, String id) {
        List<CosmosItemOperation> operations = IntStream.range(0, 20)
            .mapToObj(i -> CosmosBulkOperations.getCreateItemOperation(json("{id:'%s', pk:'p%d'}", id, i), key("p" + i))).toList();
        List<Integer> got = Batches.bulkStatuses(Batches.bulk(c, operations));
        yes(got.stream().allMatch(s -> s != null && s == 201), got);
    }

    private static void sessionOtherClient(Scenario t) {
        CosmosContainer c = t.container();
        CosmosContainer other = t.connect().getDatabase(t.name).getContainer("c");
        for (int v = 0; v < 10; v++) {
            String token = c.upsertItem(json("{id:'1', pk:'a', v:%d}", v)).getSessionToken();
            var options = new CosmosItemRequestOptions().setSessionToken(token);
            equal(other.readItem("1", key("a"), options, ObjectNode.class).getItem().get("v").asInt(), v);
            wantRows(other, "SELECT VALUE c.v FROM c", in("a").setSessionToken(token), "[" + v + "]");
        }
    }

    /** Ends the server and goes on with the same client. */
    private static void over(Scenario t, String how) throws Exception {
        CosmosContainer c = t.twenty();
        ObjectNode written = replace(c, with(Scenario.twentieth(7), "n", 700), "p2").getItem();
        t.restart(how);
        equal(read(c, "i07", "p2"), written.toString());
        wantIds(rows(c, "SELECT * FROM c", across()), Scenario.EVERYTHING);
        String again = replace(c, with(Scenario.twentieth(7), "n", 701), "p2", ifMatch(written.get("_etag").asText())).getETag();
        equal(read(c, "i07", "p2").get("_etag").asText(), again);
        equal(c.createItem(json("{id:'new', pk:'p2'}")).getStatusCode(), 201);
    }

    private static void restartPaging(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        FeedResponse<JsonNode> page = query(c, "SELECT * FROM c", across()).iterableByPage(3).iterator().next();
        List<JsonNode> got = new ArrayList<>(page.getResults());
        yes(page.getContinuationToken() != null, "a continuation");
        t.restart("stop");
        query(c, "SELECT * FROM c", across()).iterableByPage(page.getContinuationToken(), 3).forEach(next -> got.addAll(next.getResults()));
        wantIds(got, Scenario.EVERYTHING);
    }

    private static void restartFeed(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        Changes changes = Changes.fromBeginning(c);
        wantIds(changes.drain(), Scenario.EVERYTHING);
        t.restart("kill");
        wantOrder(changes.drain(), List.of());
        c.createItem(json("{id:'new', pk:'p0'}"));
        wantIds(changes.drain(), List.of("new"));
    }
}
