package scenarios;

import static scenarios.Bus.bury;
import static scenarios.Bus.msg;
import static scenarios.Bus.numbered;
import static scenarios.Bus.one;
import static scenarios.Want.equal;
import static scenarios.Want.recent;
import static scenarios.Want.refused;
import static scenarios.Want.yes;

import com.azure.messaging.servicebus.administration.models.AccessRights;
import com.azure.messaging.servicebus.administration.models.CorrelationRuleFilter;
import com.azure.messaging.servicebus.administration.models.EntityStatus;
import com.azure.messaging.servicebus.administration.models.MessagingSku;
import com.azure.messaging.servicebus.administration.models.QueueProperties;
import com.azure.messaging.servicebus.administration.models.RuleProperties;
import com.azure.messaging.servicebus.administration.models.SharedAccessAuthorizationRule;
import com.azure.messaging.servicebus.administration.models.SqlRuleAction;
import com.azure.messaging.servicebus.administration.models.SqlRuleFilter;
import com.azure.messaging.servicebus.administration.models.SubscriptionProperties;
import com.azure.messaging.servicebus.administration.models.TopicProperties;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The administration client. */
final class Administration {
    private static final String EXISTS = "ResourceExists";
    private static final String MISSING = "ResourceNotFound";
    private static final Duration DAY = Duration.ofHours(25);
    private static final Duration LOCK = Duration.ofSeconds(42);
    private static final Duration IDLE = Duration.ofMinutes(10);
    private static final Duration WINDOW = Duration.ofMinutes(5);
    private static final Duration BRIEF = Duration.ofSeconds(5);

    private Administration() {}

    static void add(Map<String, Run.Body> every) {
        every.put("admin-namespace", Administration::namespace);
        every.put("admin-queue-lifecycle", Administration::queueLifecycle);
        every.put("admin-queue-defaults", Administration::queueDefaults);
        every.put("admin-queue-properties", Administration::queueProperties);
        every.put("admin-queue-listing", Administration::queueListing);
        every.put("admin-queue-runtime", Administration::queueRuntime);
        every.put("admin-topic-lifecycle", Administration::topicLifecycle);
        every.put("admin-topic-properties", Administration::topicProperties);
        every.put("admin-topic-listing", Administration::topicListing);
        every.put("admin-topic-runtime", Administration::topicRuntime);
        every.put("admin-subscription-lifecycle", Administration::subscriptionLifecycle);
        every.put("admin-subscription-properties", Administration::subscriptionProperties);
        every.put("admin-subscription-listing", Administration::subscriptionListing);
        every.put("admin-subscription-runtime", Administration::subscriptionRuntime);
        every.put("admin-rule-lifecycle", Administration::ruleLifecycle);
        every.put("admin-rule-listing", Administration::ruleListing);
        every.put("admin-default-rule", Administration::ownRule);
        every.put("admin-names", Administration::names);
        every.put("admin-one-namespace", t -> refused(() -> t.adm.createTopic(t.queue().name()), EXISTS));
        every.put("admin-forward-missing", Administration::forwardMissing);
        every.put("admin-delete-topic", Administration::deleteTopic);
    }

    private static void namespace(Bus t) {
        var n = t.adm.getNamespaceProperties();
        yes(n.getName() != null && !n.getName().isEmpty(), "no name");
        equal(n.getMessagingSku(), MessagingSku.STANDARD);
    }

    private static void queueLifecycle(Bus t) {
        var q = t.queue().name();
        refused(() -> t.adm.createQueue(q), EXISTS);
        equal(t.adm.getQueue(q).getName(), q);
        equal(t.adm.getQueueExists(q), true);
        t.adm.deleteQueue(q);
        equal(t.adm.getQueueExists(q), false);
        refused(() -> t.adm.getQueue(q), MISSING);
        refused(() -> t.adm.deleteQueue(q), MISSING);
    }

