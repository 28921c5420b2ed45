package scenarios;

import static scenarios.Want.across;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.flat;
import static scenarios.Want.ids;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.matches;
import static scenarios.Want.pages;
import static scenarios.Want.parse;
import static scenarios.Want.query;
import static scenarios.Want.reversed;
import static scenarios.Want.rows;
import static scenarios.Want.sizes;
import static scenarios.Want.user;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantOrder;
import static scenarios.Want.wantRows;
import static scenarios.Want.wantValues;
import static scenarios.Want.with;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.SqlParameter;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** The query language. "Across" is without a partition key. */
final class Queries {
    private Queries() {}

    static void add(Map<String, Run.Body> every) {
        every.put("query-partition", Queries::partition);
        every.put("query-parameters", Queries::parameters);
        every.put("query-cross", Queries::cross);
        every.put("query-projection", Queries::projection);
        every.put("query-order-by-partition", Queries::orderByPartition);
        every.put("query-order-by-cross", Queries::orderByCross);
        every.put("query-order-by-string-cross", Queries::orderByStringCross);
        every.put("query-order-by-composite", Queries::orderByComposite);
        every.put("query-order-by-refused", Queries::orderByRefused);
        every.put("query-aggregates-partition", Queries::aggregatesPartition);
        every.put("query-aggregates-cross", Queries::aggregatesCross);
        every.put("query-aggregates-many-cross", Queries::aggregatesManyCross);
        every.put("query-aggregates-empty", Queries::aggregatesEmpty);
        every.put("query-group-by-partition", Queries::groupByPartition);
        every.put("query-group-by-cross", Queries::groupByCross);
        every.put("query-distinct-partition", Queries::distinctPartition);
        every.put("query-distinct-cross", Queries::distinctCross);
        every.put("query-count-distinct-cross", t ->
            wantNumbers(t.twenty(), "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.g FROM c)", across(), "[3]"));
        every.put("query-top-partition", Queries::topPartition);
        every.put("query-top-cross", Queries::topCross);
        every.put("query-offset-limit-cross", Queries::offsetLimitCross);
        every.put("query-join", Queries::join);
        every.put("query-arrays", Queries::arrays);
        every.put("query-subqueries", Queries::subqueries);
        every.put("query-strings", Queries::strings);
        every.put("query-types", Queries::types);
    }

    private static void partition(Scenario t) {
        CosmosContainer c = t.twenty();
        Map<String, List<String>> cases = Map.of(
            "c.n = 7", List.of("i07"),
            "c.n > 7", List.of("i12", "i17"),
            "c.n >= 7 AND c.n < 17", List.of("i07", "i12"),
            "c.n IN (2, 12, 13)", List.of("i02", "i12"),
            "c.n BETWEEN 3 AND 12", List.of("i07", "i12"),
            "NOT (c.g = 'g0')", List.of("i02", "i07", "i17"),
            "c.g = 'g0' OR c.o.x = 2", List.of("i02", "i12"),
            "c.none = 1", List.of(),
            "c.n != 7", List.of("i02", "i12", "i17"));
        cases.forEach((where, want) -> wantOrder(rows(c, "SELECT * FROM c WHERE " + where, in("p2")), want));
    }

    private static void parameters(Scenario t) {
        CosmosContainer c = t.container();
        List<Object> values = Arrays.asList("it's", 1.5, true, null, List.of(1, "two"), Map.of("a", Map.of("b", 1)));
        for (int i = 0; i < values.size(); i++) {
            c.createItem(with(json("{id:'%d', pk:'a'}", i), "v", values.get(i)));
        }
        for (int i = 0; i < values.size(); i++) {
            for (CosmosQueryRequestOptions options : List.of(in("a"), across())) {
                List<JsonNode> got = rows(c, "SELECT c.id FROM c WHERE c.v = @v", options, new SqlParameter("@v", values.get(i)));
                wantOrder(got, List.of(String.valueOf(i)));
            }
        }
    }

