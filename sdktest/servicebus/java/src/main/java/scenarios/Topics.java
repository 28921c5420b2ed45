package scenarios;

import static scenarios.Bus.msg;
import static scenarios.Bus.none;
import static scenarios.Bus.one;
import static scenarios.Bus.take;
import static scenarios.Want.equal;
import static scenarios.Want.refused;
import static scenarios.Want.yes;

import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.administration.models.CorrelationRuleFilter;
import com.azure.messaging.servicebus.administration.models.CreateRuleOptions;
import com.azure.messaging.servicebus.administration.models.FalseRuleFilter;
import com.azure.messaging.servicebus.administration.models.RuleProperties;
import com.azure.messaging.servicebus.administration.models.SqlRuleAction;
import com.azure.messaging.servicebus.administration.models.SqlRuleFilter;
import com.azure.messaging.servicebus.administration.models.TrueRuleFilter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Topics and their subscriptions' rules. */
final class Topics {
    private Topics() {}

    static void add(Map<String, Run.Body> every) {
        every.put("topic-copies", Topics::copies);
        every.put("topic-default-rule", Topics::defaultRule);
        every.put("rule-sql", Topics::bySql);
        every.put("rule-sql-grammar", Topics::grammar);
        every.put("rule-sql-system", Topics::system);
        every.put("rule-parameters", Topics::parameters);
        every.put("rule-correlation", Topics::correlation);
        every.put("rule-true-false", Topics::trueFalse);
        every.put("rule-action", Topics::action);
        every.put("rule-several", Topics::several);
        every.put("rule-no-match", Topics::noMatch);
        every.put("rule-later", Topics::addedLater);
        every.put("rule-manager", Topics::manager);
        every.put("rule-manager-errors", Topics::managerErrors);
    }

    /** A message with application properties. */
    static ServiceBusMessage with(String body, Map<String, Object> properties) {
        var m = msg(body);
        m.getApplicationProperties().putAll(properties);
        return m;
    }

    static SqlRuleFilter sql(String expression) {
        return new SqlRuleFilter(expression);
    }

    private static Bus.Place sub(Bus t, String name) {
        return new Bus.Place(t.name, name, false);
    }

    private static void copies(Bus t) {
        var subs = t.topic("s1", "s2");
        t.send(t.name, "a", "b");
        var r = t.receiver(subs.get(0));
        r.complete(one(r, "a"));
        t.left(subs.get(1), "a", "b");
        t.left(subs.get(0), "b");
    }

    private static void defaultRule(Bus t) {
        var s = t.topic("s").get(0);
        var filter = t.adm.getRule(t.name, "s", "$Default").getFilter();
        yes(filter instanceof TrueRuleFilter, filter);
        t.adm.deleteRule(t.name, "s", "$Default");
        t.send(t.name, "a");
        t.left(s);
    }

    private static void bySql(Bus t) {
        t.topic();
        var s = t.ruled("s", sql("color = 'blue' AND size > 10"), null);
        t.send(t.name, with("1", Map.of("color", "blue", "size", 10)),
            with("2", Map.of("color", "blue", "size", 11)),
            with("3", Map.of("color", "red", "size", 11)), msg("4"));
        t.left(s, "2");
    }

    private static void grammar(Bus t) {
        t.topic();
        Map<String, String> wanted = new HashMap<>();
        for (String[] c : new String[][] {
            {"in", "color IN ('blue', 'green')", "blue"},
            {"like", "color LIKE 'b%' AND note LIKE '100!%' ESCAPE '!'", "blue"},
            {"null", "note IS NULL", "red"},
            {"exists", "EXISTS(note)", "blue"},
            {"not", "NOT (size < 10)", "blue"},
            {"arithmetic", "size * 2 + 1 = 7", "red"},
            {"brackets", "(color = 'red' OR color = 'blue') AND size <> 12", "red"},
        }) {
            t.ruled(c[0], sql(c[1]), null);
            wanted.put(c[0], c[2]);
        }
        t.send(t.name, with("blue", Map.of("color", "blue", "size", 12, "note", "100%")),
            with("red", Map.of("color", "red", "size", 3)));
        wanted.forEach((name, want) -> t.left(sub(t, name), want));
    }

    private static void system(Bus t) {
        t.topic();
        t.ruled("label", sql("sys.Label = 'l'"), null);
        t.ruled("correlation", sql("sys.CorrelationId = 'c'"), null);
        t.ruled("id", sql("sys.MessageId = 'i'"), null);
        t.ruled("to", sql("sys.To = 't'"), null);
        t.ruled("content", sql("sys.ContentType = 'ct'"), null);
        t.send(t.name, msg("plain"), msg("label").setSubject("l"), msg("correlation").setCorrelationId("c"),
            msg("id").setMessageId("i"), msg("to").setTo("t"), msg("content").setContentType("ct"));
        for (String name : List.of("label", "correlation", "id", "to", "content")) {
            t.left(sub(t, name), name);
        }
    }

    private static void parameters(Bus t) {
        t.topic();
        var filter = sql("color = @c AND size = @n");
        filter.getParameters().put("@c", "blue");
        filter.getParameters().put("@n", "12"); // the SDK sends texts alone
        var s = t.ruled("s", filter, null);
        var kept = ((SqlRuleFilter) t.adm.getRule(t.name, "s", "s").getFilter()).getParameters();
        equal(kept.get("@c"), "blue");
        equal(kept.get("@n"), "12");
        t.send(t.name, with("1", Map.of("color", "blue", "size", "12")),
            with("2", Map.of("color", "blue", "size", "13")));
        t.left(s, "1");
    }

