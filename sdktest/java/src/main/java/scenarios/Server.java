package scenarios;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** What the server offers beside what the SDK speaks. */
final class Server {
    /** The master key that every Cosmos DB emulator is known to have. */
    static final String KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private Server() {}

    /** Changes the clock of the server's data. */
    static void clock(URI endpoint, String change) throws Exception {
        send("PUT", endpoint.resolve("_mayfly/clock"), change);
    }

    static void send(String method, URI to, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(to)
            .version(HttpClient.Version.HTTP_1_1)
            .header("Authorization", "Bearer " + KEY)
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(method + " " + to + ": " + answer.statusCode() + " " + answer.body());
        }
    }
}
