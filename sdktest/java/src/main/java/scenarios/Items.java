package scenarios;

import static scenarios.Want.absent;
import static scenarios.Want.delete;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.ifMatch;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.read;
import static scenarios.Want.replace;
import static scenarios.Want.rows;
import static scenarios.Want.user;
import static scenarios.Want.wantRows;
import static scenarios.Want.with;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;

/** Single documents. */
final class Items {
    private Items() {}

    static void add(Map<String, Run.Body> every) {
        every.put("item-create", Items::create);
        every.put("item-create-again", Items::createAgain);
        every.put("item-read-absent", t -> absent(t.container(), "none", "a"));
        every.put("item-read-unchanged", Items::readUnchanged);
        every.put("item-replace", Items::replaces);
        every.put("item-replace-stale", Items::replaceStale);
        every.put("item-upsert", Items::upsert);
        every.put("item-delete", Items::deletes);
        every.put("item-no-content", Items::noContent);
        every.put("item-ids", Items::manyIds);
        every.put("item-values", Items::values);
        every.put("item-too-large", Items::tooLarge);
        every.put("item-wrong-partition", Items::wrongPartition);
        every.put("item-same-id", Items::sameId);
    }

    private static final String ONE = "{id:'1', pk:'a'}";

    private static ObjectNode one(int v) {
        return json("{id:'1', pk:'a', v:%d}", v);
    }

    private static void create(Scenario t) {
        CosmosContainer c = t.container();
        String sent = "{id:'1', pk:'a', v:1, o:{a:[1, null, true]}}";
        CosmosItemResponse<ObjectNode> made = c.createItem(json(sent));
        equal(made.getStatusCode(), 201);
        equal(user(made.getItem()), sent);
        for (String name : List.of("_rid", "_self", "_etag", "_attachments")) {
            yes(made.getItem().path(name).isTextual(), name);
        }
        yes(made.getItem().path("_ts").isIntegralNumber(), "_ts");
        equal(read(c, "1", "a"), made.getItem().toString());
    }

