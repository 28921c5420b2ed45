package scenarios;

import static scenarios.Want.absent;
import static scenarios.Want.delete;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.flat;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.matches;
import static scenarios.Want.pages;
import static scenarios.Want.query;
import static scenarios.Want.read;
import static scenarios.Want.replace;
import static scenarios.Want.rows;
import static scenarios.Want.sizes;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantOrder;
import static scenarios.Want.wantRows;
import static scenarios.Want.with;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Time to live, to the second, by the server's virtual clock. */
final class Ttl {
    private Ttl() {}

    static void add(Map<String, Run.Body> every) {
        every.put("ttl-default", Ttl::byDefault);
        every.put("ttl-item", Ttl::byItem);
        every.put("ttl-on", Ttl::on);
        every.put("ttl-off", Ttl::off);
        every.put("ttl-invalid", Ttl::invalid);
        every.put("ttl-write-restarts", Ttl::writeRestarts);
        every.put("ttl-again", Ttl::again);
        every.put("ttl-patch", Ttl::patch);
        every.put("ttl-batch", Ttl::batch);
        every.put("ttl-default-changes", Ttl::defaultChanges);
        every.put("ttl-counts", Ttl::counts);
        every.put("ttl-unique-key", Ttl::uniqueKey);
    }

    private static CosmosContainer mortal(Scenario t, int defaultTtl) {
        return t.container(p -> p.setDefaultTimeToLiveInSeconds(defaultTtl));
    }

    private static ObjectNode item(String id) {
        return json("{id:'%s', pk:'a'}", id);
    }

    private static ObjectNode item(String id, int ttl) {
        return json("{id:'%s', pk:'a', ttl:%d}", id, ttl);
    }

    /** Wants exactly these ids to be there: by query and, of all that the container has had, by read. */
    private static void alive(CosmosContainer c, List<String> all, List<String> want) {
        wantIds(rows(c, "SELECT * FROM c", in("a")), want);
        for (String id : all) {
            if (want.contains(id)) {
                equal(read(c, id, "a").get("id").asText(), id);
            } else {
                absent(c, id, "a");
            }
        }
    }

