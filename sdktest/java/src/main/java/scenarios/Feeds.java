package scenarios;

import static scenarios.Want.delete;
import static scenarios.Want.equal;
import static scenarios.Want.flat;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.matches;
import static scenarios.Want.replace;
import static scenarios.Want.sizes;
import static scenarios.Want.user;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantNames;
import static scenarios.Want.wantOrder;
import static scenarios.Want.with;
import static scenarios.Want.yes;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.FeedRange;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The change feed. */
final class Feeds {
    private Feeds() {}

    static void add(Map<String, Run.Body> every) {
        every.put("feed-beginning", Feeds::beginning);
        every.put("feed-now", Feeds::now);
        every.put("feed-time", Feeds::time);
        every.put("feed-partition", Feeds::partition);
        every.put("feed-by-range", Feeds::byRange);
        every.put("feed-page-size", Feeds::pageSize);
        every.put("feed-resume", Feeds::resume);
        every.put("feed-latest", Feeds::latest);
        every.put("feed-expired", Feeds::expired);
        every.put("feed-all-versions", Feeds::allVersions);
        every.put("feed-all-versions-expired", Feeds::allVersionsExpired);
        every.put("feed-all-versions-beginning", Feeds::allVersionsBeginning);
        every.put("feed-processor", Feeds::processor);
    }

    private static void beginning(Scenario t) {
        CosmosContainer c = t.twenty();
        Changes changes = Changes.fromBeginning(c);
        List<JsonNode> got = changes.drain();
        wantIds(got, Scenario.EVERYTHING);
        wantOrder(got.stream().filter(i -> i.get("pk").asText().equals("p2")).toList(), List.of("i02", "i07", "i12", "i17"));
        JsonNode seventh = got.stream().filter(i -> i.get("id").asText().equals("i07")).findFirst().orElseThrow();
        equal(user(seventh), Scenario.twentieth(7).toString());
        yes(got.stream().allMatch(i -> i.path("_lsn").isIntegralNumber()), "each has an LSN");
        wantOrder(changes.drain(), List.of());
        c.createItem(json("{id:'new', pk:'p3'}"));
        wantIds(changes.drain(), List.of("new"));
        wantOrder(changes.drain(), List.of());
    }

    private static void now(Scenario t) {
        CosmosContainer c = t.twenty();
        Changes changes = Changes.fromNow(c);
        wantOrder(changes.drain(), List.of());
        c.createItem(json("{id:'new', pk:'p3'}"));
        c.upsertItem(with(Scenario.twentieth(1), "n", 100));
        wantIds(changes.drain(), List.of("new", "i01"));
    }

    private static void time(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        t.advance(10);
        long mark = c.createItem(json("{id:'mark', pk:'p0'}")).getItem().get("_ts").asLong();
        t.advance(10);
        c.createItem(json("{id:'late', pk:'p1'}"));
        wantIds(since(c, mark + 5), List.of("late"));
        wantIds(since(c, mark - 5), List.of("mark", "late"));
    }

    private static List<JsonNode> since(CosmosContainer c, long seconds) {
        return new Changes(c, CosmosChangeFeedRequestOptions.createForProcessingFromPointInTime(
            Instant.ofEpochSecond(seconds), FeedRange.forFullRange())).drain();
    }

    private static void partition(Scenario t) {
        CosmosContainer c = t.twenty();
        Changes changes = Changes.fromBeginning(c, FeedRange.forLogicalPartition(key("p4")));
        wantOrder(changes.drain(), List.of("i04", "i09", "i14", "i19"));
        c.createItem(json("{id:'other', pk:'p3'}"));
        wantOrder(changes.drain(), List.of());
        c.createItem(json("{id:'own', pk:'p4'}"));
        wantIds(changes.drain(), List.of("own"));
    }

    private static void byRange(Scenario t) {
        CosmosContainer c = t.twenty();
        List<JsonNode> got = new ArrayList<>();
        c.getFeedRanges().forEach(r -> got.addAll(Changes.fromBeginning(c, r).drain()));
        wantIds(got, Scenario.EVERYTHING);
    }

    private static void pageSize(Scenario t) {
        List<List<JsonNode>> pages = Changes.fromBeginning(t.twenty()).by(4).pages();
        yes(pages.stream().allMatch(page -> page.size() <= 4), sizes(pages));
        yes(pages.size() >= 5, sizes(pages));
        wantIds(flat(pages), Scenario.EVERYTHING);
    }

    private static void resume(Scenario t) {
        Changes changes = Changes.fromBeginning(t.twenty()).by(4);
        List<JsonNode> got = new ArrayList<>(changes.page());
        yes(!got.isEmpty() && got.size() <= 4, got.size());
        CosmosContainer other = t.connect().getDatabase(t.name).getContainer("c");
        got.addAll(Changes.fromContinuation(other, changes.continuation).by(4).drain());
        wantIds(got, Scenario.EVERYTHING);
    }

