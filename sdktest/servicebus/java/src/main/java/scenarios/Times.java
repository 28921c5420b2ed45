package scenarios;

import static scenarios.Bus.aged;
import static scenarios.Bus.bury;
import static scenarios.Bus.later;
import static scenarios.Bus.msg;
import static scenarios.Bus.numbered;
import static scenarios.Bus.one;
import static scenarios.Bus.peek;
import static scenarios.Bus.take;
import static scenarios.Want.equal;
import static scenarios.Want.lasts;
import static scenarios.Want.refused;
import static scenarios.Want.yes;

import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Locks, scheduling and time to live, by the server's virtual clock. */
final class Times {
    private static final Duration HUNDRED = Duration.ofSeconds(100);
    private static final int YEAR = 365 * 24 * 3600;

    private Times() {}

    static void add(Map<String, Run.Body> every) {
        every.put("lock-renew", Times::renew);
        every.put("lock-expires", Times::expires);
        every.put("lock-lost", Times::lost);
        every.put("lock-lost-renew", Times::lostRenew);
        every.put("lock-last-delivery", Times::lastDelivery);
        every.put("lock-updated-queue", Times::updatedQueue);
        every.put("lock-closed-receiver", Times::closedReceiver);
        every.put("schedule", Times::schedule);
        every.put("schedule-property", Times::scheduleProperty);
        every.put("schedule-several", Times::scheduleSeveral);
        every.put("schedule-cancel", Times::scheduleCancel);
        every.put("schedule-cancel-unknown", Run.without("takes not found for done"));
        every.put("schedule-past", Times::schedulePast);
        every.put("schedule-topic", Times::scheduleTopic);
        every.put("ttl-message", Times::ttlMessage);
        every.put("ttl-default", Times::ttlDefault);
        every.put("ttl-ceiling", Times::ttlCeiling);
        every.put("ttl-expires-at", Times::ttlExpiresAt);
        every.put("ttl-dead-letter", Times::ttlDeadLetter);
        every.put("ttl-locked", Times::ttlLocked);
        every.put("ttl-abandon", Times::ttlAbandon);
        every.put("ttl-scheduled", Times::ttlScheduled);
        every.put("ttl-default-changes", Times::ttlDefaultChanges);
        every.put("ttl-subscription", Times::ttlSubscription);
        every.put("ttl-deferred", Times::ttlDeferred);
        every.put("ttl-dead-letter-stays", Times::ttlDeadLetterStays);
    }

    private static Bus.Place brief(Bus t) {
        return t.queue(o -> o.setLockDuration(Duration.ofSeconds(30)));
    }

    private static void renew(Bus t) throws Exception {
        var q = brief(t);
        t.send(q.name(), "a");
        var r = t.receiver(q);
        var got = one(r, "a");
        var was = got.getLockedUntil();
        t.advance(20);
        lasts(was, r.renewMessageLock(got), 20);
        t.advance(20);
        r.complete(got);
        t.left(q);
    }

    private static void expires(Bus t) throws Exception {
        var q = brief(t);
        t.send(q.name(), "a");
        one(t.receiver(q), "a");
        t.advance(20);
        t.nothing(q);
        t.advance(11);
        equal(one(t.receiver(q), "a").getDeliveryCount(), 1L);
    }

    private static void lost(Bus t) throws Exception {
        var q = brief(t);
        t.send(q.name(), numbered(4));
        var r = t.receiver(q);
        var got = take(r, 4);
        t.advance(31);
        refused(() -> r.complete(got.get(0)), "MESSAGE_LOCK_LOST");
        refused(() -> r.abandon(got.get(1)), "MESSAGE_LOCK_LOST");
        refused(() -> r.defer(got.get(2)), "MESSAGE_LOCK_LOST");
        r.deadLetter(got.get(3)); // the SDK takes whatever rejection for the one that it asked for
        t.left(q, numbered(4));
    }

