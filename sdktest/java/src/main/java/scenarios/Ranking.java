package scenarios;

import static scenarios.Want.across;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.ids;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.matches;
import static scenarios.Want.query;
import static scenarios.Want.rows;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantOrder;
import static scenarios.Want.yes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosFullTextIndex;
import com.azure.cosmos.models.CosmosFullTextPath;
import com.azure.cosmos.models.CosmosFullTextPolicy;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosVectorDataType;
import com.azure.cosmos.models.CosmosVectorDistanceFunction;
import com.azure.cosmos.models.CosmosVectorEmbedding;
import com.azure.cosmos.models.CosmosVectorEmbeddingPolicy;
import com.azure.cosmos.models.CosmosVectorIndexSpec;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SpatialSpec;
import com.azure.cosmos.models.SpatialType;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Queries by place, by vector and by text, and what a query tells of itself. */
final class Ranking {
    private Ranking() {}

    static void add(Map<String, Run.Body> every) {
        every.put("query-spatial", Ranking::spatial);
        every.put("query-vector", Ranking::vector);
        every.put("query-full-text", Ranking::fullText);
        every.put("query-full-text-rank", t -> wantOrder(
            rows(library(t), "SELECT TOP 2 c.id FROM c ORDER BY RANK FullTextScore(c.text, 'mountain', 'bicycle')", across()), List.of("3", "1")));
        every.put("query-hybrid", t -> equal(ids(
            rows(library(t), "SELECT TOP 2 c.id FROM c ORDER BY RANK RRF(VectorDistance(c.v, [0, 0]), FullTextScore(c.text, 'red', 'bicycle'))", across()))
            .get(0), "1"));
        every.put("query-syntax-error", Ranking::syntaxError);
        every.put("query-metrics", Ranking::metrics);
    }

    private static void spatial(Scenario t) {
        CosmosContainer c = t.container(p -> p.setIndexingPolicy(Scenario.indexing().setSpatialIndexes(
            List.of(new SpatialSpec().setPath("/at/*").setSpatialTypes(Arrays.asList(SpatialType.values()))))));
        Map<String, String> places = Map.of("berlin", "13.405, 52.52", "potsdam", "13.065, 52.4", "paris", "2.352, 48.857");
        places.forEach((id, at) -> c.createItem(json("{id:'%s', pk:'%s', at:{type:'Point', coordinates:[%s]}}", id, id, at)));
        wantIds(rows(c, """
            SELECT * FROM c WHERE ST_DISTANCE(c.at, {"type": "Point", "coordinates": [13.4, 52.5]}) < 40000""", across()), List.of("berlin", "potsdam"));
        wantIds(rows(c, """
            SELECT * FROM c WHERE ST_WITHIN(c.at, {"type": "Polygon", "coordinates": [[[0, 45], [5, 45], [5, 50], [0, 50], [0, 45]]]})""",
            across()), List.of("paris"));
    }

    /** Creates documents with a vector and a text, each in a partition of its own. */
    private static CosmosContainer library(Scenario t) {
        CosmosVectorEmbeddingPolicy vectors = new CosmosVectorEmbeddingPolicy();
        vectors.setCosmosVectorEmbeddings(List.of(new CosmosVectorEmbedding().setPath("/v").setDataType(CosmosVectorDataType.FLOAT32)
            .setDistanceFunction(CosmosVectorDistanceFunction.EUCLIDEAN).setEmbeddingDimensions(2)));
        CosmosFullTextPolicy texts = new CosmosFullTextPolicy().setDefaultLanguage("en-US")
            .setPaths(List.of(new CosmosFullTextPath().setPath("/text").setLanguage("en-US")));
        CosmosContainer c = t.container(p -> p
            .setVectorEmbeddingPolicy(vectors)
            .setFullTextPolicy(texts)
            .setIndexingPolicy(Scenario.indexing()
                .setVectorIndexes(List.of(new CosmosVectorIndexSpec().setPath("/v").setType("flat")))
                .setCosmosFullTextIndexes(List.of(new CosmosFullTextIndex().setPath("/text")))));
        for (String document : List.of(
            "{id:'1', pk:'p1', v:[0, 0], text:'a red bicycle on a mountain road'}",
            "{id:'2', pk:'p2', v:[1, 0], text:'a blue car in the city'}",
            "{id:'3', pk:'p3', v:[0, 2], text:'mountain mountain mountain, and a bicycle on every mountain'}",
            "{id:'4', pk:'p4', v:[3, 3], text:'red wine and cheese'}",
            "{id:'5', pk:'p5', v:[10, 10], text:'nothing of interest'}")) {
            c.createItem(json(document));
        }
        return c;
    }

    private static void vector(Scenario t) {
        CosmosContainer c = library(t);
        List<JsonNode> near = rows(c, "SELECT TOP 3 c.id, VectorDistance(c.v, [0, 0.9]) AS d FROM c ORDER BY VectorDistance(c.v, [0, 0.9])", across());
        wantOrder(near, List.of("1", "3", "2"));
        yes(Math.abs(near.get(0).get("d").asDouble() - 0.9) < 1e-6, near);
    }

    private static void fullText(Scenario t) {
        CosmosContainer c = library(t);
        wantIds(rows(c, "SELECT * FROM c WHERE FullTextContains(c.text, 'bicycle')", across()), List.of("1", "3"));
        wantIds(rows(c, "SELECT * FROM c WHERE FullTextContainsAll(c.text, 'red', 'bicycle')", across()), List.of("1"));
        wantIds(rows(c, "SELECT * FROM c WHERE FullTextContainsAny(c.text, 'wine', 'car')", across()), List.of("2", "4"));
    }

    private static void syntaxError(Scenario t) {
        CosmosContainer c = t.container();
        for (CosmosQueryRequestOptions options : List.of(in("a"), across())) {
            CosmosException e = fails(400, () -> rows(c, "SELECT * FROM c WHERE c.n = = 1", options));
            matches(e.getMessage(), "[Ss]yntax error");
        }
    }

    private static void metrics(Scenario t) {
        CosmosContainer c = t.twenty();
        String asked = diagnostics(c, in("p1").setQueryMetricsEnabled(true).setIndexMetricsEnabled(true));
        matches(asked, "retrievedDocumentCount|Retrieved Document Count");
        matches(asked, "UtilizedSingleIndexes|UtilizedIndexes");
        String plain = diagnostics(c, in("p1"));
        yes(!plain.contains("UtilizedSingleIndexes") && !plain.contains("UtilizedIndexes"), "index metrics that nobody asked for");
    }

    /** What the SDK tells of the first page of a query. */
    private static String diagnostics(CosmosContainer c, CosmosQueryRequestOptions options) {
        FeedResponse<JsonNode> page = query(c, "SELECT * FROM c WHERE c.n > 3", options).iterableByPage().iterator().next();
        equal(page.getResults().size(), 3);
        return page.getCosmosDiagnostics().toString();
    }
}
