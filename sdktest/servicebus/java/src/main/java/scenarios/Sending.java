package scenarios;

import static scenarios.Bus.SHORTLY;
import static scenarios.Bus.bodies;
import static scenarios.Bus.msg;
import static scenarios.Bus.none;
import static scenarios.Bus.numbered;
import static scenarios.Bus.one;
import static scenarios.Bus.take;
import static scenarios.Want.equal;
import static scenarios.Want.lasts;
import static scenarios.Want.recent;
import static scenarios.Want.refused;
import static scenarios.Want.yes;

import com.azure.core.amqp.models.AmqpMessageBody;
import com.azure.core.util.BinaryData;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusMessageBatch;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Sending and receiving. */
final class Sending {
    private Sending() {}

    static void add(Map<String, Run.Body> every) {
        every.put("send-receive", Sending::receive);
        every.put("send-properties", Sending::properties);
        every.put("send-application-properties", Sending::applicationProperties);
        every.put("send-empty", Sending::empty);
        every.put("send-binary", Sending::binary);
        every.put("send-large", Sending::large);
        every.put("send-too-large", Sending::tooLarge);
        every.put("send-without-id", Sending::withoutId);
        every.put("send-concurrent", Sending::concurrent);
        every.put("send-value-body", Sending::valueBody);
        every.put("send-annotated", Sending::annotated);
        every.put("send-again", Sending::again);
        every.put("batch-send", Sending::batch);
        every.put("batch-list", Sending::list);
        every.put("batch-full", Sending::full);
        every.put("receive-several", Sending::several);
        every.put("receive-waits", Sending::waits);
        every.put("receive-nothing", t -> t.nothing(t.queue()));
        every.put("receive-and-delete", Sending::deleted);
        every.put("receive-competing", Sending::competing);
        every.put("receive-iterate", Run.without("no iterator of the synchronous client that goes on"));
    }

    private static void receive(Bus t) {
        var q = t.queue();
        t.send(q.name(), "hello");
        var r = t.receiver(q);
        var got = one(r, "hello");
        equal(got.getSequenceNumber(), 1L);
        equal(got.getDeliveryCount(), 0L);
        equal(got.getState(), ServiceBusMessageState.ACTIVE);
        lasts(got.getEnqueuedTime(), got.getLockedUntil(), 60);
        recent(got.getEnqueuedTime());
        r.complete(got);
        t.left(q);
    }

    private static void annotated(Bus t) {
        var q = t.queue();
        var sent = msg("b");
        var raw = sent.getRawAmqpMessage();
        raw.getHeader().setDurable(true).setPriority((short) 7);
        raw.getDeliveryAnnotations().put("x-opt-hop", "one");
        raw.getFooter().put("x-opt-sum", "three");
        t.send(q.name(), sent);
        var got = one(t.receiver(q), "b").getRawAmqpMessage();
        equal(got.getHeader().isDurable(), true);
        equal(got.getHeader().getPriority(), (short) 7);
        equal(got.getDeliveryAnnotations().get("x-opt-hop"), "one");
        yes(got.getDeliveryAnnotations().get("x-opt-lock-token") != null, "no lock token");
        equal(got.getFooter().get("x-opt-sum"), "three");
    }

    private static void again(Bus t) {
        var q = t.queue();
        var sent = msg("b").setMessageId("id-1").setPartitionKey("pk");
        sent.getApplicationProperties().put("step", "one");
        t.send(q.name(), sent);
        var r = t.receiver(q);
        var was = one(r, "b");
        r.complete(was);
        t.send(q.name(), new ServiceBusMessage(was));
        var got = one(r, "b");
        equal(got.getMessageId(), "id-1");
        equal(got.getPartitionKey(), "pk");
        equal(got.getApplicationProperties().get("step"), "one");
        equal(got.getSequenceNumber(), 2L);
    }

    private static void properties(Bus t) {
        var q = t.queue();
        t.send(q.name(), msg("b").setMessageId("id-1").setSubject("greeting").setCorrelationId("c-1")
            .setTo("somebody").setReplyTo("answers").setReplyToSessionId("rs").setContentType("text/plain")
            .setPartitionKey("pk"));
        var got = one(t.receiver(q), "b");
        equal(Stream.of(got.getMessageId(), got.getSubject(), got.getCorrelationId(), got.getTo(),
            got.getReplyTo(), got.getReplyToSessionId(), got.getContentType(),
            got.getPartitionKey()).toList(),
            List.of("id-1", "greeting", "c-1", "somebody", "answers", "rs", "text/plain", "pk"));
    }

    private static void applicationProperties(Bus t) {
        var q = t.queue();
        Map<String, Object> sent = new LinkedHashMap<>();
        sent.put("text", "ä€😀");
        sent.put("empty", "");
        sent.put("long", 1L << 53);
        sent.put("small", -7);
        sent.put("fraction", 0.1);
        sent.put("yes", true);
        sent.put("no", false);
        sent.put("moment", new Date(1700000000123L));
        sent.put("a name with blanks", "1");
        sent.put("größe", "2");
        var m = msg("b");
        m.getApplicationProperties().putAll(sent);
        t.send(q.name(), m);
        equal(new LinkedHashMap<>(one(t.receiver(q), "b").getApplicationProperties()), sent);
    }