    private static void latest(Scenario t) {
        CosmosContainer c = t.container();
        List.of("1", "2", "3").forEach(id -> c.createItem(json("{id:'%s', pk:'a', v:1}", id)));
        replace(c, json("{id:'1', pk:'a', v:2}"), "a");
        replace(c, json("{id:'1', pk:'a', v:3}"), "a");
        delete(c, "2", "a");
        Changes changes = Changes.fromBeginning(c);
        List<JsonNode> got = changes.drain();
        wantOrder(got, List.of("3", "1"));
        equal(got.get(1).get("v").asInt(), 3);
        delete(c, "3", "a");
        wantOrder(changes.drain(), List.of());
    }

    private static void expired(Scenario t) throws Exception {
        CosmosContainer c = t.container(p -> p.setDefaultTimeToLiveInSeconds(-1));
        c.createItem(json("{id:'mortal', pk:'a', ttl:5}"));
        c.createItem(json("{id:'lasting', pk:'a'}"));
        t.advance(5);
        wantOrder(Changes.fromBeginning(c).drain(), List.of("lasting"));
    }

    private static void versions(CosmosContainerProperties p) {
        p.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
    }

    private static Changes versionsFromNow(CosmosContainer c) {
        return new Changes(c, CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange()).allVersionsAndDeletes());
    }

    private static List<String> kinds(List<JsonNode> changes) {
        return changes.stream().map(e -> e.at("/metadata/operationType").asText()).toList();
    }

    private static void allVersions(Scenario t) {
        CosmosContainer c = t.container(Feeds::versions);
        Changes changes = versionsFromNow(c);
        equal(changes.drain().size(), 0);
        c.createItem(json("{id:'1', pk:'a', v:1}"));
        replace(c, json("{id:'1', pk:'a', v:2}"), "a");
        delete(c, "1", "a");
        List<JsonNode> got = changes.drain();
        equal(kinds(got), List.of("create", "replace", "delete"));
        equal(got.get(0).at("/current/v").asInt(), 1);
        equal(got.get(1).at("/current/v").asInt(), 2);
        equal(got.get(2).at("/previous/v").asInt(2), 2);
        yes(got.stream().allMatch(e -> e.at("/metadata/lsn").isIntegralNumber() && e.at("/metadata/crts").isIntegralNumber()), got);
    }

    private static void allVersionsExpired(Scenario t) throws Exception {
        CosmosContainer c = t.container(p -> {
            versions(p);
            p.setDefaultTimeToLiveInSeconds(5);
        });
        Changes changes = versionsFromNow(c);
        equal(changes.drain().size(), 0);
        c.createItem(json("{id:'1', pk:'a'}"));
        t.advance(5);
        c.createItem(json("{id:'1', pk:'a', v:2}")); // the ghost in the way is purged first
        List<JsonNode> got = changes.drain();
        equal(kinds(got), List.of("create", "delete", "create"));
        yes(got.get(1).at("/metadata/timeToLiveExpired").asBoolean(), got.get(1));
    }

    private static void allVersionsBeginning(Scenario t) {
        CosmosContainer c = t.container(Feeds::versions);
        String refused = "";
        try {
            new Changes(c, CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forFullRange()).allVersionsAndDeletes()).drain();
        } catch (RuntimeException e) {
            refused = String.valueOf(e.getMessage());
        }
        matches(refused, "(?i)retention|beginning|not supported");
    }

    private static void processor(Scenario t) throws Exception {
        CosmosContainer c = t.twenty();
        t.container(p -> p.setId("leases").setPartitionKeyDefinition(Scenario.properties("leases", "/id").getPartitionKeyDefinition()));
        var handed = new LinkedBlockingQueue<String>();
        ChangeFeedProcessor processor = new ChangeFeedProcessorBuilder()
            .hostName("host")
            .feedContainer(t.asyncDatabase().getContainer("c"))
            .leaseContainer(t.asyncDatabase().getContainer("leases"))
            .options(new ChangeFeedProcessorOptions()
                .setStartFromBeginning(true)
                .setFeedPollDelay(Duration.ofMillis(20))
                .setLeaseAcquireInterval(Duration.ofMillis(50)))
            .handleLatestVersionChanges(items -> items.forEach(i -> handed.add(i.getCurrent().get("id").asText())))
            .buildChangeFeedProcessor();
        processor.start().block();
        try {
            wantNames(take(handed, 20), Scenario.EVERYTHING);
            c.createItem(json("{id:'new', pk:'p3'}"));
            wantNames(take(handed, 1), List.of("new"));
        } finally {
            processor.stop().block();
        }
    }

    /** Waits for that many ids. */
    private static List<String> take(LinkedBlockingQueue<String> from, int n) throws InterruptedException {
        List<String> got = new ArrayList<>();
        while (got.size() < n) {
            String id = from.poll(20, TimeUnit.SECONDS);
            yes(id != null, "nothing more was handed on after " + got);
            got.add(id);
        }
        return got;
    }
}