    private static void queueDefaults(Bus t) {
        QueueProperties p = t.adm.getQueue(t.queue().name());
        equal(p.getLockDuration(), Duration.ofMinutes(1));
        equal(p.getMaxDeliveryCount(), 10);
        equal(p.getDefaultMessageTimeToLive().toDays(), 10675199L);
        equal(p.getAutoDeleteOnIdle().toDays(), 10675199L);
        yes(!p.isSessionRequired() && !p.isDuplicateDetectionRequired(), "sessions or duplicate detection");
        yes(!p.isDeadLetteringOnMessageExpiration(), "dead letters on expiry");
        equal(p.getMaxSizeInMegabytes(), 1024L);
        equal(p.getStatus(), EntityStatus.ACTIVE);
    }

    private static void queueProperties(Bus t) {
        var dead = t.queue("dead", o -> {});
        var q = t.queue(o -> {
            o.setLockDuration(LOCK).setMaxSizeInMegabytes(2048).setDuplicateDetectionRequired(true)
                .setSessionRequired(true).setDefaultMessageTimeToLive(DAY)
                .setDeadLetteringOnMessageExpiration(true)
                .setDuplicateDetectionHistoryTimeWindow(WINDOW).setMaxDeliveryCount(7)
                .setBatchedOperationsEnabled(false).setAutoDeleteOnIdle(IDLE).setUserMetadata("<&> ä")
                .setForwardDeadLetteredMessagesTo(dead.name());
            o.getAuthorizationRules().add(
                new SharedAccessAuthorizationRule("reads", "MTIz", "NDU2", List.of(AccessRights.LISTEN)));
        });
        QueueProperties p = t.adm.getQueue(q.name());
        equal(List.of(p.getLockDuration(), p.getDefaultMessageTimeToLive(),
            p.getDuplicateDetectionHistoryTimeWindow(), p.getAutoDeleteOnIdle()),
            List.of(LOCK, DAY, WINDOW, IDLE));
        equal(p.getMaxSizeInMegabytes(), 2048L);
        equal(p.getMaxDeliveryCount(), 7);
        equal(List.of(p.isDuplicateDetectionRequired(), p.isSessionRequired(),
            p.isDeadLetteringOnMessageExpiration(), p.isBatchedOperationsEnabled()),
            List.of(true, true, true, false));
        equal(p.getUserMetadata(), "<&> ä");
        yes(p.getForwardDeadLetteredMessagesTo().endsWith(dead.name()), p.getForwardDeadLetteredMessagesTo());
        equal(p.getAuthorizationRules().get(0).getKeyName(), "reads");
        p.setMaxDeliveryCount(3).setDefaultMessageTimeToLive(BRIEF).setUserMetadata("other");
        t.adm.updateQueue(p);
        p = t.adm.getQueue(q.name());
        equal(List.of(p.getMaxDeliveryCount(), p.getDefaultMessageTimeToLive(), p.getUserMetadata(),
            p.getLockDuration()), List.of(3, BRIEF, "other", LOCK));
    }

    /** The names that begin with the scenario's, sorted. */
    private static List<String> own(Bus t, Stream<String> names) {
        return names.filter(n -> n.startsWith(t.name)).sorted().toList();
    }

    private static void queueListing(Bus t) {
        var want = Stream.of(numbered(105)).map(n -> t.queue(n, o -> {}).name()).sorted().toList();
        equal(own(t, t.adm.listQueues().stream().map(QueueProperties::getName)), want);
    }

    private static void queueRuntime(Bus t) {
        var q = t.queue();
        t.send(q.name(), "dead", "a", "b");
        var r = t.receiver(q);
        bury(r, one(r, "dead"));
        t.schedule(q.name(), 300, msg("later"));
        var p = t.adm.getQueueRuntimeProperties(q.name());
        equal(List.of(p.getActiveMessageCount(), p.getDeadLetterMessageCount(), p.getScheduledMessageCount()),
            List.of(2, 1, 1));
        equal(p.getTotalMessageCount(), 4L);
        yes(p.getSizeInBytes() > 0, "no size");
        recent(p.getCreatedAt());
        recent(p.getUpdatedAt());
    }

