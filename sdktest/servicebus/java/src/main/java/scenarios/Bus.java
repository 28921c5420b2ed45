package scenarios;

import static scenarios.Want.equal;

import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.core.exception.ResourceNotFoundException;
import com.azure.core.http.policy.FixedDelayOptions;
import com.azure.core.http.policy.RetryOptions;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClientBuilder;
import com.azure.messaging.servicebus.administration.models.CreateQueueOptions;
import com.azure.messaging.servicebus.administration.models.CreateRuleOptions;
import com.azure.messaging.servicebus.administration.models.CreateSubscriptionOptions;
import com.azure.messaging.servicebus.administration.models.CreateTopicOptions;
import com.azure.messaging.servicebus.administration.models.RuleAction;
import com.azure.messaging.servicebus.administration.models.RuleFilter;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import com.azure.messaging.servicebus.models.SubQueue;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** What one scenario works with: clients, entities of its own, and the server's clock. */
final class Bus {
    /** What the command line says; the first three are host and port, control may be null. */
    record Flags(String amqp, String admin, String tls, URI mayfly, URI control) {}

    /** Where messages are received from: a queue, or a subscription of a topic. */
    record Place(String name, String sub, boolean dead) {
        Place deadLetters() {
            return new Place(name, sub, true);
        }
    }

    static final String KEY = "SAS_KEY_VALUE";
    /** For the server's own routes; every Cosmos DB emulator is known to have it. */
    private static final String MASTER_KEY =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    static final Duration SOME_TIME = Duration.ofSeconds(20);
    /** How long a receiver waits that is to get nothing. The SDK counts in it the time to attach. */
    static final Duration SHORTLY = Duration.ofMillis(1000);

    private static final HttpClient HTTP = HttpClient.newHttpClient();

    final String name;
    final Flags flags;
    final ServiceBusAdministrationClient adm;
    /** What all clients are made from that share the scenario's connection. */
    final ServiceBusClientBuilder builder;
    private final Deque<Run.Step> after = new ArrayDeque<>();
    private final List<String> topics = new ArrayList<>();

    Bus(String name, Flags flags) throws Exception {
        this.name = name;
        this.flags = flags;
        clock(flags.mayfly(), "{\"real\": true}");
        builder = builder(KEY);
        adm = administrator(KEY);
    }

    /** The settings of clients, which reach the plain port. Retries come soon, and go on over a restart. */
    ServiceBusClientBuilder builder(String key) {
        return retrying(new ServiceBusClientBuilder()
            .connectionString(connection(flags.amqp(), key) + "UseDevelopmentEmulator=true;"));
    }

    static ServiceBusClientBuilder retrying(ServiceBusClientBuilder b) {
        return b.retryOptions(new AmqpRetryOptions().setMaxRetries(5).setDelay(Duration.ofMillis(200))
            .setMaxDelay(Duration.ofSeconds(10)).setTryTimeout(Duration.ofSeconds(15)));
    }

    static String connection(String place, String key) {
        return "Endpoint=sb://" + place + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey="
            + key + ";";
    }

    /** The SDK knows port 443 alone, so a policy puts the port into each request. */
    ServiceBusAdministrationClient administrator(String key) {
        URI to = URI.create("https://" + flags.admin());
        return new ServiceBusAdministrationClientBuilder()
            .connectionString(connection(to.getHost(), key))
            .addPolicy((context, next) -> {
                URL url = context.getHttpRequest().getUrl();
                try {
                    URL moved = new URL("https", url.getHost(), to.getPort(), url.getFile());
                    context.getHttpRequest().setUrl(moved);
                } catch (MalformedURLException e) {
                    throw new IllegalStateException(e);
                }
                return next.process();
            })
            .retryOptions(new RetryOptions(new FixedDelayOptions(0, Duration.ofMillis(1))))
            .buildClient();
    }

    /** Creates a queue by the scenario's name. */
    Place queue() {
        return queue("", o -> {});
    }

    Place queue(Consumer<CreateQueueOptions> change) {
        return queue("", change);
    }

