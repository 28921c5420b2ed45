package scenarios;

import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.parse;
import static scenarios.Want.user;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;

/** The operations of a patch. */
final class Patches {
    private final CosmosContainer container;

    /** A document "1" in the partition "a", and what patches it. */
    private Patches(Scenario t, String body) {
        container = t.container();
        container.createItem(json("{id:'1', pk:'a'}").setAll(json(body)));
    }

    private CosmosItemResponse<ObjectNode> patch(CosmosPatchOperations operations, CosmosPatchItemRequestOptions options) {
        return container.patchItem("1", key("a"), operations, options, ObjectNode.class);
    }

    private CosmosItemResponse<ObjectNode> patch(CosmosPatchOperations operations) {
        return patch(operations, new CosmosPatchItemRequestOptions());
    }

    private void refused(CosmosPatchOperations operations) {
        fails(400, () -> patch(operations));
    }

    private ObjectNode whole() {
        return Want.read(container, "1", "a");
    }

    private void want(String body) {
        equal(user(whole()).remove(List.of("id", "pk")), body);
    }

    private static CosmosPatchOperations ops() {
        return CosmosPatchOperations.create();
    }

    private static CosmosPatchItemRequestOptions when(String condition) {
        return new CosmosPatchItemRequestOptions().setFilterPredicate(condition);
    }

    static void add(Map<String, Run.Body> every) {
        every.put("patch-add", Patches::adds);
        every.put("patch-set", Patches::sets);
        every.put("patch-replace", Patches::replaces);
        every.put("patch-remove", Patches::removes);
        every.put("patch-increment", Patches::increments);
        every.put("patch-move", Patches::moves);
        every.put("patch-condition", Patches::condition);
        every.put("patch-etag", Patches::etag);
        every.put("patch-key", Patches::keys);
        every.put("patch-atomic", Patches::atomic);
    }

    private static void adds(Scenario t) {
        Patches p = new Patches(t, "{o:{x:1}, l:[1, 3]}");
        equal(p.patch(ops().add("/n", 5).add("/o/y", parse("{z:2}")).add("/l/1", 2).add("/l/-", 4)).getStatusCode(), 200);
        p.want("{o:{x:1, y:{z:2}}, l:[1, 2, 3, 4], n:5}");
        p.refused(ops().add("/none/deep", 1));
        p.refused(ops().add("/l/9", 1));
    }

    private static void sets(Scenario t) {
        Patches p = new Patches(t, "{v:1, l:[1, 2]}");
        p.patch(ops().set("/v", "new").set("/w", null).set("/l/0", 9).set("/l/-", 3));
        p.want("{v:'new', l:[9, 2, 3], w:null}");
    }

    private static void replaces(Scenario t) {
        Patches p = new Patches(t, "{v:1, o:{x:1}}");
        p.patch(ops().replace("/v", List.of(1)).replace("/o/x", true));
        p.want("{v:[1], o:{x:true}}");
        p.refused(ops().replace("/none", 1));
    }

    private static void removes(Scenario t) {
        Patches p = new Patches(t, "{v:1, l:[1, 2, 3]}");
        p.patch(ops().remove("/v").remove("/l/1"));
        p.want("{l:[1, 3]}");
        p.refused(ops().remove("/none"));
    }

    private static void increments(Scenario t) {
        Patches p = new Patches(t, "{n:1, s:'x'}");
        p.patch(ops().increment("/n", 41).increment("/m", 5));
        p.patch(ops().increment("/m", -7));
        p.want("{n:42, s:'x', m:-2}");
        p.patch(ops().increment("/n", 0.5));
        equal(p.whole().get("n").asDouble(), 42.5);
        p.refused(ops().increment("/s", 1));
    }

    private static void moves(Scenario t) {
        Patches p = new Patches(t, "{a:{x:1}, b:{}}");
        p.patch(ops().move("/a/x", "/b/y"));
        p.want("{a:{}, b:{y:1}}");
    }

    private static void condition(Scenario t) {
        Patches p = new Patches(t, "{n:1}");
        p.patch(ops().set("/n", 2), when("FROM c WHERE c.n = 1 AND NOT IS_DEFINED(c.m)"));
        fails(412, () -> p.patch(ops().set("/n", 3), when("FROM c WHERE c.n = 1")));
        p.want("{n:2}");
        fails(400, () -> p.patch(ops().set("/n", 3), when("FROM c WHERE c.n = = 1")));
    }

    private static void etag(Scenario t) {
        Patches p = new Patches(t, "{n:1}");
        String first = p.whole().get("_etag").asText();
        CosmosPatchItemRequestOptions match = new CosmosPatchItemRequestOptions();
        match.setIfMatchETag(first);
        CosmosItemResponse<ObjectNode> second = p.patch(ops().set("/n", 2), match);
        equal(second.getStatusCode(), 200);
        yes(!second.getETag().equals(first), "another etag");
        fails(412, () -> p.patch(ops().set("/n", 3), match));
    }

    private static void keys(Scenario t) {
        Patches p = new Patches(t, "{n:1}");
        List.of("/id", "/pk", "/_ts", "/_rid").forEach(path -> p.refused(ops().set(path, "z")));
        p.want("{n:1}");
    }

    private static void atomic(Scenario t) {
        Patches p = new Patches(t, "{n:1}");
        p.refused(ops().set("/n", 2).set("/m", 1).remove("/none"));
        p.want("{n:1}");
        CosmosPatchOperations eleven = ops();
        for (int i = 0; i < 11; i++) {
            eleven.set("/v" + i, i);
        }
        p.refused(eleven);
        p.want("{n:1}");
    }
}
