package scenarios;

import java.net.URI;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The runner for Java; ../../servicebus.md says what it takes and prints. */
public final class Run {
    /** The body of a scenario. It throws what was not as it should be. */
    interface Body {
        void run(Bus t) throws Exception;
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

    private static final List<String> FLAGS =
        List.of("--amqp", "--admin", "--tls", "--mayfly", "--control", "--only");

    private final Map<String, Body> every = new LinkedHashMap<>();
    private final Bus.Flags flags;
    private final ExecutorService workers = Executors.newCachedThreadPool();
    private int passed;
    private int failed;
    private int absent;

    private Run(Bus.Flags flags) {
        this.flags = flags;
        Sending.add(every);
        Settling.add(every);
        Times.add(every);
        Sessions.add(every);
        Topics.add(every);
        Forwarding.add(every);
        Transactions.add(every);
        Processors.add(every);
        Restarts.add(every);
        Administration.add(every);
        Failing.add(every);
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> given = new LinkedHashMap<>();
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--times")) {
                given.put(args[i], "");
            } else if (FLAGS.contains(args[i]) && i + 1 < args.length) {
                given.put(args[i], args[++i]);
            } else {
                usage();
            }
        }
        if (!given.keySet().containsAll(FLAGS.subList(0, 4))) {
            usage();
        }
        String control = given.get("--control");
        Run run = new Run(new Bus.Flags(given.get("--amqp"), given.get("--admin"), given.get("--tls"),
            URI.create(given.get("--mayfly")), control == null ? null : URI.create(control)));
        boolean ok = run.all(given.get("--only"), given.containsKey("--times"));
        System.exit(ok ? 0 : 1); // the SDK's threads would keep it up
    }

    private static void usage() {
        System.err.println("usage: Run --amqp HOST:PORT --admin HOST:PORT --tls HOST:PORT --mayfly URL"
            + " [--control URL] [--only NAME,NAME] [--times]");
        System.exit(2);
    }

    private boolean all(String only, boolean times) throws Exception {
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
        System.out.println("azure-messaging-servicebus " + version() + ": "
            + passed + "/" + (names.size() - absent) + " (" + absent + " no-api)");
        return failed == 0;
    }

    /** Runs one scenario and says in a line how it ended. */
    private String one(String name) {
        String line;
        Bus t = null;
        try {
            Bus made = new Bus(name, flags);
            t = made;
            inTime(150, () -> every.get(name).run(made));
            line = "ok " + name;
        } catch (NoApi e) {
            line = "no-api " + name + ": " + e.getMessage();
        } catch (Throwable e) { // whatever it is, it is the scenario's outcome
            line = "FAIL " + name + ": " + explain(e);
        }
        try {
            if (t != null) {
                inTime(30, t::close);
            }
        } catch (Throwable e) {
            line = line.startsWith("FAIL ") ? line : "FAIL " + name + ": afterwards: " + explain(e);
        }
        return line;
    }

    /** What may throw anything. */
    interface Step {
        void run() throws Exception;
    }

    /** Fails when something takes longer than it should, such as a scenario whose SDK waits without end. */
    private void inTime(int seconds, Step step) throws Throwable {
        Future<?> running = workers.submit(() -> {
            step.run();
            return null;
        });
        try {
            running.get(seconds, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause();
        } catch (TimeoutException e) {
            running.cancel(true);
            throw new IllegalStateException("no end after " + seconds + " s");
        }
    }

    /** Puts an error on one line: what it says, and the scenario's line. */
    private static String explain(Throwable e) {
        List<String> own = List.of("scenarios.Bus", "scenarios.Want", "scenarios.Run");
        String at = Arrays.stream(e.getStackTrace())
            .filter(f -> f.getClassName().startsWith("scenarios.") && !own.contains(f.getClassName()))
            .map(f -> f.getFileName() + ":" + f.getLineNumber()).findFirst().orElse("");
        return (Want.said(e) + " " + at).replaceAll("\\s+", " ").strip();
    }

    private static String version() throws Exception {
        Properties p = new Properties();
        try (var in = Run.class.getResourceAsStream("/azure-messaging-servicebus.properties")) {
            p.load(in);
        }
        return p.getProperty("version");
    }
}
