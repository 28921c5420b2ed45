package scenarios;

import static scenarios.Bus.bodies;
import static scenarios.Bus.bury;
import static scenarios.Bus.msg;
import static scenarios.Bus.numbered;
import static scenarios.Bus.one;
import static scenarios.Bus.peek;
import static scenarios.Bus.take;
import static scenarios.Want.equal;
import static scenarios.Want.refused;
import static scenarios.Want.yes;

import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.models.AbandonOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.DeferOptions;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Peeking and settling. */
final class Settling {
    private Settling() {}

    static void add(Map<String, Run.Body> every) {
        every.put("peek-order", Settling::peekOrder);
        every.put("peek-from", Settling::peekFrom);
        every.put("peek-continues", Settling::peekContinues);
        every.put("peek-states", Settling::peekStates);
        every.put("peek-nothing", t -> equal(peek(t.receiver(t.queue()), 5), List.of()));
        every.put("peek-dead-letters", Settling::peekDeadLetters);
        every.put("complete", Settling::complete);
        every.put("complete-twice", Settling::completeTwice);
        every.put("abandon", Settling::abandon);
        every.put("abandon-properties", Settling::abandonProperties);
        every.put("abandon-last", Settling::abandonLast);
        every.put("defer", Settling::defer);
        every.put("defer-properties", Settling::deferProperties);
        every.put("defer-abandon", Settling::deferAbandon);
        every.put("defer-last", Settling::deferLast);
        every.put("defer-deleted", Settling::deferDeleted);
        every.put("defer-unknown", Settling::deferUnknown);
        every.put("dead-letter", Settling::deadLetter);
        every.put("dead-letter-properties", Settling::deadLetterProperties);
        every.put("dead-letter-plain", Settling::deadLetterPlain);
        every.put("dead-letter-abandon", Settling::deadLetterAbandon);
        every.put("dead-letter-resubmit", Settling::deadLetterResubmit);
        every.put("dead-letter-subscription", Settling::deadLetterSubscription);
    }

    /** A message that a receiver has locked. */
    private record Held(Bus.Place q, ServiceBusReceiverClient r, ServiceBusReceivedMessage m) {}

    private static Held held(Bus t, Bus.Place q, ServiceBusMessage sent) {
        t.send(q.name(), sent);
        var r = t.receiver(q);
        return new Held(q, r, take(r, 1).get(0));
    }

    private static void peekOrder(Bus t) {
        var q = t.queue();
        t.send(q.name(), numbered(5));
        var r = t.receiver(q);
        equal(bodies(peek(r, 5)), List.of(numbered(5)));
        for (var m : take(r, 5)) {
            equal(m.getDeliveryCount(), 0L);
        }
    }

    private static void peekFrom(Bus t) {
        var q = t.queue();
        t.send(q.name(), numbered(5));
        var got = t.receiver(q).peekMessages(10, 3).stream().toList();
        equal(bodies(got), List.of(numbered(5)).subList(2, 5));
    }

