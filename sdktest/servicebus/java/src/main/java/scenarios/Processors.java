package scenarios;

import static scenarios.Bus.msg;
import static scenarios.Bus.numbered;
import static scenarios.Bus.one;
import static scenarios.Bus.peek;
import static scenarios.Want.equal;
import static scenarios.Want.yes;

import com.azure.messaging.servicebus.ServiceBusErrorContext;
import com.azure.messaging.servicebus.ServiceBusProcessorClient;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** Processors and renewers, which go by the SDK's clock. */
final class Processors {
    private static final Duration LOCK = Duration.ofSeconds(10);
    /** How long a handler takes, and how long a renewer keeps a lock of ten seconds. */
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration HELD = Duration.ofSeconds(25);

    private Processors() {}

    static void add(Map<String, Run.Body> every) {
        every.put("processor-all", Processors::all);
        every.put("processor-throws", Processors::throwing);
        every.put("processor-sessions", Processors::sessions);
        every.put("processor-minute", Processors::minute);
        every.put("renewer-message", Processors::renewMessage);
        every.put("renewer-session", Processors::renewSession);
    }

    /** A handler of messages, and what a processor is built with. */
    record Handlers(Consumer<ServiceBusReceivedMessage> message, Consumer<ServiceBusErrorContext> error) {}

    /** Runs a processor until as many messages have been handled as are wanted, and a little longer. */
    private static List<ServiceBusReceivedMessage> handle(
        int wanted, Duration time, Consumer<ServiceBusReceivedMessage> handler,
        Function<Handlers, ServiceBusProcessorClient> build) throws Exception {
        List<ServiceBusReceivedMessage> seen = new CopyOnWriteArrayList<>();
        List<String> errors = new CopyOnWriteArrayList<>();
        try (ServiceBusProcessorClient p = build.apply(new Handlers(m -> {
            handler.accept(m);
            seen.add(m);
        }, e -> errors.add(String.valueOf(e.getException()))))) {
            p.start();
            until(() -> seen.size() >= wanted, time);
            Thread.sleep(300);
        }
        yes(seen.size() == wanted, "handled " + Bus.bodies(seen) + "; errors: " + errors);
        return seen;
    }

    interface Holds {
        boolean now();
    }

    static void until(Holds condition, Duration time) throws InterruptedException {
        long end = System.nanoTime() + time.toNanos();
        while (!condition.now() && System.nanoTime() < end) {
            Thread.sleep(50);
        }
    }

    static void sleep(Duration d) {
        try {
            Thread.sleep(d.toMillis());
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static ServiceBusProcessorClient processor(Bus t, Bus.Place q, int calls, Handlers h) {
        return t.builder.processor().queueName(q.name()).maxConcurrentCalls(calls)
            .maxAutoLockRenewDuration(MINUTE.multipliedBy(2))
            .processMessage(c -> h.message().accept(c.getMessage())).processError(h.error()::accept)
            .buildProcessorClient();
    }

    private static void all(Bus t) throws Exception {
        var q = t.queue(o -> o.setLockDuration(LOCK));
        t.send(q.name(), numbered(20));
        var seen = handle(20, Bus.SOME_TIME, m -> sleep(Duration.ofMillis(20)), h -> processor(t, q, 4, h));
        equal(Bus.bodies(seen).stream().sorted().toList(), List.of(numbered(20)));
        t.left(q);
    }

    private static void throwing(Bus t) throws Exception {
        var q = t.queue(o -> o.setLockDuration(LOCK));
        t.send(q.name(), "a");
        List<Long> counts = new CopyOnWriteArrayList<>();
        handle(1, Bus.SOME_TIME, m -> {
            counts.add(m.getDeliveryCount());
            if (counts.size() == 1) {
                throw new IllegalStateException("not now");
            }
        }, h -> processor(t, q, 1, h));
        equal(counts, List.of(0L, 1L));
        t.left(q);
    }

    private static void sessions(Bus t) throws Exception {
        var q = t.queue(o -> o.setLockDuration(LOCK).setSessionRequired(true));
        for (int i = 1; i <= 4; i++) {
            t.send(q.name(), Sessions.in("x", "x" + i), Sessions.in("y", "y" + i), Sessions.in("z", "z" + i));
        }
        var seen = handle(12, Bus.SOME_TIME, m -> {}, h -> t.builder.sessionProcessor().queueName(q.name())
            .maxConcurrentSessions(3).processMessage(c -> h.message().accept(c.getMessage()))
            .processError(h.error()::accept).buildProcessorClient());
        for (String s : List.of("x", "y", "z")) {
            equal(Bus.bodies(seen.stream().filter(m -> m.getSessionId().equals(s)).toList()),
                List.of(s + 1, s + 2, s + 3, s + 4));
        }
    }

    private static void minute(Bus t) throws Exception {
        var q = t.queue(o -> o.setLockDuration(LOCK));
        t.send(q.name(), "long");
        var sending = CompletableFuture.runAsync(() -> {
            var s = t.sender(q.name());
            for (String body : numbered(50)) {
                sleep(Duration.ofSeconds(1));
                s.sendMessage(msg(body));
            }
        });
        var seen = handle(51, MINUTE.multipliedBy(2), m -> {
            if (m.getBody().toString().equals("long")) {
                sleep(MINUTE);
            }
        }, h -> processor(t, q, 2, h));
        sending.get();
        List<String> want = new ArrayList<>(Stream.of(numbered(50)).toList());
        want.add(0, "long");
        equal(Bus.bodies(seen).stream().sorted().toList(), want);
        t.left(q);
    }

    private static void renewMessage(Bus t) {
        var q = t.queue(o -> o.setLockDuration(LOCK));
        t.send(q.name(), "a");
        var r = t.receiver(q);
        var got = one(r, "a");
        List<Throwable> errors = new CopyOnWriteArrayList<>();
        r.renewMessageLock(got, MINUTE, errors::add);
        sleep(HELD);
        equal(errors, List.of());
        r.complete(got);
        t.left(q);
    }

    private static void renewSession(Bus t) {
        var q = t.queue(o -> o.setLockDuration(LOCK).setSessionRequired(true));
        t.send(q.name(), Sessions.in("x", "x1"));
        var r = Sessions.accept(t, q, "x");
        var got = one(r, "x1");
        List<Throwable> errors = new CopyOnWriteArrayList<>();
        r.renewSessionLock(MINUTE, errors::add);
        sleep(HELD);
        equal(errors, List.of());
        r.complete(got);
        equal(peek(r, 1), List.of());
    }
}