    private static void correlation(Bus t) {
        t.topic();
        var property = new CorrelationRuleFilter();
        property.getProperties().put("color", "blue");
        var both = new CorrelationRuleFilter().setLabel("t");
        both.getProperties().put("color", "red");
        t.ruled("subject", new CorrelationRuleFilter().setLabel("s"), null);
        t.ruled("correlation", new CorrelationRuleFilter("c"), null);
        t.ruled("property", property, null);
        t.ruled("both", both, null);
        t.ruled("capital", new CorrelationRuleFilter().setLabel("S"), null);
        t.send(t.name, msg("subject").setSubject("s"), msg("correlation").setCorrelationId("c"),
            with("property", Map.of("color", "blue")), with("both", Map.of("color", "red")).setSubject("t"),
            msg("neither").setSubject("t"));
        for (String name : List.of("subject", "correlation", "property", "both")) {
            t.left(sub(t, name), name);
        }
        t.left(sub(t, "capital"));
    }

    private static void trueFalse(Bus t) {
        t.topic();
        var all = t.ruled("all", new TrueRuleFilter(), null);
        var never = t.ruled("none", new FalseRuleFilter(), null);
        t.send(t.name, "a");
        t.left(all, "a");
        t.left(never);
    }

    private static void action(Bus t) {
        var plain = t.topic("plain").get(0);
        var changed = t.ruled("changed", sql("1=1"),
            new SqlRuleAction("SET color = 'red'; SET size = 5; SET sys.Label = 'new'; REMOVE note"));
        t.send(t.name, with("a", Map.of("color", "blue", "note", "n")).setSubject("old"));
        var got = one(t.deleting(changed), "a");
        equal(got.getSubject(), "new");
        equal(got.getApplicationProperties().get("color"), "red");
        equal(((Number) got.getApplicationProperties().get("size")).intValue(), 5);
        yes(!got.getApplicationProperties().containsKey("note"), "note was not removed");
        got = one(t.deleting(plain), "a");
        equal(got.getSubject(), "old");
        equal(got.getApplicationProperties(), Map.of("color", "blue", "note", "n"));
    }

    private static void several(Bus t) {
        t.topic();
        var s = t.ruled("plain1", sql("1=1"), null);
        t.rule("plain1", "plain2", sql("2=2"), null);
        t.rule("plain1", "acts1", sql("1=1"), new SqlRuleAction("SET x = 1"));
        t.rule("plain1", "acts2", sql("1=1"), new SqlRuleAction("SET x = 2"));
        t.send(t.name, "a");
        var r = t.deleting(s);
        equal(take(r, 3).stream().map(m -> (String) m.getApplicationProperties().getOrDefault("RuleName", ""))
            .sorted().toList(), List.of("", "acts1", "acts2"));
        none(r);
    }

    private static void noMatch(Bus t) {
        t.topic();
        var s = t.ruled("s", sql("color = 'blue'"), null);
        t.send(t.name, "a");
        t.left(s);
    }

    private static void addedLater(Bus t) {
        t.topic();
        var s = t.ruled("s", new FalseRuleFilter(), null);
        t.send(t.name, "a");
        t.rule("s", "all", new TrueRuleFilter(), null);
        t.send(t.name, "b");
        t.left(s, "b");
    }

    private static void manager(Bus t) {
        var s = t.topic("s").get(0);
        var rules = t.closing(t.builder.ruleManager().topicName(t.name).subscriptionName("s").buildClient());
        equal(rules.listRules().stream().map(RuleProperties::getName).toList(), List.of("$Default"));
        rules.deleteRule("$Default");
        rules.createRule("sql", new CreateRuleOptions(sql("color = 'blue'"))
            .setAction(new SqlRuleAction("SET seen = 'yes'")));
        var filter = new CorrelationRuleFilter().setLabel("s");
        filter.getProperties().put("n", "v");
        rules.createRule("correlation", new CreateRuleOptions(filter));
        var listed = rules.listRules().stream().collect(Collectors.toMap(RuleProperties::getName, r -> r));
        equal(listed.keySet().stream().sorted().toList(), List.of("correlation", "sql"));
        equal(((SqlRuleFilter) listed.get("sql").getFilter()).getSqlExpression(), "color = 'blue'");
        equal(((SqlRuleAction) listed.get("sql").getAction()).getSqlExpression(), "SET seen = 'yes'");
        equal(((CorrelationRuleFilter) listed.get("correlation").getFilter()).getLabel(), "s");
        t.send(t.name, msg("no"), with("yes", Map.of("color", "blue")));
        equal(one(t.deleting(s), "yes").getApplicationProperties().get("seen"), "yes");
    }

    private static void managerErrors(Bus t) {
        t.topic("s");
        var rules = t.closing(t.builder.ruleManager().topicName(t.name).subscriptionName("s").buildClient());
        var again = new CreateRuleOptions(sql("1=1"));
        refused(() -> rules.createRule("$Default", again), "ALREADY_EXISTS", "already");
        refused(() -> rules.deleteRule("not-there"), "NOT_FOUND", "not found", "not be found", "not-found");
    }
}