    private static void cross(Scenario t) {
        CosmosContainer c = t.twenty();
        wantIds(rows(c, "SELECT * FROM c WHERE c.n >= 15", across()), Scenario.ids(15, 20));
        wantIds(rows(c, "SELECT * FROM c WHERE c.g = 'g2' AND c.n < 9", across()), List.of("i02", "i05", "i08"));
        wantValues(c, "SELECT VALUE c.n FROM c WHERE c.pk = 'p3'", across(), "[3, 8, 13, 18]");
        wantRows(c, "SELECT * FROM c WHERE c.n > 100", across(), "[]");
    }

    private static void projection(Scenario t) {
        CosmosContainer c = t.twenty();
        Map<String, String> cases = Map.of(
            "c.id, c.o.x", "{id:'i07', x:7}",
            "c.id AS name, c.n * 2 + 1 AS m", "{name:'i07', m:15}",
            "VALUE { k: c.n, l: [c.g, c.n] }", "{k:7, l:['g1', 7]}",
            "VALUE c.tags", "'t3', 'all'", // the SDK unwraps a single row that is an array
            "c.id, c.none, c.n = 7 AS same", "{id:'i07', same:true}",
            "VALUE c.tags[1]", "'all'",
            "c[\"id\"], c.g || \"!\" AS loud", "{id:'i07', loud:'g1!'}");
        cases.forEach((select, want) -> wantRows(c, "SELECT " + select + " FROM c WHERE c.id = 'i07'", in("p2"), "[" + want + "]"));
        wantRows(c, "SELECT VALUE c.none FROM c", in("p2"), "[]");
        equal(user(rows(c, "SELECT * FROM c WHERE c.id = 'i07'", in("p2")).get(0)), Scenario.twentieth(7).toString());
    }

    private static void orderByPartition(Scenario t) {
        CosmosContainer c = t.container();
        List<Object> values = Arrays.asList(3, "b", null, true, -1, "a", false, 2.5);
        for (int i = 0; i < values.size(); i++) {
            c.createItem(with(json("{id:'%d', pk:'a'}", i), "v", values.get(i)));
        }
        c.createItem(json("{id:'missing', pk:'a'}"));
        List<String> up = List.of("missing", "2", "6", "3", "4", "7", "0", "5", "1");
        wantOrder(rows(c, "SELECT c.id, c.v FROM c ORDER BY c.v", in("a")), up);
        wantOrder(rows(c, "SELECT c.id, c.v FROM c ORDER BY c.v DESC", in("a")), reversed(up));
    }

    private static void orderByCross(Scenario t) {
        CosmosContainer c = t.twenty();
        for (String how : List.of("ASC", "DESC")) {
            List<List<JsonNode>> got = pages(query(c, "SELECT * FROM c ORDER BY c.n " + how, across()).iterableByPage(3));
            yes(got.stream().allMatch(page -> page.size() <= 3), sizes(got));
            wantOrder(flat(got), how.equals("ASC") ? Scenario.EVERYTHING : reversed(Scenario.EVERYTHING));
        }
    }

    private static void orderByStringCross(Scenario t) {
        CosmosContainer c = t.twenty();
        for (String how : List.of("ASC", "DESC")) {
            String text = "SELECT c.id, c.g FROM c WHERE c.n > 4 ORDER BY c.g " + how;
            List<JsonNode> got = flat(pages(query(c, text, across()).iterableByPage(4)));
            wantIds(got, Scenario.ids(5, 20));
            List<String> groups = got.stream().map(r -> r.get("g").asText()).toList();
            equal(groups, groups.stream().sorted(how.equals("ASC") ? Comparator.naturalOrder() : Comparator.reverseOrder()).toList());
        }
    }

    private static void composite(CosmosContainerProperties p) {
        p.setIndexingPolicy(Scenario.indexing().setCompositeIndexes(List.of(List.of(
            new CompositePath().setPath("/g").setOrder(CompositePathSortOrder.ASCENDING),
            new CompositePath().setPath("/n").setOrder(CompositePathSortOrder.DESCENDING)))));
    }