    private static void peekContinues(Bus t) {
        var q = t.queue();
        t.send(q.name(), numbered(30));
        var r = t.receiver(q);
        List<ServiceBusReceivedMessage> seen = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            var some = peek(r, 10);
            if (some.isEmpty()) {
                break;
            }
            seen.addAll(some);
        }
        equal(bodies(seen), List.of(numbered(30)));
        equal(peek(r, 10), List.of());
    }

    private static void peekStates(Bus t) {
        var q = t.queue();
        t.send(q.name(), "deferred", "locked", "active");
        var r = t.receiver(q);
        r.defer(one(r, "deferred"));
        one(r, "locked");
        t.schedule(q.name(), 300, msg("scheduled"));
        Map<String, ServiceBusMessageState> states = new HashMap<>();
        for (var m : peek(t.receiver(q), 10)) {
            states.put(m.getBody().toString(), m.getState());
        }
        equal(states, Map.of(
            "deferred", ServiceBusMessageState.DEFERRED, "locked", ServiceBusMessageState.ACTIVE,
            "active", ServiceBusMessageState.ACTIVE, "scheduled", ServiceBusMessageState.SCHEDULED));
    }

    private static void peekDeadLetters(Bus t) {
        var h = held(t, t.queue(), msg("bad"));
        bury(h.r, h.m);
        var got = peek(t.receiver(h.q.deadLetters()), 1).get(0);
        equal(got.getDeadLetterReason(), "why");
        equal(got.getDeadLetterErrorDescription(), "because");
    }

    private static void complete(Bus t) {
        var q = t.queue();
        t.send(q.name(), "a", "b", "c");
        var r = t.receiver(q);
        var got = take(r, 3);
        r.complete(got.get(1));
        r.abandon(got.get(0));
        r.abandon(got.get(2));
        t.left(q, "a", "c");
    }

    private static void completeTwice(Bus t) {
        var h = held(t, t.queue(), msg("a"));
        h.r.complete(h.m);
        refused(() -> h.r.complete(h.m), "settled", "lost");
    }

    private static void abandon(Bus t) {
        var q = t.queue();
        t.send(q.name(), "a", "b");
        var r = t.receiver(q);
        r.abandon(one(r, "a"));
        equal(one(r, "a").getDeliveryCount(), 1L);
    }

    private static void abandonProperties(Bus t) {
        var m = msg("a");
        m.getApplicationProperties().putAll(Map.of("x", "old", "z", "kept"));
        var h = held(t, t.queue(), m);
        h.r.abandon(h.m, new AbandonOptions().setPropertiesToModify(Map.of("x", "new", "y", 5)));
        equal(one(h.r, "a").getApplicationProperties(), Map.of("x", "new", "y", 5, "z", "kept"));
    }

    private static void abandonLast(Bus t) {
        var q = t.queue(o -> o.setMaxDeliveryCount(3));
        t.send(q.name(), "a");
        var r = t.receiver(q);
        for (long i = 0; i < 3; i++) {
            var got = one(r, "a");
            equal(got.getDeliveryCount(), i);
            r.abandon(got);
        }
        t.nothing(q);
        equal(one(t.receiver(q.deadLetters()), "a").getDeadLetterReason(), "MaxDeliveryCountExceeded");
    }

    private static Held deferred(Bus t, DeferOptions options) {
        var h = held(t, t.queue(), msg("a"));
        h.r.defer(h.m, options);
        return h;
    }

    private static ServiceBusReceivedMessage byNumber(Held h) {
        return h.r.receiveDeferredMessage(h.m.getSequenceNumber());
    }

    private static void defer(Bus t) {
        var h = deferred(t, new DeferOptions());
        t.nothing(h.q);
        equal(peek(t.receiver(h.q), 1).get(0).getState(), ServiceBusMessageState.DEFERRED);
        var again = byNumber(h);
        equal(again.getBody().toString(), "a");
        equal(again.getDeliveryCount(), 1L);
        equal(again.getState(), ServiceBusMessageState.DEFERRED);
        h.r.complete(again);
        equal(peek(t.receiver(h.q), 1), List.of());
    }

    private static void deferProperties(Bus t) {
        var h = deferred(t, new DeferOptions().setPropertiesToModify(Map.of("step", "one")));
        equal(byNumber(h).getApplicationProperties(), Map.of("step", "one"));
    }

    private static void deferAbandon(Bus t) {
        var h = deferred(t, new DeferOptions());
        h.r.abandon(byNumber(h));
        t.nothing(h.q);
        equal(byNumber(h).getDeliveryCount(), 2L);
    }

    private static void deferLast(Bus t) {
        var q = t.queue(o -> o.setMaxDeliveryCount(1));
        var h = held(t, q, msg("a"));
        h.r.defer(h.m);
        equal(peek(t.receiver(q), 1), List.of());
        equal(one(t.receiver(q.deadLetters()), "a").getDeadLetterReason(), "MaxDeliveryCountExceeded");
    }

    private static void deferDeleted(Bus t) {
        var h = deferred(t, new DeferOptions());
        equal(t.deleting(h.q).receiveDeferredMessage(h.m.getSequenceNumber()).getBody().toString(), "a");
        equal(peek(t.receiver(h.q), 1), List.of());
    }

    private static void deferUnknown(Bus t) {
        var r = t.receiver(t.queue());
        refused(() -> r.receiveDeferredMessage(4711), "onNext"); // the SDK takes not found for nothing
    }

    private static void deadLetter(Bus t) {
        var h = held(t, t.queue(), msg("bad").setMessageId("id-1"));
        bury(h.r, h.m);
        t.left(h.q);
        var got = one(t.receiver(h.q.deadLetters()), "bad");
        equal(got.getDeadLetterReason(), "why");
        equal(got.getDeadLetterErrorDescription(), "because");
        equal(got.getMessageId(), "id-1");
        equal(got.getSequenceNumber(), h.m.getSequenceNumber());
    }

    private static void deadLetterProperties(Bus t) {
        var h = held(t, t.queue(), msg("bad"));
        h.r.deadLetter(h.m, new DeadLetterOptions().setDeadLetterReason("why")
            .setPropertiesToModify(Map.of("seen", "yes")));
        equal(one(t.receiver(h.q.deadLetters()), "bad").getApplicationProperties().get("seen"), "yes");
    }

    private static void deadLetterPlain(Bus t) {
        var h = held(t, t.queue(), msg("bad"));
        h.r.deadLetter(h.m);
        String reason = one(t.receiver(h.q.deadLetters()), "bad").getDeadLetterReason();
        yes(reason == null || reason.isEmpty(), reason);
    }

    private static void deadLetterAbandon(Bus t) {
        var h = held(t, t.queue(), msg("bad"));
        bury(h.r, h.m);
        var dead = t.receiver(h.q.deadLetters());
        for (int i = 0; i < 12; i++) {
            dead.abandon(one(dead, "bad"));
        }
        t.left(h.q.deadLetters(), "bad");
    }

    private static void deadLetterResubmit(Bus t) {
        var h = held(t, t.queue(), msg("retry").setMessageId("id-1"));
        bury(h.r, h.m);
        var dead = t.receiver(h.q.deadLetters());
        var got = one(dead, "retry");
        t.send(h.q.name(), new ServiceBusMessage(got));
        dead.complete(got);
        equal(one(h.r, "retry").getMessageId(), "id-1");
        t.left(h.q.deadLetters());
    }

    private static void deadLetterSubscription(Bus t) {
        var s = t.topic("s").get(0);
        var h = held(t, s, msg("bad"));
        bury(h.r, h.m);
        equal(one(t.receiver(s.deadLetters()), "bad").getDeadLetterReason(), "why");
    }
}
