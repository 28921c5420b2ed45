package scenarios;

import static scenarios.Want.absent;
import static scenarios.Want.across;
import static scenarios.Want.equal;
import static scenarios.Want.ifMatch;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.read;
import static scenarios.Want.replace;
import static scenarios.Want.rows;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantRows;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchItemRequestOptions;
import com.azure.cosmos.models.CosmosBatchOperationResult;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkItemResponse;
import com.azure.cosmos.models.CosmosBulkOperationResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Batches, and bulk. */
final class Batches {
    private Batches() {}

    static void add(Map<String, Run.Body> every) {
        every.put("batch-all-kinds", Batches::allKinds);
        every.put("batch-fails-at-each-place", Batches::failsAtEachPlace);
        every.put("batch-etag", Batches::etag);
        every.put("batch-own-writes", Batches::ownWrites);
        every.put("batch-hundred", Batches::hundred);
        every.put("bulk-create", Batches::bulkCreate);
        every.put("bulk-mixed", Batches::bulkMixed);
    }

    private static ObjectNode item(String id, int v) {
        return json("{id:'%s', pk:'a', v:%d}", id, v);
    }

    private static CosmosBatch batch() {
        return CosmosBatch.createCosmosBatch(key("a"));
    }

    private static CosmosBatch creates(List<String> names) {
        CosmosBatch b = batch();
        names.forEach(id -> b.createItemOperation(item(id, 1)));
        return b;
    }

    static List<Integer> statuses(CosmosBatchResponse r) {
        return r.getResults().stream().map(CosmosBatchOperationResult::getStatusCode).toList();
    }

    private static void allKinds(Scenario t) {
        CosmosContainer c = t.container();
        List.of("upsert", "read", "replace", "patch", "delete").forEach(id -> c.createItem(item(id, 1)));
        CosmosBatch b = batch();
        b.createItemOperation(item("create", 2));
        b.upsertItemOperation(item("upsert-new", 2));
        b.upsertItemOperation(item("upsert", 2));
        b.readItemOperation("read");
        b.replaceItemOperation("replace", item("replace", 2));
        b.patchItemOperation("patch", CosmosPatchOperations.create().increment("/v", 1));
        b.deleteItemOperation("delete");
        CosmosBatchResponse r = c.executeCosmosBatch(b);
        yes(r.isSuccessStatusCode(), r.getStatusCode());
        equal(statuses(r), List.of(201, 201, 200, 200, 200, 200, 204));
        equal(r.getResults().get(0).getItem(ObjectNode.class).get("id").asText(), "create");
        equal(r.getResults().get(3).getItem(ObjectNode.class).get("v").asInt(), 1);
        yes(r.getResults().get(0).getETag() != null, "an etag");
        yes(r.getResults().stream().allMatch(o -> o.getRequestCharge() > 0), "charges");
        wantRows(c, "SELECT VALUE c.v FROM c WHERE c.id != 'read'", in("a"), "[2, 2, 2, 2, 2]");
        wantIds(rows(c, "SELECT * FROM c", in("a")), List.of("create", "upsert-new", "upsert", "read", "replace", "patch"));
    }

    private static void failsAtEachPlace(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(item("there", 1));
        for (int at = 0; at < 5; at++) {
            List<String> names = Arrays.asList("1", "2", "3", "4", "5");
            names.set(at, "there");
            CosmosBatchResponse r = c.executeCosmosBatch(creates(names));
            equal(r.getStatusCode(), 409); // the SDK's: that of the operation which failed
            equal(statuses(r), names.stream().map(id -> id.equals("there") ? 409 : 424).toList());
        }
        wantIds(rows(c, "SELECT * FROM c", in("a")), List.of("there"));
    }

    private static void etag(Scenario t) {
        CosmosContainer c = t.container();
        String stale = c.createItem(item("1", 1)).getETag();
        String fresh = replace(c, item("1", 2), "a", ifMatch(stale)).getETag();
        equal(statuses(c.executeCosmosBatch(replacing(stale))), List.of(424, 412));
        absent(c, "2", "a");
        equal(statuses(c.executeCosmosBatch(replacing(fresh))), List.of(201, 200));
    }

    private static CosmosBatch replacing(String etag) {
        CosmosBatch b = batch();
        b.createItemOperation(item("2", 1));
        b.replaceItemOperation("1", item("1", 3), new CosmosBatchItemRequestOptions().setIfMatchETag(etag));
        return b;
    }

