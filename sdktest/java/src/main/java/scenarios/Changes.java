package scenarios;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Reads a container's changes as an application does: by an iterator until there is nothing new, then by another one that
 * takes up its continuation.
 */
final class Changes {
    private final CosmosContainer container;
    private CosmosChangeFeedRequestOptions start;
    private int max;
    private Iterator<FeedResponse<JsonNode>> iterator;
    String continuation;

    /** The changes from where the options say. */
    Changes(CosmosContainer container, CosmosChangeFeedRequestOptions start) {
        this.container = container;
        this.start = start;
    }

    static Changes fromBeginning(CosmosContainer c) {
        return fromBeginning(c, FeedRange.forFullRange());
    }

    static Changes fromBeginning(CosmosContainer c, FeedRange scope) {
        return new Changes(c, CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(scope));
    }

    static Changes fromNow(CosmosContainer c) {
        return new Changes(c, CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange()));
    }

    static Changes fromContinuation(CosmosContainer c, String continuation) {
        return new Changes(c, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation));
    }

    /** Limits the items of a page. */
    Changes by(int max) {
        this.max = max;
        return this;
    }

    /** Reads one page; it is empty where there is nothing new. */
    List<JsonNode> page() {
        if (iterator == null) {
            if (max > 0) {
                start.setMaxItemCount(max);
            }
            iterator = container.queryChangeFeed(start, JsonNode.class).iterableByPage().iterator();
        }
        while (iterator.hasNext()) {
            FeedResponse<JsonNode> page = iterator.next();
            continuation = page.getContinuationToken();
            if (!page.getResults().isEmpty()) {
                return page.getResults();
            }
        }
        iterator = null;
        start = CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation);
        return List.of();
    }

    /** Reads until there is nothing new. */
    List<List<JsonNode>> pages() {
        List<List<JsonNode>> all = new ArrayList<>();
        for (List<JsonNode> page = page(); !page.isEmpty(); page = page()) {
            all.add(page);
        }
        return all;
    }

    List<JsonNode> drain() {
        return Want.flat(pages());
    }
}