    private static void topicLifecycle(Bus t) {
        t.topic();
        refused(() -> t.adm.createTopic(t.name), EXISTS);
        equal(t.adm.getTopic(t.name).getName(), t.name);
        equal(t.adm.getTopicExists(t.name), true);
        t.adm.deleteTopic(t.name);
        equal(t.adm.getTopicExists(t.name), false);
        refused(() -> t.adm.getTopic(t.name), MISSING);
        refused(() -> t.adm.deleteTopic(t.name), MISSING);
    }

    private static void topicProperties(Bus t) {
        t.topic(o -> o.setMaxSizeInMegabytes(2048).setDuplicateDetectionRequired(true)
            .setDefaultMessageTimeToLive(DAY).setDuplicateDetectionHistoryTimeWindow(WINDOW)
            .setBatchedOperationsEnabled(false).setAutoDeleteOnIdle(IDLE).setOrderingSupported(true)
            .setUserMetadata("<&> ä"));
        TopicProperties p = t.adm.getTopic(t.name);
        equal(List.of(p.getDefaultMessageTimeToLive(), p.getDuplicateDetectionHistoryTimeWindow(),
            p.getAutoDeleteOnIdle()), List.of(DAY, WINDOW, IDLE));
        equal(p.getMaxSizeInMegabytes(), 2048L);
        yes(p.isDuplicateDetectionRequired() && p.isOrderingSupported(), "no duplicate detection or order");
        yes(!p.isBatchedOperationsEnabled(), "batched operations");
        equal(p.getUserMetadata(), "<&> ä");
        t.adm.updateTopic(p.setDefaultMessageTimeToLive(BRIEF).setUserMetadata("other"));
        p = t.adm.getTopic(t.name);
        equal(List.of(p.getDefaultMessageTimeToLive(), p.getUserMetadata(), p.getAutoDeleteOnIdle()),
            List.of(BRIEF, "other", IDLE));
    }

    private static void topicListing(Bus t) {
        List<String> want = List.of(t.name + "-1", t.name + "-2", t.name + "-3");
        for (String n : want) {
            t.adm.createTopic(n);
            t.dropTopic(n);
        }
        equal(own(t, t.adm.listTopics().stream().map(TopicProperties::getName)), want);
    }

    private static void topicRuntime(Bus t) {
        t.topic("s1", "s2");
        t.schedule(t.name, 300, msg("later"));
        var p = t.adm.getTopicRuntimeProperties(t.name);
        equal(p.getSubscriptionCount(), 2);
        equal(p.getScheduledMessageCount(), 1);
    }

    private static void subscriptionLifecycle(Bus t) {
        t.topic("s");
        refused(() -> t.adm.createSubscription(t.name, "s"), EXISTS);
        refused(() -> t.adm.createSubscription(t.name + "-not", "s"), MISSING);
        equal(t.adm.getSubscription(t.name, "s").getSubscriptionName(), "s");
        equal(t.adm.getSubscriptionExists(t.name, "s"), true);
        t.adm.deleteSubscription(t.name, "s");
        equal(t.adm.getSubscriptionExists(t.name, "s"), false);
        refused(() -> t.adm.getSubscription(t.name, "s"), MISSING);
        refused(() -> t.adm.deleteSubscription(t.name, "s"), MISSING);
    }

    private static void subscriptionProperties(Bus t) {
        t.topic();
        t.sub("s", o -> o.setLockDuration(LOCK).setSessionRequired(true).setDefaultMessageTimeToLive(DAY)
            .setDeadLetteringOnMessageExpiration(true)
            .setEnableDeadLetteringOnFilterEvaluationExceptions(false)
            .setMaxDeliveryCount(7).setBatchedOperationsEnabled(false).setAutoDeleteOnIdle(IDLE)
            .setUserMetadata("<&> ä"));
        SubscriptionProperties p = t.adm.getSubscription(t.name, "s");
        equal(List.of(p.getLockDuration(), p.getDefaultMessageTimeToLive(), p.getAutoDeleteOnIdle()),
            List.of(LOCK, DAY, IDLE));
        equal(p.getMaxDeliveryCount(), 7);
        equal(List.of(p.isSessionRequired(), p.isDeadLetteringOnMessageExpiration(),
            p.isDeadLetteringOnFilterEvaluationExceptions(), p.isBatchedOperationsEnabled()),
            List.of(true, true, false, false));
        equal(p.getUserMetadata(), "<&> ä");
        t.adm.updateSubscription(p.setMaxDeliveryCount(3).setUserMetadata("other"));
        p = t.adm.getSubscription(t.name, "s");
        equal(List.of(p.getMaxDeliveryCount(), p.getUserMetadata(), p.getLockDuration()),
            List.of(3, "other", LOCK));
    }