    private static void ownWrites(Scenario t) {
        CosmosContainer c = t.container();
        CosmosBatch b = batch();
        b.createItemOperation(item("1", 1));
        b.patchItemOperation("1", CosmosPatchOperations.create().increment("/v", 1));
        b.readItemOperation("1");
        b.deleteItemOperation("1");
        b.createItemOperation(item("1", 9));
        CosmosBatchResponse r = c.executeCosmosBatch(b);
        equal(statuses(r), List.of(201, 200, 200, 204, 201));
        equal(r.getResults().get(2).getItem(ObjectNode.class).get("v").asInt(), 2);
        equal(read(c, "1", "a").get("v").asInt(), 9);
    }

    private static void hundred(Scenario t) {
        CosmosContainer c = t.container();
        List<String> names = IntStream.range(0, 101).mapToObj(i -> "n" + i).toList();
        int refused;
        try {
            refused = c.executeCosmosBatch(creates(names)).getStatusCode();
        } catch (CosmosException e) {
            refused = e.getStatusCode();
        }
        yes(refused == 400 || refused == 413, refused);
        CosmosBatchResponse r = c.executeCosmosBatch(creates(names.subList(1, 101)));
        yes(statuses(r).stream().allMatch(s -> s == 201), statuses(r));
        wantRows(c, "SELECT VALUE COUNT(1) FROM c", in("a"), "[100]");
    }

    /** Runs operations and returns their answers in the order of the operations, which is not that of the answers. */
    static List<CosmosBulkItemResponse> bulk(CosmosContainer c, List<CosmosItemOperation> operations) {
        CosmosBulkItemResponse[] answers = new CosmosBulkItemResponse[operations.size()];
        for (CosmosBulkOperationResponse<Object> r : c.<Object>executeBulkOperations(operations)) {
            answers[operations.indexOf(r.getOperation())] = r.getResponse();
        }
        return Arrays.asList(answers);
    }

    static List<Integer> bulkStatuses(List<CosmosBulkItemResponse> answers) {
        return answers.stream().map(a -> a == null ? null : (Integer) a.getStatusCode()).toList();
    }

    private static void bulkCreate(Scenario t) {
        CosmosContainer c = t.container();
        List<CosmosItemOperation> operations = new ArrayList<>();
        for (int i = 0; i < 250; i++) {
            String pk = "p" + i % 17;
            operations.add(CosmosBulkOperations.getCreateItemOperation(json("{id:'%d', pk:'%s', n:%d}", i, pk, i), key(pk)));
        }
        List<Integer> got = bulkStatuses(bulk(c, operations));
        yes(got.stream().allMatch(s -> s != null && s == 201), got);
        wantIds(rows(c, "SELECT c.id FROM c", across()), IntStream.range(0, 250).mapToObj(String::valueOf).toList());
    }

    private static void bulkMixed(Scenario t) {
        CosmosContainer c = t.twenty();
        List<CosmosBulkItemResponse> got = bulk(c, List.of(
            CosmosBulkOperations.getCreateItemOperation(json("{id:'i00', pk:'p0'}"), key("p0")),
            CosmosBulkOperations.getCreateItemOperation(json("{id:'new', pk:'p1'}"), key("p1")),
            CosmosBulkOperations.getUpsertItemOperation(json("{id:'i02', pk:'p2', n:200}"), key("p2")),
            CosmosBulkOperations.getReadItemOperation("i03", key("p3")),
            CosmosBulkOperations.getReadItemOperation("none", key("p3")),
            CosmosBulkOperations.getReplaceItemOperation("none", json("{id:'none', pk:'p4'}"), key("p4")),
            CosmosBulkOperations.getPatchItemOperation("i05", key("p0"), CosmosPatchOperations.create().increment("/n", 95)),
            CosmosBulkOperations.getDeleteItemOperation("i06", key("p1")),
            CosmosBulkOperations.getDeleteItemOperation("none", key("p1")),
            CosmosBulkOperations.getCreateItemOperation(json("{id:'mortal', pk:'p2', ttl:-10}"), key("p2"))));
        equal(bulkStatuses(got), List.of(409, 201, 200, 200, 404, 404, 200, 204, 404, 400));
        equal(got.get(3).getItem(ObjectNode.class).get("n").asInt(), 3);
        List<String> after = new ArrayList<>(Scenario.EVERYTHING);
        after.remove("i06");
        after.add("new");
        wantIds(rows(c, "SELECT c.id FROM c", across()), after);
    }
}
