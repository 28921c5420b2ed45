package scenarios;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.util.CosmosPagedIterable;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.stream.StreamSupport;

/** Ways to ask a container, and to say what is wanted. */
final class Want {
    /** Reads JSON with 'quotes' and bare names as well, so that it can stand in Java without backslashes. */
    static final JsonMapper JSON = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_SINGLE_QUOTES, JsonReadFeature.ALLOW_UNQUOTED_FIELD_NAMES)
        .build();

    private static final List<String> SYSTEM = List.of("_rid", "_self", "_etag", "_attachments", "_ts", "_lsn");

    private Want() {}

    static JsonNode parse(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(text, e);
        }
    }

    /** A document; values are put into the text as by String.format. */
    static ObjectNode json(String text, Object... values) {
        return (ObjectNode) parse(values.length == 0 ? text : String.format(text, values));
    }

    /** A document that has a member more, or another one. */
    static ObjectNode with(ObjectNode document, String name, Object value) {
        return document.deepCopy().set(name, JSON.valueToTree(value));
    }

    static void equal(Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(got + " is not " + want);
        }
    }

    /** Wants JSON equal to a text, however a number is held. */
    static void equal(JsonNode got, String want) {
        equal(got == null ? null : (Object) parse(got.toString()), parse(want));
    }

    static void yes(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(String.valueOf(what));
        }
    }

    /** Wants a text to match somewhere. */
    static void matches(String text, String pattern) {
        yes(text != null && java.util.regex.Pattern.compile(pattern).matcher(text).find(), text + " does not match " + pattern);
    }

    /** Wants a call refused with a status, and returns the error. */
    static CosmosException fails(int status, Runnable call) {
        return fails(List.of(status), call);
    }

    static CosmosException fails(List<Integer> statuses, Runnable call) {
        try {
            call.run();
        } catch (CosmosException e) {
            if (statuses.contains(e.getStatusCode())) {
                return e;
            }
            throw e;
        }
        throw new AssertionError("not refused, wanted " + statuses);
    }

    static PartitionKey key(Object value) {
        return new PartitionKey(value);
    }

    /** The options of a query across. */
    static CosmosQueryRequestOptions across() {
        return new CosmosQueryRequestOptions();
    }

    /** The options of a query of one partition key. */
    static CosmosQueryRequestOptions in(Object key) {
        return across().setPartitionKey(key instanceof PartitionKey k ? k : key(key));
    }

    static CosmosPagedIterable<JsonNode> query(CosmosContainer c, String text, CosmosQueryRequestOptions options, SqlParameter... parameters) {
        return c.queryItems(new SqlQuerySpec(text, parameters), options, JsonNode.class);
    }

    /** Drains a query. */
    static List<JsonNode> rows(CosmosContainer c, String text, CosmosQueryRequestOptions options, SqlParameter... parameters) {
        return query(c, text, options, parameters).stream().toList();
    }

    /** Wants a query to have these rows, in this order. */
    static void wantRows(CosmosContainer c, String text, CosmosQueryRequestOptions options, String want) {
        equal(JSON.valueToTree(rows(c, text, options)), want);
    }

    /** Wants a query to have these values, in any order. */
    static void wantValues(CosmosContainer c, String text, CosmosQueryRequestOptions options, String want) {
        equal(sorted(rows(c, text, options)), sorted(parse(want)));
    }

    private static List<String> sorted(Iterable<JsonNode> values) {
        return StreamSupport.stream(values.spliterator(), false).map(JsonNode::toString).sorted().toList();
    }

    /** Drains an iterator by its pages, but for those without rows. */
    static <T> List<List<T>> pages(Iterable<FeedResponse<T>> pages) {
        List<List<T>> all = new ArrayList<>();
        for (FeedResponse<T> page : pages) {
            if (!page.getResults().isEmpty()) {
                all.add(page.getResults());
            }
        }
        return all;
    }

    static List<Integer> sizes(List<? extends List<?>> pages) {
        return pages.stream().map(List::size).toList();
    }

    static <T> List<T> flat(List<List<T>> pages) {
        return pages.stream().flatMap(List::stream).toList();
    }

    static List<String> ids(Collection<? extends JsonNode> items) {
        return items.stream().map(i -> i.get("id").asText()).toList();
    }

    /** Wants these ids in any order, each once. */
    static void wantIds(Collection<? extends JsonNode> items, Collection<String> want) {
        wantNames(ids(items), want);
    }

    static void wantNames(Collection<String> got, Collection<String> want) {
        equal(got.stream().sorted().toList(), want.stream().sorted().toList());
    }

    /** Wants these ids in this order. */
    static void wantOrder(Collection<? extends JsonNode> items, List<String> want) {
        equal(ids(items), want);
    }

    static List<String> reversed(List<String> list) {
        List<String> copy = new ArrayList<>(list);
        java.util.Collections.reverse(copy);
        return copy;
    }

    /** Strips what the server adds to a document. */
    static ObjectNode user(JsonNode item) {
        return item.<ObjectNode>deepCopy().remove(SYSTEM);
    }

    static ObjectNode read(CosmosContainer c, String id, Object key) {
        return c.readItem(id, key instanceof PartitionKey k ? k : key(key), ObjectNode.class).getItem();
    }

    /** Wants no such item. */
    static void absent(CosmosContainer c, String id, Object key) {
        fails(404, () -> read(c, id, key));
    }

    static CosmosItemResponse<ObjectNode> replace(CosmosContainer c, ObjectNode item, Object key) {
        return replace(c, item, key, null);
    }

    static CosmosItemResponse<ObjectNode> replace(CosmosContainer c, ObjectNode item, Object key, CosmosItemRequestOptions options) {
        return c.replaceItem(item, item.get("id").asText(), key instanceof PartitionKey k ? k : key(key), options);
    }

    static int delete(CosmosContainer c, String id, Object key) {
        return c.deleteItem(id, key instanceof PartitionKey k ? k : key(key), null).getStatusCode();
    }

    static CosmosItemRequestOptions ifMatch(String etag) {
        return new CosmosItemRequestOptions().setIfMatchETag(etag);
    }
}