    private static void orderByComposite(Scenario t) {
        CosmosContainer c = t.twenty(Queries::composite);
        List<ObjectNode> sorted = new ArrayList<>(Scenario.theTwenty());
        sorted.sort(Comparator.<ObjectNode, String>comparing(i -> i.get("g").asText())
            .thenComparing(i -> i.get("n").asInt(), Comparator.reverseOrder()));
        wantOrder(rows(c, "SELECT * FROM c ORDER BY c.g ASC, c.n DESC", across()), ids(sorted));
        List<JsonNode> back = flat(pages(query(c, "SELECT * FROM c ORDER BY c.g DESC, c.n ASC", across()).iterableByPage(4)));
        wantOrder(back, reversed(ids(sorted)));
    }

    private static void orderByRefused(Scenario t) {
        CosmosContainer c = t.twenty(Queries::composite);
        CosmosException e = fails(400, () -> rows(c, "SELECT * FROM c ORDER BY c.g ASC, c.n ASC", in("p1")));
        matches(e.getMessage(), "composite index");
    }

    private static void aggregatesPartition(Scenario t) {
        CosmosContainer c = t.twenty();
        Map<String, String> cases = Map.of(
            "COUNT(1)", "4", "SUM(c.n)", "34", "AVG(c.n)", "8.5", "MIN(c.n)", "1", "MAX(c.n)", "16", "MIN(c.id)", "'i01'", "COUNT(c.none)", "0");
        cases.forEach((f, want) -> wantNumbers(c, "SELECT VALUE " + f + " FROM c", in("p1"), "[" + want + "]"));
        List<JsonNode> got = rows(c, "SELECT COUNT(1) AS k, SUM(c.n) AS s FROM c WHERE c.n > 1", in("p1"));
        equal(got.size(), 1);
        wantMembers(got.get(0), Map.of("k", 3.0, "s", 33.0));
    }

    private static void aggregatesCross(Scenario t) {
        CosmosContainer c = t.twenty();
        Map<String, String> cases = Map.of(
            "COUNT(1)", "20", "SUM(c.n)", "190", "AVG(c.n)", "9.5", "MIN(c.n)", "0", "MAX(c.n)", "19", "MAX(c.id)", "'i19'", "COUNT(c.none)", "0");
        cases.forEach((f, want) -> wantNumbers(c, "SELECT VALUE " + f + " FROM c", across(), "[" + want + "]"));
        wantNumbers(c, "SELECT VALUE SUM(c.n) FROM c WHERE c.g = 'g1'", across(), "[70]");
    }

    /** Wants a query to have these rows. This SDK adds in floating point, so that its 190 is 190.0. */
    private static void wantNumbers(CosmosContainer c, String text, CosmosQueryRequestOptions options, String want) {
        List<Object> got = rows(c, text, options).stream().map(Queries::plain).toList();
        List<Object> wanted = new ArrayList<>();
        parse(want).forEach(w -> wanted.add(plain(w)));
        equal(got, wanted);
    }

    private static Object plain(JsonNode value) {
        return value.isNumber() ? value.asDouble() : value.toString();
    }

    private static void aggregatesManyCross(Scenario t) {
        CosmosContainer c = t.twenty();
        List<JsonNode> got = rows(c, "SELECT COUNT(1) AS k, SUM(c.n) AS s, AVG(c.n) AS a, MIN(c.n) AS lo, MAX(c.n) AS hi FROM c WHERE c.n < 10", across());
        equal(got.size(), 1);
        wantMembers(got.get(0), Map.of("k", 10.0, "s", 45.0, "a", 4.5, "lo", 0.0, "hi", 9.0));
    }

    private static void wantMembers(JsonNode got, Map<String, Double> want) {
        want.forEach((name, value) -> equal(got.path(name).asDouble(Double.NaN), value));
    }

