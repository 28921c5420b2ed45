package scenarios;

import static scenarios.Run.without;
import static scenarios.Want.equal;
import static scenarios.Want.flat;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.pages;
import static scenarios.Want.query;
import static scenarios.Want.sizes;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantOrder;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Pages and continuations, and many items at once. */
final class Paging {
    private Paging() {}

    static void add(Map<String, Run.Body> every) {
        every.put("paging-partition", Paging::partition);
        every.put("paging-cross", Paging::cross);
        every.put("paging-ordered", Paging::ordered);
        every.put("paging-all", without("no read feed over all keys"));
        every.put("read-many", Paging::readMany);
    }

    /** Reads each page of three with an iterator of its own, which takes up the continuation of the one before. */
    private static List<List<JsonNode>> oneByOne(CosmosContainer c, String text, Supplier<CosmosQueryRequestOptions> options) {
        List<List<JsonNode>> all = new ArrayList<>();
        String continuation = null;
        do {
            FeedResponse<JsonNode> page = query(c, text, options.get()).iterableByPage(continuation, 3).iterator().next();
            all.add(page.getResults());
            continuation = page.getContinuationToken();
        } while (continuation != null);
        return all;
    }

    private static void partition(Scenario t) {
        CosmosContainer c = t.container();
        List<String> names = List.of("0123456789".split(""));
        names.forEach(id -> c.createItem(json("{id:'%s', pk:'a'}", id)));
        List<List<JsonNode>> got = oneByOne(c, "SELECT * FROM c", () -> in("a"));
        equal(sizes(got), List.of(3, 3, 3, 1));
        wantOrder(flat(got), names);
        equal(sizes(pages(query(c, "SELECT * FROM c", in("a")).iterableByPage(3))), List.of(3, 3, 3, 1));
    }

    private static void cross(Scenario t) {
        List<List<JsonNode>> got = oneByOne(t.twenty(), "SELECT * FROM c", Want::across);
        yes(got.stream().allMatch(page -> page.size() <= 3), sizes(got));
        wantIds(flat(got), Scenario.EVERYTHING);
    }

    private static void ordered(Scenario t) {
        List<List<JsonNode>> got = oneByOne(t.twenty(), "SELECT * FROM c ORDER BY c.g DESC", Want::across);
        yes(got.stream().allMatch(page -> page.size() <= 3), sizes(got));
        wantIds(flat(got), Scenario.EVERYTHING);
        List<String> groups = flat(got).stream().map(i -> i.get("g").asText()).toList();
        equal(groups, groups.stream().sorted(Comparator.reverseOrder()).toList());
    }

    private static void readMany(Scenario t) {
        CosmosContainer c = t.twenty();
        List<CosmosItemIdentity> wanted = new ArrayList<>(Scenario.theTwenty().subList(0, 11).stream()
            .map(i -> new CosmosItemIdentity(key(i.get("pk").asText()), i.get("id").asText())).toList());
        wanted.add(new CosmosItemIdentity(key("p1"), "none"));
        wantIds(c.readMany(wanted, JsonNode.class).getResults(), Scenario.ids(0, 11));
    }
}