    private static void lostRenew(Bus t) throws Exception {
        var q = brief(t);
        t.send(q.name(), "a");
        var r = t.receiver(q);
        var got = one(r, "a");
        t.advance(31);
        refused(() -> r.renewMessageLock(got), "MESSAGE_LOCK_LOST");
    }

    private static void lastDelivery(Bus t) throws Exception {
        var q = t.queue(o -> o.setLockDuration(Duration.ofSeconds(30)).setMaxDeliveryCount(2));
        t.send(q.name(), "a");
        for (int i = 0; i < 2; i++) {
            one(t.receiver(q), "a");
            t.advance(31);
        }
        t.nothing(q);
        equal(one(t.receiver(q.deadLetters()), "a").getDeadLetterReason(), "MaxDeliveryCountExceeded");
    }

    private static void updatedQueue(Bus t) {
        var q = t.queue();
        t.send(q.name(), "a");
        var r = t.receiver(q);
        var got = one(r, "a");
        t.adm.updateQueue(t.adm.getQueue(q.name()).setLockDuration(Duration.ofMinutes(2)));
        refused(() -> r.complete(got), "MESSAGE_LOCK_LOST");
        t.left(q, "a");
    }

    private static void closedReceiver(Bus t) throws Exception {
        var q = brief(t);
        t.send(q.name(), "a");
        var r = t.receiver(q);
        one(r, "a");
        r.close();
        t.nothing(q);
        t.advance(31);
        equal(one(t.receiver(q), "a").getDeliveryCount(), 1L);
    }

    private static void schedule(Bus t) throws Exception {
        var q = t.queue();
        var due = later(300);
        t.schedule(q.name(), 300, msg("a"));
        t.advance(290);
        t.nothing(q);
        t.advance(11);
        var got = one(t.receiver(q), "a");
        lasts(due, got.getEnqueuedTime(), 0);
        lasts(due, got.getScheduledEnqueueTime(), 0);
        equal(got.getState(), ServiceBusMessageState.SCHEDULED);
    }

    private static void scheduleProperty(Bus t) throws Exception {
        var q = t.queue();
        var due = later(300);
        t.send(q.name(), msg("a").setScheduledEnqueueTime(due));
        t.advance(290);
        t.nothing(q);
        t.advance(11);
        lasts(due, one(t.receiver(q), "a").getEnqueuedTime(), 0);
    }

    private static void scheduleSeveral(Bus t) throws Exception {
        var q = t.queue();
        var numbers = t.schedule(q.name(), 300, msg("a"), msg("b"), msg("c"));
        equal(numbers.stream().distinct().sorted().toList(), numbers);
        t.nothing(q);
        t.advance(301);
        t.left(q, "a", "b", "c");
    }

    private static void scheduleCancel(Bus t) throws Exception {
        var q = t.queue();
        var numbers = t.schedule(q.name(), 300, msg("a"), msg("b"));
        t.sender(q.name()).cancelScheduledMessage(numbers.get(0));
        t.advance(301);
        t.left(q, "b");
    }

    private static void schedulePast(Bus t) {
        var q = t.queue();
        t.schedule(q.name(), -60, msg("a"));
        t.left(q, "a");
    }

    private static void scheduleTopic(Bus t) throws Exception {
        var subs = t.topic("s1", "s2");
        t.schedule(t.name, 300, msg("a"));
        t.nothing(subs.get(0));
        t.advance(301);
        t.left(subs.get(0), "a");
        t.left(subs.get(1), "a");
    }

    /** Wants of "a" and "b" one to be there after 90 seconds, and none after 100. */
    private static void diesAfterAHundred(Bus t, Bus.Place q) throws Exception {
        t.advance(90);
        one(t.deleting(q), "a");
        t.advance(10);
        t.left(q);
    }

