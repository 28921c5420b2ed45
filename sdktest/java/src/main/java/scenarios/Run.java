package scenarios;

import com.azure.cosmos.CosmosException;
import java.net.URI;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import reactor.core.Exceptions;

/** The runner for Java; ../scenarios.md says what it takes and prints. */
public final class Run {
    /** The body of a scenario. It throws what was not as it should be. */
    interface Body {
        void run(Scenario t) throws Exception;
    }

    /** Ends a scenario that the SDK has no call for. */
    static final class NoApi extends RuntimeException {
        NoApi(String reason) {
            super(reason);
        }
    }

    /** A scenario that the SDK has no call for, and why. */
    static Body without(String reason) {
        return t -> {
            throw new NoApi(reason);
        };
    }

    private final Map<String, Body> every = new LinkedHashMap<>();
    private final Scenario.Flags flags;
    private int passed;
    private int failed;
    private int absent;

    private Run(Scenario.Flags flags) {
        this.flags = flags;
        Account.add(every);
        Items.add(every);
        Keys.add(every);
        Paging.add(every);
        Queries.add(every);
        Ranking.add(every);
        Patches.add(every);
        Batches.add(every);
        Feeds.add(every);
        Scripts.add(every);
        Users.add(every);
        Encryption.add(every);
        Ttl.add(every);
        Moves.add(every);
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> given = new LinkedHashMap<>(Map.of("--ranges", "1"));
        for (int i = 0; i < args.length; i++) {
            if (List.of("--times", "--direct", "--running-clock", "--separate").contains(args[i])) {
                given.put(args[i], "");
            } else if (List.of("--endpoint", "--ranges", "--control", "--only").contains(args[i]) && i + 1 < args.length) {
                given.put(args[i], args[++i]);
            } else {
                usage();
            }
        }
        if (given.get("--endpoint") == null) {
            usage();
        }
        URI endpoint = URI.create(given.get("--endpoint"));
        String control = given.get("--control");
        // without it the SDK turns http into https
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", String.valueOf(endpoint.getScheme().equals("http")));
        System.setProperty("COSMOS.DISABLE_IMDS_ACCESS", "true"); // this is no virtual machine in Azure
        Run run = new Run(new Scenario.Flags(endpoint, Integer.parseInt(given.get("--ranges")), control == null ? null : URI.create(control),
            given.containsKey("--direct"), given.containsKey("--separate")));
        boolean ok = run.all(given.get("--only"), given.containsKey("--times"), given.containsKey("--running-clock"));
        System.exit(ok ? 0 : 1); // the SDK's threads would keep it up
    }

    private static void usage() {
        System.err.println("usage: Run --endpoint URL [--ranges N] [--control URL] [--only NAME,NAME] [--times] [--direct] [--running-clock] [--separate]");
        System.exit(2);
    }

    private boolean all(String only, boolean times, boolean running) throws Exception {
        if (!running) {
            Server.clock(flags.endpoint(), "{\"freeze\": true}");
        }
        List<String> names = only == null ? List.copyOf(every.keySet()) : Arrays.asList(only.split(","));
        for (String name : names) {
            long began = System.nanoTime();
            String line = one(name);
            if (line.startsWith("ok ")) {
                passed++;
            } else if (line.startsWith("FAIL ")) {
                failed++;
            } else {
                absent++;
            }
            System.out.println(times ? line + " (" + (System.nanoTime() - began) / 1_000_000 + " ms)" : line);
        }
        System.out.println("azure-cosmos " + version() + ": " + passed + "/" + (names.size() - absent) + " (" + absent + " no-api)");
        return failed == 0;
    }

    /** Runs one scenario and says in a line how it ended. */
    private String one(String name) {
        String line;
        Scenario t = null;
        try {
            t = new Scenario(name, flags);
            every.get(name).run(t);
            line = "ok " + name;
        } catch (NoApi e) {
            line = "no-api " + name + ": " + e.getMessage();
        } catch (Throwable e) { // whatever it is, it is the scenario's outcome
            line = "FAIL " + name + ": " + explain(e);
        }
        try {
            if (t != null) {
                t.close();
            }
        } catch (Throwable e) {
            line = line.startsWith("FAIL ") ? line : "FAIL " + name + ": afterwards: " + explain(e);
        }
        return line;
    }

    /** Puts an error on one line: what it says, the status if there is one, and the scenario's line. */
    private static String explain(Throwable e) {
        List<Throwable> several = Exceptions.unwrapMultiple(e);
        if (several.size() > 1) { // those of calls that ran at the same time
            return several.stream().map(Run::explain).distinct().collect(Collectors.joining("; "));
        }
        String text = e instanceof CosmosException c
            ? "[" + c.getStatusCode() + "/" + c.getSubStatusCode() + "] " + c.getShortMessage()
            : e.toString();
        String at = Arrays.stream(e.getStackTrace())
            .filter(f -> f.getClassName().startsWith("scenarios.") && !f.getClassName().startsWith("scenarios.Want"))
            .map(f -> f.getFileName() + ":" + f.getLineNumber()).findFirst().orElse("");
        return (text + " " + at).replaceAll("\\s+", " ").strip();
    }

    private static String version() throws Exception {
        Properties p = new Properties();
        try (var in = Run.class.getResourceAsStream("/azure-cosmos.properties")) {
            p.load(in);
        }
        return p.getProperty("version");
    }
}