    private static void empty(Bus t) {
        var q = t.queue();
        t.send(q.name(), "");
        t.left(q, "");
    }

    private static void binary(Bus t) {
        var q = t.queue();
        byte[] body = new byte[1024];
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) i;
        }
        t.send(q.name(), new ServiceBusMessage(BinaryData.fromBytes(body)));
        yes(Arrays.equals(take(t.receiver(q), 1).get(0).getBody().toBytes(), body), "another body");
    }

    private static void large(Bus t) {
        var q = t.queue();
        String body = "0123456789".repeat(20 << 10);
        t.send(q.name(), body);
        t.left(q, body);
    }

    private static void tooLarge(Bus t) {
        var q = t.queue();
        refused(() -> t.send(q.name(), "x".repeat(300 << 10)), "size");
        t.left(q);
    }

    private static void withoutId(Bus t) {
        var q = t.queue();
        t.send(q.name(), "a", "b");
        var got = take(t.receiver(q), 2);
        String a = got.get(0).getMessageId();
        String b = got.get(1).getMessageId();
        yes(a != null && b != null && !a.equals(b), a + ", " + b);
    }

    private static void concurrent(Bus t) {
        var q = t.queue();
        var s = t.sender(q.name());
        CompletableFuture.allOf(Arrays.stream(numbered(100))
            .map(body -> CompletableFuture.runAsync(() -> s.sendMessage(msg(body))))
            .toArray(CompletableFuture[]::new)).join();
        t.left(q, List.of(numbered(100)), false);
    }

    private static void valueBody(Bus t) {
        var q = t.queue();
        t.send(q.name(), new ServiceBusMessage(AmqpMessageBody.fromValue("plain text")),
            new ServiceBusMessage(AmqpMessageBody.fromSequence(List.of(1, "two", true))));
        var got = take(t.receiver(q), 2);
        equal(got.get(0).getRawAmqpMessage().getBody().getValue(), "plain text");
        equal(got.get(1).getRawAmqpMessage().getBody().getSequence(), List.of(1, "two", true));
    }

    private static void batch(Bus t) {
        var q = t.queue();
        var s = t.sender(q.name());
        ServiceBusMessageBatch batch = s.createMessageBatch();
        for (String body : numbered(20)) {
            yes(batch.tryAddMessage(msg(body)), "full");
        }
        equal(batch.getCount(), 20);
        s.sendMessages(batch);
        t.left(q, numbered(20));
    }

    private static void list(Bus t) {
        var q = t.queue();
        t.sender(q.name()).sendMessages(Arrays.stream(numbered(20)).map(Bus::msg).toList());
        t.left(q, numbered(20));
    }

    private static void full(Bus t) {
        var q = t.queue();
        var s = t.sender(q.name());
        ServiceBusMessageBatch batch = s.createMessageBatch();
        String body = "x".repeat(50 << 10);
        while (batch.getCount() <= 20 && batch.tryAddMessage(msg(body))) {
            // until it is full
        }
        int added = batch.getCount();
        yes(added >= 4 && added <= 20, added + " went in");
        s.sendMessages(batch);
        t.left(q, Collections.nCopies(added, body), true);
    }

    private static void several(Bus t) {
        var q = t.queue();
        t.send(q.name(), numbered(10));
        var r = t.receiver(q);
        List<ServiceBusReceivedMessage> got = new ArrayList<>();
        while (got.size() < 10) {
            var some = r.receiveMessages(4, Duration.ofSeconds(5)).stream().toList();
            yes(!some.isEmpty() && some.size() <= 4, some.size() + " at once");
            got.addAll(some);
        }
        equal(bodies(got), List.of(numbered(10)));
        equal(got.stream().map(ServiceBusReceivedMessage::getSequenceNumber).toList(),
            LongStream.rangeClosed(1, 10).boxed().toList());
    }

    private static void waits(Bus t) throws Exception {
        var q = t.queue();
        var r = t.receiver(q);
        var receiving = CompletableFuture.supplyAsync(() -> one(r, "late"));
        Thread.sleep(SHORTLY.toMillis());
        t.send(q.name(), "late");
        receiving.get();
    }

    private static void deleted(Bus t) {
        var q = t.queue();
        t.send(q.name(), "once");
        var r = t.deleting(q);
        var got = one(r, "once");
        refused(() -> r.complete(got), "RECEIVE_AND_DELETE", "lock", "UnsupportedOperation");
        t.left(q);
    }

    private static void competing(Bus t) {
        var q = t.queue();
        t.send(q.name(), "a", "b");
        var first = t.receiver(q);
        var second = t.receiver(q);
        one(first, "a");
        one(second, "b");
        none(second);
    }
}