    private static void byDefault(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, 10);
        equal(c.read().getProperties().getDefaultTimeToLiveInSeconds(), 10);
        yes(!c.createItem(item("1")).getItem().has("ttl"), "no ttl of its own");
        t.advance(9);
        alive(c, List.of("1"), List.of("1"));
        t.advance(1);
        alive(c, List.of("1"), List.of());
    }

    private static void byItem(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, 10);
        List<String> all = List.of("short", "long", "never");
        c.createItem(item("short", 5));
        c.createItem(item("long", 20));
        c.createItem(item("never", -1));
        t.advance(4);
        alive(c, all, all);
        t.advance(1);
        alive(c, all, List.of("long", "never"));
        t.advance(14);
        alive(c, all, List.of("long", "never"));
        t.advance(1);
        alive(c, all, List.of("never"));
        t.advance(1_000_000);
        alive(c, all, List.of("never"));
    }

    private static void on(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, -1);
        List<String> all = List.of("plain", "own");
        c.createItem(item("plain"));
        c.createItem(item("own", 5));
        t.advance(5);
        alive(c, all, List.of("plain"));
        t.advance(1_000_000);
        alive(c, all, List.of("plain"));
    }

    private static void off(Scenario t) throws Exception {
        CosmosContainer c = t.container();
        equal(c.createItem(item("own", 5)).getItem().get("ttl").asInt(), 5);
        t.advance(1000);
        alive(c, List.of("own"), List.of("own"));
        equal(read(c, "own", "a").get("ttl").asInt(), 5);
    }

    private static void invalid(Scenario t) {
        fails(400, () -> mortal(t, 0));
        fails(400, () -> mortal(t, -10));
        CosmosContainer c = mortal(t, -1);
        c.createItem(item("there", 5));
        for (Object ttl : Arrays.asList(0, -2, 1.5, "10", null, 1L << 31)) {
            ObjectNode there = with(item("there"), "ttl", ttl);
            matches(fails(400, () -> c.createItem(with(item("new"), "ttl", ttl))).getMessage(), "The input ttl");
            fails(400, () -> c.upsertItem(there));
            fails(400, () -> replace(c, there, "a"));
            fails(400, () -> patch(c, "there", CosmosPatchOperations.create().set("/ttl", ttl)));
        }
        alive(c, List.of("there", "new"), List.of("there"));
        equal(read(c, "there", "a").get("ttl").asInt(), 5);
    }

    private static void patch(CosmosContainer c, String id, CosmosPatchOperations operations) {
        c.patchItem(id, key("a"), operations, ObjectNode.class);
    }

    private static void writeRestarts(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, 10);
        List<String> all = List.of("left", "read", "replaced", "upserted", "patched");
        all.forEach(id -> c.createItem(item(id)));
        t.advance(9);
        read(c, "read", "a");
        replace(c, item("replaced"), "a");
        c.upsertItem(item("upserted"));
        patch(c, "patched", CosmosPatchOperations.create().set("/v", 1));
        t.advance(1);
        alive(c, all, List.of("replaced", "upserted", "patched"));
        t.advance(9);
        alive(c, all, List.of());
    }

    private static void again(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, 10);
        List<String> all = List.of("1", "2");
        all.forEach(id -> c.createItem(item(id)));
        t.advance(10);
        fails(404, () -> replace(c, item("1"), "a"));
        fails(404, () -> patch(c, "1", CosmosPatchOperations.create().set("/v", 1)));
        fails(404, () -> delete(c, "1", "a"));
        equal(c.createItem(item("1")).getStatusCode(), 201);
        equal(c.upsertItem(item("2")).getStatusCode(), 201);
        alive(c, all, all);
    }

    private static void patch(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, 10);
        List<String> all = List.of("plain", "shorter", "longer");
        all.forEach(id -> c.createItem(item(id)));
        patch(c, "shorter", CosmosPatchOperations.create().set("/ttl", 5));
        patch(c, "longer", CosmosPatchOperations.create().add("/ttl", 20));
        t.advance(5);
        alive(c, all, List.of("plain", "longer"));
        t.advance(5);
        alive(c, all, List.of("longer"));
        t.advance(9);
        alive(c, all, List.of("longer"));
        t.advance(1);
        alive(c, all, List.of());
    }

    private static void batch(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, 10);
        List<String> all = List.of("1", "2", "3");
        CosmosBatch making = CosmosBatch.createCosmosBatch(key("a"));
        List.of(item("1"), item("2", 5), item("3", 20)).forEach(making::createItemOperation);
        equal(c.executeCosmosBatch(making).getStatusCode(), 200);
        t.advance(5);
        alive(c, all, List.of("1", "3"));
        CosmosBatch reading = CosmosBatch.createCosmosBatch(key("a"));
        reading.readItemOperation("2");
        reading.readItemOperation("1");
        equal(Batches.statuses(c.executeCosmosBatch(reading)), List.of(404, 424));
        t.advance(5);
        alive(c, all, List.of("3"));
    }

    private static void setDefault(CosmosContainer c, Integer defaultTtl) {
        c.replace(c.read().getProperties().setDefaultTimeToLiveInSeconds(defaultTtl));
    }

    private static void defaultChanges(Scenario t) throws Exception {
        CosmosContainer c = t.container();
        List<String> all = List.of("old", "own", "new");
        c.createItem(item("old"));
        c.createItem(item("own", 100));
        t.advance(20);
        c.createItem(item("new"));
        setDefault(c, 10);
        alive(c, all, List.of("own", "new"));
        t.advance(9);
        setDefault(c, null);
        equal(c.read().getProperties().getDefaultTimeToLiveInSeconds(), null);
        t.advance(1000);
        alive(c, all, List.of("own", "new"));
        setDefault(c, -1);
        alive(c, all, List.of("new"));
        setDefault(c, null);
        alive(c, all, List.of("new"));
    }

    private static void counts(Scenario t) throws Exception {
        CosmosContainer c = mortal(t, -1);
        for (int i = 0; i < 10; i++) {
            c.createItem(i % 2 == 1 ? item("" + i, 5) : item("" + i));
        }
        t.advance(5);
        wantRows(c, "SELECT VALUE COUNT(1) FROM c", in("a"), "[5]");
        List<List<JsonNode>> got = pages(query(c, "SELECT * FROM c", in("a")).iterableByPage(2));
        wantOrder(flat(got), List.of("0", "2", "4", "6", "8"));
        yes(got.stream().allMatch(page -> page.size() <= 2), sizes(got));
    }

    private static void uniqueKey(Scenario t) throws Exception {
        CosmosContainer c = t.container(p -> p.setDefaultTimeToLiveInSeconds(-1)
            .setUniqueKeyPolicy(new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/name"))))));
        c.createItem(with(item("1", 5), "name", "ada"));
        t.advance(4);
        fails(409, () -> c.createItem(with(item("2"), "name", "ada")));
        t.advance(1);
        equal(c.createItem(with(item("2"), "name", "ada")).getStatusCode(), 201);
    }
}
