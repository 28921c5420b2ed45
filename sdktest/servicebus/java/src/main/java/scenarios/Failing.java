package scenarios;

import static scenarios.Bus.bodies;
import static scenarios.Bus.msg;
import static scenarios.Bus.one;
import static scenarios.Bus.peek;
import static scenarios.Want.equal;
import static scenarios.Want.refused;

import com.azure.core.amqp.AmqpTransportType;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.administration.models.EntityStatus;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Errors, and the ways in beside the plain port. */
final class Failing {
    private static final String GONE = "MESSAGING_ENTITY_NOT_FOUND";
    private static final String DISABLED = "MESSAGING_ENTITY_DISABLED";
    /** What the SDK says where a receiver's first link was refused, whatever the server said. */
    static final String TERMINATED = "upstream-error";

    private Failing() {}

    static void add(Map<String, Run.Body> every) {
        every.put("error-missing", Failing::missing);
        every.put("error-disabled", Failing::disabled);
        every.put("error-send-disabled", Failing::sendDisabled);
        every.put("error-receive-disabled", Failing::receiveDisabled);
        every.put("error-wrong-key", Failing::wrongKey);
        every.put("error-deleted-queue", Failing::deletedQueue);
        every.put("over-tls", t -> secure(t, AmqpTransportType.AMQP));
        every.put("over-websocket", t -> secure(t, AmqpTransportType.AMQP_WEB_SOCKETS));
    }

    static void receive(Bus t, Bus.Place p) {
        t.receiver(p).receiveMessages(1, Duration.ofSeconds(10)).stream().toList();
    }

    private static void setStatus(Bus t, Bus.Place q, EntityStatus status) {
        t.adm.updateQueue(t.adm.getQueue(q.name()).setStatus(status));
    }

    private static void missing(Bus t) {
        refused(() -> t.send("not-there", "a"), "could not be found. to know more visit");
        refused(() -> receive(t, new Bus.Place("not-there", null, false)), GONE, TERMINATED);
    }

    private static void disabled(Bus t) {
        var q = t.queue();
        setStatus(t, q, EntityStatus.DISABLED);
        refused(() -> t.send(q.name(), "a"), DISABLED);
        refused(() -> receive(t, q), DISABLED, TERMINATED);
        setStatus(t, q, EntityStatus.ACTIVE);
        t.send(q.name(), "b");
        t.left(q, "b");
    }

    private static void sendDisabled(Bus t) {
        var q = t.queue();
        t.send(q.name(), "a");
        setStatus(t, q, EntityStatus.SEND_DISABLED);
        refused(() -> t.send(q.name(), "b"), DISABLED);
        t.left(q, "a");
    }

    private static void receiveDisabled(Bus t) {
        var q = t.queue();
        setStatus(t, q, EntityStatus.RECEIVE_DISABLED);
        t.send(q.name(), "a");
        refused(() -> receive(t, q), DISABLED, TERMINATED);
    }

    private static void wrongKey(Bus t) {
        var q = t.queue();
        refused(() -> t.sender(t.builder("another"), q.name()).sendMessage(msg("a")), "UNAUTHORIZED");
        refused(() -> t.administrator("another").getQueue(q.name()), "401");
    }

    private static void deletedQueue(Bus t) {
        var q = t.queue();
        var s = t.sender(q.name());
        s.sendMessage(msg("a"));
        t.adm.deleteQueue(q.name());
        refused(() -> s.sendMessage(msg("b")), GONE);
    }

    /** Does over a client with TLS what tells that it works. */
    private static void secure(Bus t, AmqpTransportType transport) {
        var q = t.queue();
        var b = Bus.retrying(new ServiceBusClientBuilder()
            .connectionString(Bus.connection("localhost", Bus.KEY))
            .customEndpointAddress("https://" + t.flags.tls()).transportType(transport));
        t.sender(b, q.name()).sendMessage(msg("a"));
        var r = t.receiver(b, q, ServiceBusReceiveMode.PEEK_LOCK);
        equal(bodies(peek(r, 1)), List.of("a"));
        r.complete(one(r, "a"));
        t.left(q);
    }
}