    private static void createAgain(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json(ONE));
        fails(409, () -> c.createItem(one(2)));
        equal(user(read(c, "1", "a")), ONE);
    }

    private static void readUnchanged(Scenario t) {
        CosmosContainer c = t.container();
        String etag = c.createItem(json(ONE)).getETag();
        CosmosItemRequestOptions unless = new CosmosItemRequestOptions().setIfNoneMatchETag(etag);
        equal(c.readItem("1", key("a"), unless, ObjectNode.class).getStatusCode(), 304);
        replace(c, one(2), "a");
        CosmosItemResponse<ObjectNode> now = c.readItem("1", key("a"), unless, ObjectNode.class);
        equal(now.getStatusCode(), 200);
        equal(now.getItem().get("v").asInt(), 2);
    }

    private static void replaces(Scenario t) {
        CosmosContainer c = t.container();
        ObjectNode was = c.createItem(json(ONE)).getItem();
        CosmosItemResponse<ObjectNode> now = replace(c, one(2), "a");
        equal(now.getStatusCode(), 200);
        equal(user(now.getItem()), "{id:'1', pk:'a', v:2}");
        equal(now.getItem().get("_rid"), was.get("_rid"));
        yes(!now.getItem().get("_etag").equals(was.get("_etag")), "another etag");
        fails(404, () -> replace(c, json("{id:'none', pk:'a'}"), "a"));
    }

    private static void replaceStale(Scenario t) {
        CosmosContainer c = t.container();
        CosmosItemRequestOptions stale = ifMatch(c.createItem(one(1)).getETag());
        ObjectNode second = replace(c, one(2), "a", stale).getItem();
        fails(412, () -> replace(c, one(3), "a", stale));
        fails(412, () -> c.upsertItem(one(3), stale));
        fails(412, () -> c.deleteItem("1", key("a"), stale));
        equal(read(c, "1", "a"), second.toString());
        equal(c.deleteItem("1", key("a"), ifMatch(second.get("_etag").asText())).getStatusCode(), 204);
    }

    private static void upsert(Scenario t) {
        CosmosContainer c = t.container();
        equal(c.upsertItem(one(1)).getStatusCode(), 201);
        CosmosItemResponse<ObjectNode> again = c.upsertItem(one(2));
        equal(again.getStatusCode(), 200);
        equal(user(again.getItem()), "{id:'1', pk:'a', v:2}");
    }

    private static void deletes(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json(ONE));
        equal(delete(c, "1", "a"), 204);
        absent(c, "1", "a");
        fails(404, () -> delete(c, "1", "a"));
    }

    private static void noContent(Scenario t) {
        CosmosContainer c = t.container();
        CosmosItemRequestOptions quiet = new CosmosItemRequestOptions().setContentResponseOnWriteEnabled(false);
        CosmosPatchItemRequestOptions quietPatch = new CosmosPatchItemRequestOptions();
        quietPatch.setContentResponseOnWriteEnabled(false);
        for (CosmosItemResponse<?> r : List.of(
            c.createItem(json(ONE), quiet),
            c.upsertItem(one(1), quiet),
            replace(c, one(2), "a", quiet),
            c.patchItem("1", key("a"), CosmosPatchOperations.create().set("/v", 3), quietPatch, ObjectNode.class))) {
            equal(r.getItem(), null);
            yes(r.getETag() != null, "an etag");
        }
        equal(read(c, "1", "a").get("v").asInt(), 3);
    }

    private static void manyIds(Scenario t) {
        CosmosContainer c = t.container();
        List<String> names = List.of("a b", " leading", "trailing ", "a?b", "100%", "a%20b", "a+b", "\"quoted\"", ";:@&=$,!*'()",
            "äöüß", "文档", "😀", "a.b", "[0]", "a".repeat(255));
        for (String id : names) {
            ObjectNode sent = with(json("{pk:'a'}"), "id", id);
            equal(c.createItem(sent).getItem().get("id").asText(), id);
            equal(read(c, id, "a").get("id").asText(), id);
            equal(replace(c, with(sent, "v", 1), "a").getItem().get("v").asInt(), 1);
        }
        equal(rows(c, "SELECT * FROM c", in("a")).size(), names.size());
        names.forEach(id -> equal(delete(c, id, "a"), 204));
    }

    private static void values(Scenario t) {
        CosmosContainer c = t.container();
        String deep = "{d:".repeat(100) + "'end'" + "}".repeat(100);
        String sent = """
            {id:'1', pk:'a', numbers:[0, -1, 9007199254740992, 0.1, 1.5e-7, 1e300, -123456.789],
             texts:['', 'ä€😀', 'quote \\" back \\\\ slash / line \\n tab \\t null \\u0001', '\\u2028'],
             empty:{object:{}, array:[], nested:[[], [{}]]}, deep:%s,
             'name with blank':1, 'name.with.dots':2, '':3, literals:[true, false, null]}""".formatted(deep);
        c.createItem(json(sent));
        equal(user(read(c, "1", "a")), sent);
        equal(user(rows(c, "SELECT * FROM c", in("a")).get(0)), sent);
        wantRows(c, "SELECT VALUE c[\"name.with.dots\"] FROM c", in("a"), "[2]");
    }

    private static void tooLarge(Scenario t) {
        CosmosContainer c = t.container();
        fails(413, () -> c.createItem(with(json(ONE), "v", "x".repeat(2 * 1024 * 1024))));
        absent(c, "1", "a");
        equal(c.createItem(with(json(ONE), "v", "x".repeat(1900 * 1024))).getStatusCode(), 201);
    }

    private static void wrongPartition(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json(ONE));
        fails(400, () -> replace(c, json("{id:'1', pk:'b'}"), "a"));
        equal(read(c, "1", "a").get("pk").asText(), "a");
    }

    private static void sameId(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json("{id:'1', pk:'a', v:1}"));
        c.createItem(json("{id:'1', pk:'b', v:2}"));
        delete(c, "1", "a");
        equal(read(c, "1", "b").get("v").asInt(), 2);
    }
}
