package scenarios;

import static scenarios.Bus.bodies;
import static scenarios.Bus.bury;
import static scenarios.Bus.msg;
import static scenarios.Bus.none;
import static scenarios.Bus.one;
import static scenarios.Bus.peek;
import static scenarios.Bus.take;
import static scenarios.Failing.TERMINATED;
import static scenarios.Want.equal;
import static scenarios.Want.lasts;
import static scenarios.Want.refused;
import static scenarios.Want.yes;

import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Sessions. Their queues have locks of 30 seconds. */
final class Sessions {
    private Sessions() {}

    static void add(Map<String, Run.Body> every) {
        every.put("session-accept", Sessions::acceptById);
        every.put("session-next", Sessions::next);
        every.put("session-next-none", Sessions::nextNone);
        every.put("session-locked", Sessions::locked);
        every.put("session-state", Sessions::state);
        every.put("session-renew", Sessions::renew);
        every.put("session-lock-lost", Sessions::lockLost);
        every.put("session-close", Sessions::close);
        every.put("session-abandon", Sessions::abandon);
        every.put("session-defer", Sessions::defer);
        every.put("session-schedule", Sessions::schedule);
        every.put("session-peek", Sessions::peeks);
        every.put("session-required", Sessions::required);
        every.put("session-not-supported", Sessions::notSupported);
        every.put("session-subscription", Sessions::subscription);
        every.put("session-dead-letter", Sessions::deadLetter);
        every.put("session-list", Run.without("no list of sessions"));
        every.put("session-locked-until", Sessions::lockedUntil);
    }

    static Bus.Place talks(Bus t) {
        return t.queue(o -> o.setSessionRequired(true).setLockDuration(Duration.ofSeconds(30)));
    }

    /** A message of a session. */
    static ServiceBusMessage in(String session, String body) {
        return msg(body).setSessionId(session);
    }

    /**
     * Accepts a session by its id, or the next one for null. By its id it does so over a connection of its own: on
     * one connection the SDK shares the link of a session, even with a receiver that has just been closed.
     */
    static ServiceBusReceiverClient accept(Bus t, Bus.Place p, String id) {
        return accept(t, id == null ? t.builder : t.builder(Bus.KEY), p, id);
    }

    private static ServiceBusReceiverClient accept(Bus t, ServiceBusClientBuilder b, Bus.Place p, String id) {
        var s = b.sessionReceiver().maxAutoLockRenewDuration(Duration.ZERO);
        s = p.sub() == null ? s.queueName(p.name()) : s.topicName(p.name()).subscriptionName(p.sub());
        var client = t.closing(s.buildClient());
        return t.closing(id == null ? client.acceptNextSession() : client.acceptSession(id));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] state) {
        return state == null ? "" : new String(state, StandardCharsets.UTF_8);
    }

    private static void acceptById(Bus t) {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"), in("y", "y1"), in("x", "x2"), in("y", "y2"));
        var r = accept(t, q, "y");
        equal(r.getSessionId(), "y");
        var got = take(r, 2);
        equal(bodies(got), List.of("y1", "y2"));
        equal(got.get(0).getSessionId(), "y");
        none(r);
    }

    private static void next(Bus t) {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"), in("y", "y1"));
        for (int i = 0; i < 2; i++) {
            var r = accept(t, q, null);
            one(r, r.getSessionId() + "1");
        }
    }

    private static void nextNone(Bus t) {
        var q = talks(t);
        var once = new AmqpRetryOptions().setMaxRetries(0).setTryTimeout(Duration.ofSeconds(2));
        refused(() -> accept(t, t.builder(Bus.KEY).retryOptions(once), q, null), "timeout");
    }

    private static void locked(Bus t) {
        var q = talks(t);
        accept(t, q, "x");
        refused(() -> take(accept(t, q, "x"), 1), "CANNOT_BE_LOCKED", TERMINATED);
    }

    private static void state(Bus t) {
        var q = talks(t);
        var r = accept(t, q, "x");
        r.setSessionState(bytes("half"));
        equal(text(r.getSessionState()), "half");
        r.close();
        r = accept(t, q, "x");
        equal(text(r.getSessionState()), "half");
        r.setSessionState(null);
        equal(text(r.getSessionState()), "");
    }

    private static void renew(Bus t) throws Exception {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"));
        var r = accept(t, q, "x");
        var got = one(r, "x1");
        var was = r.renewSessionLock();
        t.advance(20);
        lasts(was, r.renewSessionLock(), 20);
        t.advance(20);
        r.complete(got);
        none(r);
    }

    private static void lockLost(Bus t) throws Exception {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"));
        var r = accept(t, q, "x");
        var got = one(r, "x1");
        t.advance(31);
        refused(() -> r.complete(got), "LOCK_LOST", "lock-lost");
        equal(one(accept(t, q, "x"), "x1").getDeliveryCount(), 1L);
    }

    private static void close(Bus t) {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"));
        var r = accept(t, q, "x");
        one(r, "x1");
        r.close();
        equal(one(accept(t, q, "x"), "x1").getDeliveryCount(), 0L);
    }

    private static void abandon(Bus t) {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"), in("x", "x2"));
        var r = accept(t, q, "x");
        r.abandon(one(r, "x1"));
        equal(bodies(take(r, 2)), List.of("x1", "x2"));
    }

    private static void defer(Bus t) {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"));
        var r = accept(t, q, "x");
        var got = one(r, "x1");
        r.defer(got);
        r.close();
        r = accept(t, q, "x");
        none(r);
        var again = r.receiveDeferredMessage(got.getSequenceNumber());
        equal(again.getBody().toString(), "x1");
        r.complete(again);
        equal(peek(r, 1), List.of());
    }

    private static void lockedUntil(Bus t) throws Exception {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"));
        var r = accept(t, q, "x");
        var got = one(r, "x1");
        yes(got.getLockedUntil().getYear() >= 9999, got.getLockedUntil());
        r.defer(got);
        var again = r.receiveDeferredMessage(got.getSequenceNumber());
        yes(again.getLockedUntil().getYear() >= 9999, again.getLockedUntil());
        t.advance(20);
        r.renewSessionLock();
        t.advance(20);
        r.complete(again);
    }

    private static void schedule(Bus t) throws Exception {
        var q = talks(t);
        t.schedule(q.name(), 300, in("x", "x1"));
        t.advance(301);
        one(accept(t, q, "x"), "x1");
    }

    private static void peeks(Bus t) {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"), in("y", "y1"), in("x", "x2"));
        equal(bodies(peek(accept(t, q, "x"), 10)), List.of("x1", "x2"));
    }

    private static void required(Bus t) {
        var q = talks(t);
        refused(() -> t.send(q.name(), "a"), "session");
        refused(() -> Failing.receive(t, q), "session", TERMINATED);
    }

    private static void notSupported(Bus t) {
        var q = t.queue();
        refused(() -> take(accept(t, q, "x"), 1), "session", TERMINATED);
    }

    private static void subscription(Bus t) {
        t.topic();
        var s = t.sub("s", o -> o.setSessionRequired(true));
        t.send(t.name, in("x", "x1"));
        var r = accept(t, s, null);
        equal(r.getSessionId(), "x");
        r.complete(one(r, "x1"));
        none(r);
    }

    private static void deadLetter(Bus t) {
        var q = talks(t);
        t.send(q.name(), in("x", "x1"));
        var r = accept(t, q, "x");
        bury(r, one(r, "x1"));
        var got = one(t.receiver(q.deadLetters()), "x1");
        equal(got.getSessionId(), "x");
        equal(got.getDeadLetterReason(), "why");
    }
}