    private static void ttlMessage(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), aged("a", 100), aged("b", 100));
        diesAfterAHundred(t, q);
    }

    private static void ttlDefault(Bus t) throws Exception {
        var q = t.queue(o -> o.setDefaultMessageTimeToLive(HUNDRED));
        t.send(q.name(), "a", "b");
        diesAfterAHundred(t, q);
    }

    private static void ttlCeiling(Bus t) throws Exception {
        var q = t.queue(o -> o.setDefaultMessageTimeToLive(HUNDRED));
        t.send(q.name(), aged("a", 1000), aged("b", 1000));
        equal(one(t.deleting(q), "a").getTimeToLive(), HUNDRED);
        t.advance(100);
        t.left(q);
    }

    private static void ttlExpiresAt(Bus t) {
        var q = t.queue();
        t.send(q.name(), aged("a", 100));
        var r = t.receiver(q);
        for (ServiceBusReceivedMessage got : List.of(peek(r, 1).get(0), one(r, "a"))) {
            lasts(got.getEnqueuedTime(), got.getExpiresAt(), 100);
        }
    }

    private static void ttlDeadLetter(Bus t) throws Exception {
        var q = t.queue(o -> o.setDeadLetteringOnMessageExpiration(true));
        t.send(q.name(), aged("a", 100));
        t.advance(101);
        t.nothing(q);
        equal(one(t.receiver(q.deadLetters()), "a").getDeadLetterReason(), "TTLExpiredException");
    }

    private static void ttlLocked(Bus t) throws Exception {
        var q = t.queue(o -> o.setDeadLetteringOnMessageExpiration(true));
        t.send(q.name(), aged("a", 20));
        var r = t.receiver(q);
        var got = one(r, "a");
        t.advance(40);
        r.complete(got);
        t.left(q);
        t.left(q.deadLetters());
    }

    private static void ttlAbandon(Bus t) throws Exception {
        var q = t.queue(o -> o.setDeadLetteringOnMessageExpiration(true));
        t.send(q.name(), aged("a", 20));
        var r = t.receiver(q);
        var got = one(r, "a");
        t.advance(40);
        r.abandon(got);
        t.nothing(q);
        equal(one(t.receiver(q.deadLetters()), "a").getDeadLetterReason(), "TTLExpiredException");
    }

    private static void ttlScheduled(Bus t) throws Exception {
        var q = t.queue();
        t.schedule(q.name(), 300, aged("a", 100), aged("b", 100));
        t.advance(301);
        t.advance(90);
        one(t.deleting(q), "a");
        t.advance(11);
        t.left(q);
    }

    private static void ttlDefaultChanges(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), msg("none"), aged("own", 200));
        t.adm.updateQueue(t.adm.getQueue(q.name()).setDefaultMessageTimeToLive(HUNDRED));
        t.advance(101);
        t.left(q, "own");
    }

    private static void ttlSubscription(Bus t) throws Exception {
        t.topic(o -> o.setDefaultMessageTimeToLive(HUNDRED));
        var brief = t.sub("short", o -> o.setDefaultMessageTimeToLive(HUNDRED.dividedBy(2)));
        var longer = t.sub("long", o -> {});
        t.send(t.name, "a", "b");
        t.advance(51);
        t.left(brief);
        one(t.deleting(longer), "a");
        t.advance(50);
        t.left(longer);
    }

    private static void ttlDeferred(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), aged("a", 100));
        var r = t.receiver(q);
        var got = one(r, "a");
        r.defer(got);
        t.advance(200);
        var again = r.receiveDeferredMessage(got.getSequenceNumber());
        yes(again != null, "not received");
        equal(again.getBody().toString(), "a");
    }

    private static void ttlDeadLetterStays(Bus t) throws Exception {
        var q = t.queue();
        t.send(q.name(), aged("a", 100));
        var r = t.receiver(q);
        bury(r, one(r, "a"));
        t.advance(YEAR);
        t.left(q.deadLetters(), "a");
    }
}