    Place queue(String suffix, Consumer<CreateQueueOptions> change) {
        String named = suffix.isEmpty() ? name : name + "-" + suffix;
        CreateQueueOptions options = new CreateQueueOptions();
        change.accept(options);
        adm.createQueue(named, options);
        dropQueue(named);
        return new Place(named, null, false);
    }

    void dropQueue(String named) {
        after.push(() -> unlessMissing(() -> adm.deleteQueue(named)));
    }

    /** Creates a topic by the scenario's name, and subscriptions with these names. */
    List<Place> topic(String... subs) {
        return topic(o -> {}, subs);
    }

    List<Place> topic(Consumer<CreateTopicOptions> change, String... subs) {
        CreateTopicOptions options = new CreateTopicOptions();
        change.accept(options);
        adm.createTopic(name, options);
        dropTopic(name);
        return List.of(subs).stream().map(s -> sub(s, o -> {})).toList();
    }

    void dropTopic(String named) {
        topics.add(named);
        after.push(() -> unlessMissing(() -> adm.deleteTopic(named)));
    }

    Place sub(String sub, Consumer<CreateSubscriptionOptions> change) {
        CreateSubscriptionOptions options = new CreateSubscriptionOptions();
        change.accept(options);
        adm.createSubscription(name, sub, options);
        return new Place(name, sub, false);
    }

    /** Creates a subscription with one rule in place of $Default. */
    Place ruled(String sub, RuleFilter filter, RuleAction action) {
        return ruled(sub, filter, action, o -> {});
    }

    Place ruled(
        String sub, RuleFilter filter, RuleAction action, Consumer<CreateSubscriptionOptions> change) {
        CreateSubscriptionOptions options = new CreateSubscriptionOptions();
        change.accept(options);
        CreateRuleOptions rule = new CreateRuleOptions(filter);
        if (action != null) {
            rule.setAction(action);
        }
        adm.createSubscription(name, sub, sub, options, rule);
        return new Place(name, sub, false);
    }

    void rule(String sub, String rule, RuleFilter filter, RuleAction action) {
        CreateRuleOptions options = new CreateRuleOptions(filter);
        if (action != null) {
            options.setAction(action);
        }
        adm.createRule(name, rule, sub, options);
    }

    /** Has something closed at the end. */
    <T extends AutoCloseable> T closing(T thing) {
        after.push(thing::close);
        return thing;
    }

    ServiceBusSenderClient sender(String to) {
        return sender(builder, to);
    }

    ServiceBusSenderClient sender(ServiceBusClientBuilder b, String to) {
        var s = b.sender();
        return closing((topics.contains(to) ? s.topicName(to) : s.queueName(to)).buildClient());
    }

    /** Sends messages one after the other. */
    void send(String to, ServiceBusMessage... messages) {
        ServiceBusSenderClient s = sender(to);
        for (ServiceBusMessage m : messages) {
            s.sendMessage(m);
        }
    }

    void send(String to, String... bodies) {
        send(to, List.of(bodies).stream().map(ServiceBusMessage::new).toArray(ServiceBusMessage[]::new));
    }

    /** Schedules messages for so many seconds from now, and returns their numbers. */
    List<Long> schedule(String to, int seconds, ServiceBusMessage... messages) {
        List<Long> numbers = new ArrayList<>();
        sender(to).scheduleMessages(List.of(messages), later(seconds)).forEach(numbers::add);
        equal(numbers.size(), messages.length);
        return numbers;
    }

    /** Makes a receiver that locks and renews nothing by itself. */
    ServiceBusReceiverClient receiver(Place p) {
        return receiver(builder, p, ServiceBusReceiveMode.PEEK_LOCK);
    }

    /** Makes a receiver that deletes. */
    ServiceBusReceiverClient deleting(Place p) {
        return receiver(builder, p, ServiceBusReceiveMode.RECEIVE_AND_DELETE);
    }

    ServiceBusReceiverClient receiver(ServiceBusClientBuilder b, Place p, ServiceBusReceiveMode mode) {
        var r = b.receiver().receiveMode(mode).maxAutoLockRenewDuration(Duration.ZERO);
        if (p.dead()) {
            r.subQueue(SubQueue.DEAD_LETTER_QUEUE);
        }
        r = p.sub() == null ? r.queueName(p.name()) : r.topicName(p.name()).subscriptionName(p.sub());
        return closing(r.buildClient());
    }

