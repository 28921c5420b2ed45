package scenarios;

import static scenarios.Want.absent;
import static scenarios.Want.across;
import static scenarios.Want.delete;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.read;
import static scenarios.Want.replace;
import static scenarios.Want.rows;
import static scenarios.Want.user;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantRows;
import static scenarios.Want.with;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Partition keys of every kind. */
final class Keys {
    private Keys() {}

    static void add(Map<String, Run.Body> every) {
        every.put("key-string", lives("", "a", "ä€😀"));
        every.put("key-number", lives(0, -1.5, 1e21, 9007199254740992L));
        every.put("key-bool", lives(true, false));
        every.put("key-null", lives((Object) null));
        every.put("key-none", Keys::none);
        every.put("key-kinds-apart", Keys::kindsApart);
        every.put("key-long", Keys::longKeys);
        every.put("key-nested", t -> life(
            t.container(p -> p.setPartitionKeyDefinition(Scenario.properties("c", "/a/b").getPartitionKeyDefinition())),
            key("x"), json("{id:'1', a:{b:'x', c:1}}")));
        every.put("key-hierarchical", Keys::hierarchical);
        every.put("key-hierarchical-query", Keys::hierarchicalQuery);
        every.put("key-hierarchical-partial", t -> {
            CosmosContainer c = atlas(t);
            fails(400, () -> read(c, "de-berlin-a-1", levels("de", "berlin")));
        });
        every.put("key-hierarchical-feed", t -> {
            if (t.direct) {
                throw new Run.NoApi("the SDK itself asks for a whole key there");
            }
            FeedRange germany = FeedRange.forLogicalPartition(levels("de"));
            wantIds(Changes.fromBeginning(atlas(t), germany).drain(), under("de"));
        });
        every.put("partition-delete", Keys::partitionDelete);
    }

    /** Takes one document through its life under a partition key; sent has its id "1". */
    private static void life(CosmosContainer c, PartitionKey key, ObjectNode sent) {
        life(c, key, sent, "SELECT * FROM c");
    }

    private static void life(CosmosContainer c, PartitionKey key, ObjectNode sent, String text) {
        equal(c.createItem(sent, key, null).getStatusCode(), 201);
        equal(user(read(c, "1", key)), sent.toString());
        equal(rows(c, text, in(key)).stream().map(i -> (Object) Want.parse(user(i).toString())).toList(),
            List.of(Want.parse(sent.toString())));
        equal(replace(c, with(sent, "v", 2), key).getItem().get("v").asInt(), 2);
        equal(delete(c, "1", key), 204);
    }

    private static Run.Body lives(Object... values) {
        return t -> {
            CosmosContainer c = t.container();
            for (Object pk : values) {
                life(c, key(pk), with(json("{id:'1'}"), "pk", pk));
            }
        };
    }

    private static void none(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json("{id:'2', pk:null}"));
        // the SDK sends a query of this key across
        life(c, PartitionKey.NONE, json("{id:'1'}"), "SELECT * FROM c WHERE NOT IS_DEFINED(c.pk)");
    }

    private static void kindsApart(Scenario t) {
        CosmosContainer c = t.container();
        List<Object> kinds = Arrays.asList("1", 1, true, "true", null, "");
        for (int v = 0; v < kinds.size(); v++) {
            c.createItem(with(json("{id:'1', v:%d}", v), "pk", kinds.get(v)));
        }
        for (int v = 0; v < kinds.size(); v++) {
            equal(read(c, "1", key(kinds.get(v))).get("v").asInt(), v);
            wantRows(c, "SELECT VALUE c.v FROM c", in(key(kinds.get(v))), "[" + v + "]");
        }
    }

    private static void longKeys(Scenario t) {
        CosmosContainer c = t.container();
        String same = "k".repeat(1999);
        c.createItem(json("{id:'1', pk:'%s', v:1}", same + "1"));
        c.createItem(json("{id:'1', pk:'%s', v:2}", same + "2"));
        equal(read(c, "1", same + "1").get("v").asInt(), 1);
        wantRows(c, "SELECT VALUE c.v FROM c", in(same + "2"), "[2]");
    }

    private static final List<List<String>> PLACES = List.of(
        List.of("de", "berlin", "a"), List.of("de", "berlin", "b"), List.of("de", "bonn", "a"), List.of("fr", "paris", "a"), List.of("fr", "berlin", "a"));

    private static CosmosContainer threeLevels(Scenario t) {
        return t.container(p -> p.setPartitionKeyDefinition(new PartitionKeyDefinition()
            .setPaths(List.of("/country", "/city", "/street"))
            .setKind(PartitionKind.MULTI_HASH)
            .setVersion(PartitionKeyDefinitionVersion.V2)));
    }

    private static CosmosContainer atlas(Scenario t) {
        CosmosContainer c = threeLevels(t);
        for (List<String> place : PLACES) {
            for (String id : List.of("1", "2")) {
                c.createItem(json("{id:'%s-%s', country:'%s', city:'%s', street:'%s'}",
                    String.join("-", place), id, place.get(0), place.get(1), place.get(2)));
            }
        }
        return c;
    }

    private static List<String> under(String... prefix) {
        List<String> all = new ArrayList<>();
        for (List<String> place : PLACES) {
            if (place.subList(0, prefix.length).equals(List.of(prefix))) {
                all.add(String.join("-", place) + "-1");
                all.add(String.join("-", place) + "-2");
            }
        }
        return all;
    }

    private static PartitionKey levels(String... values) {
        PartitionKeyBuilder b = new PartitionKeyBuilder();
        List.of(values).forEach(b::add);
        return b.build();
    }

    private static void hierarchical(Scenario t) {
        CosmosContainer c = threeLevels(t);
        PartitionKey key = levels("de", "berlin", "a");
        ObjectNode sent = json("{id:'1', country:'de', city:'berlin', street:'a'}");
        life(c, key, sent);
        c.createItem(sent);
        equal(c.patchItem("1", key, CosmosPatchOperations.create().set("/v", 1), ObjectNode.class).getItem().get("v").asInt(), 1);
        absent(c, "1", levels("de", "berlin", "b"));
    }

    private static void hierarchicalQuery(Scenario t) {
        CosmosContainer c = atlas(t);
        for (String prefix : List.of("de berlin a", "de berlin", "de", "fr", "it")) {
            String[] values = prefix.split(" ");
            wantIds(rows(c, "SELECT * FROM c", in(levels(values))), under(values));
        }
    }

    private static void partitionDelete(Scenario t) {
        CosmosContainer c = t.twenty();
        equal(c.deleteAllItemsByPartitionKey(key("p1"), null).getStatusCode(), 200);
        equal(rows(c, "SELECT * FROM c", in("p1")), List.of());
        absent(c, "i06", "p1");
        equal(rows(c, "SELECT * FROM c", across()).size(), 16);
        equal(c.createItem(json("{id:'i06', pk:'p1'}")).getStatusCode(), 201);
        wantIds(rows(c, "SELECT * FROM c", in("p1")), List.of("i06"));
    }
}
