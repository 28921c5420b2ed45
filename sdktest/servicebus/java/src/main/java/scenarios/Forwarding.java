package scenarios;

import static scenarios.Bus.bury;
import static scenarios.Bus.msg;
import static scenarios.Bus.one;
import static scenarios.Bus.peek;
import static scenarios.Want.equal;
import static scenarios.Want.yes;

import com.azure.messaging.servicebus.ServiceBusMessage;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Forwarding, duplicates and idleness. */
final class Forwarding {
    private static final Duration FIVE_MINUTES = Duration.ofMinutes(5);

    private Forwarding() {}

    static void add(Map<String, Run.Body> every) {
        every.put("forward-queue", Forwarding::queue);
        every.put("forward-subscription", Forwarding::subscription);
        every.put("forward-hops", Forwarding::hops);
        every.put("forward-dead-letters", Forwarding::deadLetters);
        every.put("duplicate-dropped", Forwarding::dropped);
        every.put("duplicate-window", Forwarding::window);
        every.put("duplicate-batch", Forwarding::batch);
        every.put("duplicate-scheduled", Forwarding::scheduled);
        every.put("idle-queue", Forwarding::idleQueue);
        every.put("idle-activity", Forwarding::idleActivity);
        every.put("idle-subscription", Forwarding::idleSubscription);
    }

    private static ServiceBusMessage named(String id, String body) {
        return msg(body).setMessageId(id);
    }

    private static Bus.Place unique(Bus t, int seconds) {
        return t.queue(o -> o.setDuplicateDetectionRequired(true)
            .setDuplicateDetectionHistoryTimeWindow(Duration.ofSeconds(seconds)));
    }

    private static void queue(Bus t) {
        var target = t.queue("target", o -> {});
        var q = t.queue(o -> o.setForwardTo(target.name()));
        t.send(q.name(), named("id-1", "a"));
        equal(one(t.deleting(target), "a").getMessageId(), "id-1");
    }

    private static void subscription(Bus t) {
        var target = t.queue("target", o -> {});
        t.topic();
        t.ruled("s", Topics.sql("color = 'blue'"), null, o -> o.setForwardTo(target.name()));
        for (String color : List.of("blue", "red")) {
            t.send(t.name, Topics.with(color, Map.of("color", color)));
        }
        t.left(target, "blue");
    }

    private static void hops(Bus t) {
        String next = t.queue("6", o -> {}).name();
        for (int i = 5; i >= 1; i--) {
            String target = next;
            next = t.queue(String.valueOf(i), o -> o.setForwardTo(target)).name();
        }
        t.send(next, "a");
        var dead = one(t.receiver(new Bus.Place(t.name + "-5", null, true)), "a");
        equal(dead.getDeadLetterReason(), "MaxTransferHopCountExceeded");
        t.left(new Bus.Place(t.name + "-6", null, false));
    }

    private static void deadLetters(Bus t) {
        var target = t.queue("target", o -> {});
        var q = t.queue(o -> o.setForwardDeadLetteredMessagesTo(target.name()));
        t.send(q.name(), "a");
        var r = t.receiver(q);
        bury(r, one(r, "a"));
        var got = one(t.receiver(target), "a");
        equal(got.getDeadLetterReason(), "why");
        equal(got.getDeadLetterSource(), q.name());
    }

    private static void dropped(Bus t) {
        var q = unique(t, 600);
        t.send(q.name(), named("1", "a"), named("1", "b"), named("2", "c"));
        t.left(q, "a", "c");
        t.send(q.name(), named("1", "d"));
        t.left(q);
    }

    private static void window(Bus t) throws Exception {
        var q = unique(t, 60);
        t.send(q.name(), named("1", "a"));
        t.advance(61);
        t.send(q.name(), named("1", "b"));
        t.left(q, "a", "b");
    }

    private static void batch(Bus t) {
        var q = unique(t, 600);
        t.sender(q.name()).sendMessages(List.of(named("1", "a"), named("1", "b")));
        t.left(q, "a");
    }

    private static void scheduled(Bus t) throws Exception {
        var q = unique(t, 600);
        t.schedule(q.name(), 300, named("1", "a"));
        t.send(q.name(), named("1", "b"));
        t.nothing(q);
        t.advance(301);
        t.left(q, "a");
    }

    /** Wants a queue to be there for 290 seconds more, and gone after 300. */
    private static void goes(Bus t, Bus.Place q) throws Exception {
        t.advance(290);
        yes(t.adm.getQueueExists(q.name()), "gone too soon");
        t.advance(15);
        yes(!t.adm.getQueueExists(q.name()), "still there");
    }

    private static void idleQueue(Bus t) throws Exception {
        var q = t.queue(o -> o.setAutoDeleteOnIdle(FIVE_MINUTES));
        t.send(q.name(), "a");
        goes(t, q);
    }

    private static void idleActivity(Bus t) throws Exception {
        var q = t.queue(o -> o.setAutoDeleteOnIdle(FIVE_MINUTES));
        t.advance(200);
        t.send(q.name(), "a");
        t.advance(200);
        var r = t.receiver(q);
        peek(r, 1);
        t.advance(200);
        r.complete(one(r, "a"));
        r.close();
        goes(t, q);
    }

    private static void idleSubscription(Bus t) throws Exception {
        t.topic();
        t.sub("s", o -> o.setAutoDeleteOnIdle(FIVE_MINUTES));
        t.advance(200);
        t.send(t.name, "a");
        t.advance(105);
        yes(!t.adm.getSubscriptionExists(t.name, "s"), "still there");
        yes(t.adm.getTopicExists(t.name), "the topic is gone as well");
    }
}
