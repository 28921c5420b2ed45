package scenarios;

import static scenarios.Bus.msg;
import static scenarios.Bus.numbered;
import static scenarios.Bus.one;
import static scenarios.Bus.take;
import static scenarios.Want.equal;
import static scenarios.Want.refused;

import com.azure.messaging.servicebus.administration.models.SqlRuleFilter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** What is there after the server was ended and started again. */
final class Restarts {
    private Restarts() {}

    static void add(Map<String, Run.Body> every) {
        every.put("restart-sender", Restarts::sender);
        every.put("restart-receiver", Restarts::receiver);
        every.put("restart-durable", Restarts::durable);
        every.put("restart-locks", Restarts::locks);
        every.put("restart-session", Restarts::session);
        every.put("restart-scheduled", Restarts::scheduled);
        every.put("restart-entities", Restarts::entities);
        every.put("restart-processor", Restarts::processor);
    }

    private static void sender(Bus t) throws Exception {
        var q = t.queue();
        var s = t.sender(q.name());
        s.sendMessage(msg("a"));
        t.restart("kill");
        s.sendMessage(msg("b"));
        t.left(q, "a", "b");
    }

    private static void receiver(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), "a", "b");
        var r = t.receiver(q);
        r.complete(one(r, "a"));
        t.restart("kill");
        r.complete(one(r, "b"));
        t.left(q);
    }

    private static void durable(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), numbered(50));
        var r = t.receiver(q);
        take(r, 20).forEach(r::complete);
        t.restart("kill");
        t.left(q, Arrays.copyOfRange(numbered(50), 20, 50));
    }

    private static void locks(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), "a");
        var r = t.receiver(q);
        var got = one(r, "a");
        t.restart("kill");
        refused(() -> r.complete(got), "lost", "error", "exception");
        t.left(q, "a");
    }

    private static void session(Bus t) throws Exception {
        var q = Sessions.talks(t);
        t.send(q.name(), Sessions.in("x", "x1"));
        Sessions.accept(t, q, "x").setSessionState("half".getBytes(StandardCharsets.UTF_8));
        t.restart("kill");
        var r = Sessions.accept(t, q, "x");
        equal(Sessions.text(r.getSessionState()), "half");
        one(r, "x1");
    }

    private static void scheduled(Bus t) throws Exception {
        var q = t.queue();
        t.schedule(q.name(), 300, msg("a"));
        t.restart("kill");
        t.nothing(q);
        t.advance(301);
        t.left(q, "a");
    }

    private static void entities(Bus t) throws Exception {
        var q = t.queue("queue", o -> o.setLockDuration(Duration.ofSeconds(42)));
        t.topic();
        t.ruled("s", Topics.sql("color = 'blue'"), null);
        t.restart("stop");
        equal(t.adm.getQueue(q.name()).getLockDuration(), Duration.ofSeconds(42));
        var filter = (SqlRuleFilter) t.adm.getRule(t.name, "s", "s").getFilter();
        equal(filter.getSqlExpression(), "color = 'blue'");
        t.send(q.name(), "a");
        t.left(q, "a");
    }

    private static void processor(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), "a");
        List<String> seen = new CopyOnWriteArrayList<>();
        var handlers = new Processors.Handlers(m -> seen.add(m.getBody().toString()), e -> {});
        try (var p = Processors.processor(t, q, 1, handlers)) {
            p.start();
            Processors.until(() -> !seen.isEmpty(), Bus.SOME_TIME);
            t.restart("kill");
            t.send(q.name(), "b");
            Processors.until(() -> seen.contains("b"), Bus.SOME_TIME.multipliedBy(2));
        }
        equal(seen.stream().distinct().toList(), List.of("a", "b"));
    }
}