    private static void aggregatesEmpty(Scenario t) {
        CosmosContainer c = t.twenty();
        wantNumbers(c, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 100", across(), "[0]");
        wantNumbers(c, "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 100", across(), "[0]");
        wantNumbers(c, "SELECT VALUE MIN(c.n) FROM c WHERE c.n > 100", across(), "[null]"); // so the SDK says that there is none
    }

    private static void groupByPartition(Scenario t) {
        CosmosContainer c = t.twenty();
        List<JsonNode> got = new ArrayList<>(rows(c, "SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", in("p1")));
        got.sort(Comparator.comparing(r -> r.get("g").asText()));
        equal(got.stream().map(r -> r.get("g").asText()).toList(), List.of("g0", "g1", "g2"));
        wantMembers(got.get(0), Map.of("k", 1.0, "s", 6.0));
        wantMembers(got.get(1), Map.of("k", 2.0, "s", 17.0));
        wantMembers(got.get(2), Map.of("k", 1.0, "s", 11.0));
    }

    private static void groupByCross(Scenario t) {
        CosmosContainer c = t.twenty();
        String text = "SELECT c.g, COUNT(1) AS count, SUM(c.n) AS sum, AVG(c.n) AS avg, MIN(c.n) AS min, MAX(c.n) AS max FROM c GROUP BY c.g";
        List<JsonNode> got = new ArrayList<>(rows(c, text, across()));
        got.sort(Comparator.comparing(r -> r.get("g").asText()));
        equal(got.stream().map(r -> r.get("g").asText()).toList(), List.of("g0", "g1", "g2"));
        wantMembers(got.get(0), Map.of("count", 7.0, "sum", 63.0, "avg", 9.0, "min", 0.0, "max", 18.0));
        wantMembers(got.get(1), Map.of("count", 7.0, "sum", 70.0, "avg", 10.0, "min", 1.0, "max", 19.0));
        wantMembers(got.get(2), Map.of("count", 6.0, "sum", 57.0, "avg", 9.5, "min", 2.0, "max", 17.0));
        wantValues(c, "SELECT VALUE c.g FROM c GROUP BY c.g", across(), "['g0', 'g1', 'g2']");
    }

    private static void distinctPartition(Scenario t) {
        CosmosContainer c = t.twenty();
        wantValues(c, "SELECT DISTINCT VALUE c.g FROM c", in("p1"), "['g0', 'g1', 'g2']");
        equal(rows(c, "SELECT DISTINCT c.g FROM c", in("p1")).size(), 3);
    }

    private static void distinctCross(Scenario t) {
        CosmosContainer c = t.twenty();
        wantValues(c, "SELECT DISTINCT VALUE c.g FROM c", across(), "['g0', 'g1', 'g2']");
        wantRows(c, "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC", across(), "['g2', 'g1', 'g0']");
        equal(rows(c, "SELECT DISTINCT c.g, c.pk FROM c", across()).size(), 15);
        equal(rows(c, "SELECT DISTINCT VALUE c.tags FROM c", across()).size(), 4);
    }

    private static void topPartition(Scenario t) {
        CosmosContainer c = t.twenty();
        wantOrder(rows(c, "SELECT TOP 2 * FROM c ORDER BY c.n DESC", in("p4")), List.of("i19", "i14"));
        wantOrder(rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 1 LIMIT 2", in("p4")), List.of("i09", "i14"));
        wantOrder(rows(c, "SELECT * FROM c OFFSET 3 LIMIT 5", in("p4")), List.of("i19"));
        wantRows(c, "SELECT TOP 0 * FROM c", in("p4"), "[]");
    }

    private static void topCross(Scenario t) {
        CosmosContainer c = t.twenty();
        List<JsonNode> got = flat(pages(query(c, "SELECT TOP 7 * FROM c ORDER BY c.n DESC", across()).iterableByPage(2)));
        wantOrder(got, reversed(Scenario.ids(13, 20)));
        equal(rows(c, "SELECT TOP 7 * FROM c", across()).size(), 7);
    }

    private static void offsetLimitCross(Scenario t) {
        CosmosContainer c = t.twenty();
        wantOrder(rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 5 LIMIT 4", across()), Scenario.ids(5, 9));
        List<JsonNode> end = flat(pages(query(c, "SELECT * FROM c ORDER BY c.n OFFSET 18 LIMIT 10", across()).iterableByPage(3)));
        wantOrder(end, Scenario.ids(18, 20));
        wantRows(c, "SELECT * FROM c ORDER BY c.n OFFSET 20 LIMIT 10", across(), "[]");
    }

    private static void join(Scenario t) {
        CosmosContainer c = t.twenty();
        List<JsonNode> got = rows(c, "SELECT c.id, tag FROM c JOIN tag IN c.tags WHERE tag = 't1'", across());
        wantIds(got, List.of("i01", "i05", "i09", "i13", "i17"));
        yes(got.stream().allMatch(r -> r.get("tag").asText().equals("t1")), got);
        equal(rows(c, "SELECT VALUE tag FROM c JOIN tag IN c.tags", in("p0")).size(), 8);
        wantRows(c, "SELECT VALUE tag FROM tag IN c.tags WHERE tag != 'all'", in("p0"), "['t0', 't1', 't2', 't3']");
    }

    private static void arrays(Scenario t) {
        CosmosContainer c = t.twenty();
        wantIds(rows(c, "SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, 't2')", in("p2")), List.of("i02"));
        wantRows(c, """
            SELECT VALUE [ARRAY_LENGTH(c.tags), ARRAY_SLICE(c.tags, 1), ARRAY_CONCAT(c.tags, [c.n]),
              ARRAY(SELECT VALUE x FROM x IN c.tags WHERE x != 'all')] FROM c WHERE c.id = 'i07'""",
            in("p2"), "[2, ['all'], ['t3', 'all', 7], ['t3']]"); // the SDK unwraps a single row that is an array
    }

    private static void subqueries(Scenario t) {
        CosmosContainer c = t.twenty();
        wantIds(rows(c, "SELECT * FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.tags WHERE x = 't3')", in("p2")), List.of("i07"));
        wantRows(c, "SELECT VALUE (SELECT VALUE COUNT(1) FROM x IN c.tags) FROM c WHERE c.n = 7", in("p2"), "[2]");
        wantRows(c, "SELECT VALUE s.m FROM (SELECT c.n * 2 AS m FROM c WHERE c.n > 10) AS s", in("p2"), "[24, 34]");
    }

    private static void strings(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json("{id:'1', pk:'a', s:'Hello World'}"));
        wantRows(c, """
            SELECT VALUE [CONTAINS(c.s, "world", true), STARTSWITH(c.s, "Hell"), ENDSWITH(c.s, "x"), UPPER(c.s), CONCAT(c.s, "!"),
              c.s LIKE "%o W%", RegexMatch(c.s, "^H.*d$"), SUBSTRING(c.s, 6, 5), REPLACE(c.s, "l", "L"), INDEX_OF(c.s, "o"), LENGTH(c.s)] FROM c""",
            in("a"), "[true, true, false, 'HELLO WORLD', 'Hello World!', true, true, 'World', 'HeLLo WorLd', 4, 11]");
    }

    private static void types(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json("{id:'1', pk:'a', z:null, n:-2.5, s:'x', a:[], o:{}}"));
        wantRows(c, """
            SELECT VALUE [IS_DEFINED(c.none), IS_DEFINED(c.z), IS_NULL(c.z), IS_NUMBER(c.n), IS_STRING(c.n), IS_ARRAY(c.a), IS_OBJECT(c.o),
              c.none ?? "else", IIF(c.n < 0, "minus", "plus"), ABS(c.n), FLOOR(c.n), ROUND(2.5), POWER(2, 10), SQRT(16), 7 % 4, 6 & 3] FROM c""",
            in("a"), "[false, true, true, true, false, true, true, 'else', 'minus', 2.5, -3, 3, 1024, 4, 3, 2]");
    }
}