    private static void subscriptionListing(Bus t) {
        t.topic(numbered(105));
        var names = t.adm.listSubscriptions(t.name).stream().map(SubscriptionProperties::getSubscriptionName);
        equal(names.sorted().toList(), Stream.of(numbered(105)).sorted().toList());
    }

    private static void subscriptionRuntime(Bus t) {
        var s = t.topic("s").get(0);
        t.send(t.name, "dead", "a", "b");
        var r = t.receiver(s);
        bury(r, one(r, "dead"));
        var p = t.adm.getSubscriptionRuntimeProperties(t.name, "s");
        equal(List.of(p.getActiveMessageCount(), p.getDeadLetterMessageCount()), List.of(2, 1));
        equal(p.getTotalMessageCount(), 3L);
    }

    private static void ruleLifecycle(Bus t) {
        t.topic("s");
        t.rule("s", "sql", Topics.sql("a = 1"), new SqlRuleAction("SET b = 2"));
        var filter = new CorrelationRuleFilter().setLabel("x");
        filter.getProperties().put("n", "v");
        t.rule("s", "correlation", filter, null);
        refused(() -> t.rule("s", "sql", Topics.sql("a = 1"), null), EXISTS);
        RuleProperties got = t.adm.getRule(t.name, "s", "sql");
        equal(((SqlRuleFilter) got.getFilter()).getSqlExpression(), "a = 1");
        equal(((SqlRuleAction) got.getAction()).getSqlExpression(), "SET b = 2");
        t.adm.updateRule(t.name, "s", got.setFilter(Topics.sql("a = 3")));
        equal(((SqlRuleFilter) t.adm.getRule(t.name, "s", "sql").getFilter()).getSqlExpression(), "a = 3");
        var kept = (CorrelationRuleFilter) t.adm.getRule(t.name, "s", "correlation").getFilter();
        equal(kept.getLabel(), "x");
        equal(kept.getProperties(), Map.of("n", "v"));
        t.adm.deleteRule(t.name, "s", "sql");
        refused(() -> t.adm.getRule(t.name, "s", "sql"), MISSING);
    }

    private static List<String> rules(Bus t) {
        return t.adm.listRules(t.name, "s").stream().map(RuleProperties::getName).sorted().toList();
    }

    private static void ruleListing(Bus t) {
        t.topic("s");
        for (String n : numbered(5)) {
            t.rule("s", n, Topics.sql("a = 1"), null);
        }
        equal(rules(t), List.of("$Default", "m00", "m01", "m02", "m03", "m04"));
    }

    private static void ownRule(Bus t) {
        t.topic();
        t.ruled("s", Topics.sql("a = 1"), null);
        equal(rules(t), List.of("s"));
    }

    private static void names(Bus t) {
        String name = "Admin-Names/deep.er/Queue_1";
        t.adm.createQueue(name);
        t.dropQueue(name);
        t.send(name, "a");
        String other = "admin-names/DEEP.er/queue_1";
        yes(t.adm.getQueueExists(other), "not found in other letters");
        t.left(new Bus.Place(other, null, false), "a");
        refused(() -> t.adm.createQueue("no~tilde"), "400");
    }

    private static void forwardMissing(Bus t) {
        refused(() -> t.queue(o -> o.setForwardTo("not-there")), "400", "404");
    }

    private static void deleteTopic(Bus t) {
        var s = t.topic("s").get(0);
        t.adm.deleteTopic(t.name);
        refused(() -> Failing.receive(t, s), "NOT_FOUND", Failing.TERMINATED);
        t.topic();
        equal(t.adm.getSubscriptionExists(t.name, "s"), false);
    }
}
