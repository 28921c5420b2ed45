"""Topics and their subscriptions' rules."""

from collections import Counter

from azure.servicebus.management import (
    CorrelationRuleFilter,
    FalseRuleFilter,
    SqlRuleAction,
    SqlRuleFilter,
    TrueRuleFilter,
)

from bus import NoApi, Place, equal, msg, none, one, plain, take


def _with(body, **properties):
    return msg(body, application_properties=properties)


async def topic_copies(t):
    first, second = await t.topic("s1", "s2")
    await t.send(t.name, "a", "b")
    r = await t.receiver(first)
    await r.complete_message(await one(r, "a"))
    await t.left(second, "a", "b")
    await t.left(first, "b")


async def topic_default_rule(t):
    s = (await t.topic("s"))[0]
    rule = await t.adm.get_rule(t.name, "s", "$Default")
    assert isinstance(rule.filter, TrueRuleFilter), rule.filter
    await t.adm.delete_rule(t.name, "s", "$Default")
    await t.send(t.name, "a")
    await t.left(s)


async def rule_sql(t):
    await t.topic()
    s = await t.ruled("s", SqlRuleFilter("color = 'blue' AND size > 10"))
    await t.send(
        t.name,
        _with("1", color="blue", size=10),
        _with("2", color="blue", size=11),
        _with("3", color="red", size=11),
        msg("4"),
    )
    await t.left(s, "2")


async def rule_sql_grammar(t):
    await t.topic()
    cases = {
        "in": ("color IN ('blue', 'green')", "blue"),
        "like": ("color LIKE 'b%' AND note LIKE '100!%' ESCAPE '!'", "blue"),
        "null": ("note IS NULL", "red"),
        "exists": ("EXISTS(note)", "blue"),
        "not": ("NOT (size < 10)", "blue"),
        "arithmetic": ("size * 2 + 1 = 7", "red"),
        "brackets": ("(color = 'red' OR color = 'blue') AND size <> 12", "red"),
    }
    for name, (condition, _) in cases.items():
        await t.ruled(name, SqlRuleFilter(condition))
    await t.send(t.name, _with("blue", color="blue", size=12, note="100%"), _with("red", color="red", size=3))
    for name, (_, want) in cases.items():
        await t.left(Place(topic=t.name, sub=name), want)


async def rule_sql_system(t):
    await t.topic()
    cases = {
        "label": ("sys.Label = 'l'", {"subject": "l"}),
        "correlation": ("sys.CorrelationId = 'c'", {"correlation_id": "c"}),
        "id": ("sys.MessageId = 'i'", {"message_id": "i"}),
        "to": ("sys.To = 't'", {"to": "t"}),
        "content": ("sys.ContentType = 'ct'", {"content_type": "ct"}),
    }
    for name, (condition, _) in cases.items():
        await t.ruled(name, SqlRuleFilter(condition))
    await t.send(t.name, "plain", *(msg(name, **properties) for name, (_, properties) in cases.items()))
    for name in cases:
        await t.left(Place(topic=t.name, sub=name), name)


async def rule_parameters(t):
    await t.topic()
    s = await t.ruled("s", SqlRuleFilter("color = @c AND size = @n", {"@c": "blue", "@n": 12}))
    equal((await t.adm.get_rule(t.name, "s", "s")).filter.parameters, {"@c": "blue", "@n": 12})
    await t.send(t.name, _with("1", color="blue", size=12), _with("2", color="blue", size=13))
    await t.left(s, "1")


async def rule_correlation(t):
    await t.topic()
    filters = {
        "subject": CorrelationRuleFilter(label="s"),
        "correlation": CorrelationRuleFilter(correlation_id="c"),
        "property": CorrelationRuleFilter(properties={"color": "blue"}),
        "both": CorrelationRuleFilter(label="t", properties={"color": "red"}),
        "capital": CorrelationRuleFilter(label="S"),
    }
    for name, filter in filters.items():
        await t.ruled(name, filter)
    await t.send(
        t.name,
        msg("subject", subject="s"),
        msg("correlation", correlation_id="c"),
        _with("property", color="blue"),
        msg("both", subject="t", application_properties={"color": "red"}),
        msg("neither", subject="t"),
    )
    for name in ("subject", "correlation", "property", "both"):
        await t.left(Place(topic=t.name, sub=name), name)
    await t.left(Place(topic=t.name, sub="capital"))


async def rule_true_false(t):
    await t.topic()
    every = await t.ruled("all", TrueRuleFilter())
    never = await t.ruled("none", FalseRuleFilter())
    await t.send(t.name, "a")
    await t.left(every, "a")
    await t.left(never)


async def rule_action(t):
    untouched = (await t.topic("plain"))[0]
    statements = "SET color = 'red'; SET size = 5; SET sys.Label = 'new'; REMOVE note"
    changed = await t.ruled("changed", SqlRuleFilter("1=1"), SqlRuleAction(statements))
    properties = {"color": "blue", "note": "n"}
    await t.send(t.name, msg("a", subject="old", application_properties=properties))
    got = await one(await t.deleting(changed), "a")
    equal(got.subject, "new")
    seen = plain(got.application_properties)
    equal(
        {name: seen.get(name) for name in ("color", "size", "note")},
        {"color": "red", "size": 5, "note": None},
    )
    got = await one(await t.deleting(untouched), "a")
    equal((got.subject, plain(got.application_properties)), ("old", properties))


async def rule_several(t):
    await t.topic()
    s = await t.ruled("plain1", SqlRuleFilter("1=1"))
    await t.adm.create_rule(t.name, "plain1", "plain2", filter=SqlRuleFilter("2=2"))
    for name in ("acts1", "acts2"):
        action = SqlRuleAction("SET x = 1")
        await t.adm.create_rule(t.name, "plain1", name, filter=SqlRuleFilter("1=1"), action=action)
    await t.send(t.name, "a")
    r = await t.deleting(s)
    names = Counter(plain(m.application_properties).get("RuleName") for m in await take(r, 3))
    equal(names, {None: 1, "acts1": 1, "acts2": 1})
    await none(r)


async def rule_no_match(t):
    await t.topic()
    s = await t.ruled("s", SqlRuleFilter("color = 'blue'"))
    await t.send(t.name, "a")
    await t.left(s)


async def rule_later(t):
    await t.topic()
    s = await t.ruled("s", FalseRuleFilter())
    await t.send(t.name, "a")
    await t.adm.create_rule(t.name, "s", "all", filter=TrueRuleFilter())
    await t.send(t.name, "b")
    await t.left(s, "b")


async def rule_manager(t):
    raise NoApi("no rule manager")


async def rule_manager_errors(t):
    raise NoApi("no rule manager")
