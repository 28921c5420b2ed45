package com.example.seats;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Mayfly in memory on a free port, with a clock that stands still until a test moves it. */
final class Mayfly implements AutoCloseable {
    /** The key that every Cosmos DB emulator has. */
    static final String KEY =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    private static final Pattern ENDPOINT = Pattern.compile("http://localhost:\\d+/");

    private final Process server;
    private final HttpClient http = HttpClient.newHttpClient();
    final String endpoint;

    private Mayfly(Process server) throws IOException {
        this.server = server;
        this.endpoint = endpointOf(server.inputReader());
        moveClock("{\"freeze\": true}");
    }

    /** Runs the binary that MAYFLY names, or one that is built from this repository. */
    static Mayfly start() throws IOException {
        String binary = Objects.requireNonNullElseGet(System.getenv("MAYFLY"), Mayfly::build);
        Process server = new ProcessBuilder(binary, "serve", "--memory", "--virtual-clock", "--port", "0",
            "--log-level", "warn").redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(server::destroy));
        return new Mayfly(server);
    }

    /** Moves the clock on, and returns when all that has expired by then is gone. */
    void advance(Duration by) throws IOException {
        moveClock("{\"advance\": \"" + by.toSeconds() + "s\"}");
    }

    @Override
    public void close() {
        server.destroy();
    }

    private void moveClock(String change) throws IOException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(endpoint + "_mayfly/clock?settle=true"))
            .header("Authorization", "Bearer " + KEY)
            .PUT(HttpRequest.BodyPublishers.ofString(change)).build();
        try {
            HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new IOException("clock: " + answer.statusCode() + " " + answer.body());
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    /** The endpoint that the server prints once it is ready. */
    private static String endpointOf(BufferedReader output) throws IOException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            Matcher endpoint = ENDPOINT.matcher(line);
            if (endpoint.find()) {
                return endpoint.group();
            }
        }
        throw new IOException("mayfly ended before it was ready");
    }

    private static String build() {
        try {
            Path binary = Files.createTempDirectory("mayfly").resolve("mayfly");
            Process build = new ProcessBuilder("go", "build", "-o", binary.toString(), "./cmd/mayfly")
                .directory(new File("../..")).inheritIO().start();
            if (build.waitFor() != 0) {
                throw new IllegalStateException("go build failed");
            }
            binary.toFile().deleteOnExit();
            return binary.toString();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