    /** Wants a receiver that waits shortly to get nothing. */
    void nothing(Place p) {
        ServiceBusReceiverClient r = receiver(p);
        none(r);
        r.close();
    }

    /** Wants exactly these bodies, and takes them out. */
    void left(Place p, String... want) {
        left(p, List.of(want), true);
    }

    void left(Place p, List<String> want, boolean ordered) {
        ServiceBusReceiverClient r = deleting(p);
        List<String> got = bodies(take(r, want.size()));
        if (ordered) {
            equal(got, want);
        } else {
            equal(got.stream().sorted().toList(), want.stream().sorted().toList());
        }
        none(r);
        r.close();
    }

    /** Receives this many messages. */
    static List<ServiceBusReceivedMessage> take(ServiceBusReceiverClient r, int n) {
        List<ServiceBusReceivedMessage> got = new ArrayList<>();
        long until = System.nanoTime() + SOME_TIME.toNanos();
        while (got.size() < n && System.nanoTime() < until) {
            r.receiveMessages(n - got.size(), Duration.ofSeconds(5)).forEach(got::add);
        }
        Want.yes(got.size() == n, "received " + got.size() + " of " + n);
        return got;
    }

    /** Receives a message and wants it to have this body. */
    static ServiceBusReceivedMessage one(ServiceBusReceiverClient r, String body) {
        ServiceBusReceivedMessage got = take(r, 1).get(0);
        equal(got.getBody().toString(), body);
        return got;
    }

    /** Wants nothing. */
    static void none(ServiceBusReceiverClient r) {
        equal(bodies(r.receiveMessages(1, SHORTLY).stream().toList()), List.of());
    }

    static List<ServiceBusReceivedMessage> peek(ServiceBusReceiverClient r, int n) {
        return r.peekMessages(n).stream().toList();
    }

    static void bury(ServiceBusReceiverClient r, ServiceBusReceivedMessage m) {
        r.deadLetter(m, new DeadLetterOptions()
            .setDeadLetterReason("why").setDeadLetterErrorDescription("because"));
    }

    static List<String> bodies(List<ServiceBusReceivedMessage> messages) {
        return messages.stream().map(m -> m.getBody().toString()).toList();
    }

    static ServiceBusMessage msg(String body) {
        return new ServiceBusMessage(body);
    }

    static ServiceBusMessage aged(String body, int seconds) {
        return msg(body).setTimeToLive(Duration.ofSeconds(seconds));
    }

    /** The bodies m00, m01 and so on. */
    static String[] numbered(int n) {
        return IntStream.range(0, n).mapToObj(i -> String.format("m%02d", i)).toArray(String[]::new);
    }

    /** A moment by the machine's clock, with which the server's agrees when a scenario begins. */
    static OffsetDateTime later(int seconds) {
        return OffsetDateTime.now().plusSeconds(seconds);
    }

    /** Moves the server's clock on. */
    void advance(int seconds) throws Exception {
        clock(flags.mayfly(), "{\"advance\": \"" + seconds + "s\"}");
    }

    /** Ends the server, by "stop" or "kill", and returns when it is back. */
    void restart(String how) throws Exception {
        Want.yes(flags.control() != null, "needs --control");
        own("POST", flags.control().resolve(how), "");
    }

    private static void clock(URI mayfly, String change) throws Exception {
        own("PUT", mayfly.resolve("_mayfly/clock?settle=true"), change);
    }

    private static void own(String method, URI to, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(to)
            .version(HttpClient.Version.HTTP_1_1)
            .header("Authorization", "Bearer " + MASTER_KEY)
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        Want.yes(answer.statusCode() == 200,
            method + " " + to + ": " + answer.statusCode() + " " + answer.body());
    }

    private static void unlessMissing(Runnable deletion) {
        try {
            deletion.run();
        } catch (ResourceNotFoundException e) {
            // a scenario has deleted it
        }
    }

    /** Deletes the entities and closes the clients. */
    void close() throws Exception {
        while (!after.isEmpty()) {
            after.pop().run();
        }
    }
}
