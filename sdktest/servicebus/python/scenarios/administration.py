"""The administration client."""

from collections import Counter
from datetime import timedelta

from azure.servicebus.management import AuthorizationRule, CorrelationRuleFilter, SqlRuleAction, SqlRuleFilter

from bus import NoApi, Place, drain, equal, later, msg, numbered, one, refused

EXISTS = "ResourceExists"
MISSING = "ResourceNotFound"


async def admin_namespace(t):
    n = await t.adm.get_namespace_properties()
    assert n.name, n
    equal(n.messaging_sku, "Standard")


async def admin_queue_lifecycle(t):
    q = await t.queue()
    await refused(t.adm.create_queue(q.queue), EXISTS)
    equal((await t.adm.get_queue(q.queue)).name, q.queue)
    await t.adm.delete_queue(q.queue)
    await refused(t.adm.get_queue(q.queue), MISSING)
    await refused(t.adm.delete_queue(q.queue), MISSING)


async def admin_queue_defaults(t):
    p = await t.adm.get_queue((await t.queue()).queue)
    equal(p.lock_duration, timedelta(minutes=1))
    equal(p.max_delivery_count, 10)
    assert p.default_message_time_to_live.days == 10675199, p.default_message_time_to_live
    assert p.auto_delete_on_idle.days == 10675199, p.auto_delete_on_idle
    switches = (p.requires_session, p.requires_duplicate_detection, p.dead_lettering_on_message_expiration)
    equal(switches, (False, False, False))
    equal(p.max_size_in_megabytes, 1024)
    equal(p.status, "Active")


async def _settings(entity, names):
    return {name: getattr(entity, name) for name in names}


async def admin_queue_properties(t):
    dead = await t.queue("dead")
    wanted = {
        "lock_duration": timedelta(seconds=42),
        "max_size_in_megabytes": 2048,
        "requires_duplicate_detection": True,
        "requires_session": True,
        "default_message_time_to_live": timedelta(days=1, hours=1),
        "dead_lettering_on_message_expiration": True,
        "duplicate_detection_history_time_window": timedelta(minutes=5),
        "max_delivery_count": 7,
        "enable_batched_operations": False,
        "auto_delete_on_idle": timedelta(minutes=10),
        "user_metadata": "<&> ä",
    }
    rule = AuthorizationRule(
        type="SharedAccessAuthorizationRule",
        claim_type="SharedAccessKey",
        claim_value="None",
        rights=["Listen"],
        key_name="reads",
        primary_key="MTIz",
        secondary_key="NDU2",
    )
    q = await t.queue(forward_dead_lettered_messages_to=dead.queue, authorization_rules=[rule], **wanted)
    p = await t.adm.get_queue(q.queue)
    equal(await _settings(p, wanted), wanted)
    assert p.forward_dead_lettered_messages_to.endswith(dead.queue), p.forward_dead_lettered_messages_to
    equal([r.key_name for r in p.authorization_rules], ["reads"])
    changes = {
        "max_delivery_count": 3,
        "default_message_time_to_live": timedelta(seconds=5),
        "user_metadata": "other",
    }
    for name, value in changes.items():
        setattr(p, name, value)
    await t.adm.update_queue(p)
    equal(await _settings(await t.adm.get_queue(q.queue), wanted), wanted | changes)


async def admin_queue_listing(t):
    want = [(await t.queue(f"{i:03}")).queue for i in range(105)]
    names = [q.name for q in await drain(t.adm.list_queues())]
    equal(sorted(n for n in names if n.startswith(t.name)), want)


async def admin_queue_runtime(t):
    q = await t.queue()
    await t.send(q.queue, "dead", "a", "b")
    r = await t.receiver(q)
    await r.dead_letter_message(await one(r, "dead"), reason="why")
    await (await t.sender(q.queue)).schedule_messages([msg("later")], later(300))
    p = await t.adm.get_queue_runtime_properties(q.queue)
    counts = (
        p.active_message_count,
        p.dead_letter_message_count,
        p.scheduled_message_count,
        p.total_message_count,
    )
    equal(counts, (2, 1, 1, 4))
    assert p.size_in_bytes > 0, p.size_in_bytes
    for moment in (p.created_at_utc, p.updated_at_utc):
        assert abs((later(0) - moment).total_seconds()) < 60, moment


async def admin_topic_lifecycle(t):
    await t.topic()
    await refused(t.adm.create_topic(t.name), EXISTS)
    equal((await t.adm.get_topic(t.name)).name, t.name)
    await t.adm.delete_topic(t.name)
    await refused(t.adm.get_topic(t.name), MISSING)
    await refused(t.adm.delete_topic(t.name), MISSING)


async def admin_topic_properties(t):
    wanted = {
        "max_size_in_megabytes": 2048,
        "requires_duplicate_detection": True,
        "default_message_time_to_live": timedelta(days=1, hours=1),
        "duplicate_detection_history_time_window": timedelta(minutes=5),
        "enable_batched_operations": False,
        "auto_delete_on_idle": timedelta(minutes=10),
        "support_ordering": True,
        "user_metadata": "<&> ä",
    }
    await t.topic(**wanted)
    p = await t.adm.get_topic(t.name)
    equal(await _settings(p, wanted), wanted)
    changes = {"default_message_time_to_live": timedelta(seconds=5), "user_metadata": "other"}
    for name, value in changes.items():
        setattr(p, name, value)
    await t.adm.update_topic(p)
    equal(await _settings(await t.adm.get_topic(t.name), wanted), wanted | changes)


async def admin_topic_listing(t):
    want = [f"{t.name}-{i}" for i in (1, 2, 3)]
    for name in want:
        await t.adm.create_topic(name)
        t.drop_topic(name)
    names = [topic.name for topic in await drain(t.adm.list_topics())]
    equal(sorted(n for n in names if n.startswith(t.name)), want)


async def admin_topic_runtime(t):
    await t.topic("s1", "s2")
    await (await t.sender(t.name)).schedule_messages([msg("later")], later(300))
    p = await t.adm.get_topic_runtime_properties(t.name)
    equal((p.subscription_count, p.scheduled_message_count), (2, 1))


async def admin_subscription_lifecycle(t):
    await t.topic("s")
    await refused(t.adm.create_subscription(t.name, "s"), EXISTS)
    await refused(t.adm.create_subscription(t.name + "-not", "s"), MISSING)
    equal((await t.adm.get_subscription(t.name, "s")).name, "s")
    await t.adm.delete_subscription(t.name, "s")
    await refused(t.adm.get_subscription(t.name, "s"), MISSING)
    await refused(t.adm.delete_subscription(t.name, "s"), MISSING)


async def admin_subscription_properties(t):
    await t.topic()
    wanted = {
        "lock_duration": timedelta(seconds=42),
        "requires_session": True,
        "default_message_time_to_live": timedelta(days=1, hours=1),
        "dead_lettering_on_message_expiration": True,
        "dead_lettering_on_filter_evaluation_exceptions": False,
        "max_delivery_count": 7,
        "enable_batched_operations": False,
        "auto_delete_on_idle": timedelta(minutes=10),
        "user_metadata": "<&> ä",
    }
    await t.sub("s", **wanted)
    p = await t.adm.get_subscription(t.name, "s")
    equal(await _settings(p, wanted), wanted)
    p.max_delivery_count, p.user_metadata = 3, "other"
    await t.adm.update_subscription(t.name, p)
    p = await t.adm.get_subscription(t.name, "s")
    equal(await _settings(p, wanted), wanted | {"max_delivery_count": 3, "user_metadata": "other"})


async def admin_subscription_listing(t):
    await t.topic()
    for name in numbered(105):
        await t.sub(name)
    seen = Counter(s.name for s in await drain(t.adm.list_subscriptions(t.name)))
    equal(seen, Counter(numbered(105)))


async def admin_subscription_runtime(t):
    s = (await t.topic("s"))[0]
    await t.send(t.name, "dead", "a", "b")
    r = await t.receiver(s)
    await r.dead_letter_message(await one(r, "dead"), reason="why")
    p = await t.adm.get_subscription_runtime_properties(t.name, "s")
    equal((p.active_message_count, p.dead_letter_message_count, p.total_message_count), (2, 1, 3))


async def admin_rule_lifecycle(t):
    await t.topic("s")
    condition = SqlRuleFilter("a = 1")
    await t.adm.create_rule(t.name, "s", "sql", filter=condition, action=SqlRuleAction("SET b = 2"))
    correlation = CorrelationRuleFilter(label="x", properties={"n": "v"})
    await t.adm.create_rule(t.name, "s", "correlation", filter=correlation)
    await refused(t.adm.create_rule(t.name, "s", "sql", filter=condition), EXISTS)
    got = await t.adm.get_rule(t.name, "s", "sql")
    equal((got.filter.sql_expression, got.action.sql_expression), ("a = 1", "SET b = 2"))
    got.filter = SqlRuleFilter("a = 3")
    await t.adm.update_rule(t.name, "s", got)
    equal((await t.adm.get_rule(t.name, "s", "sql")).filter.sql_expression, "a = 3")
    got = await t.adm.get_rule(t.name, "s", "correlation")
    equal((got.filter.label, got.filter.properties), ("x", {"n": "v"}))
    await t.adm.delete_rule(t.name, "s", "sql")
    await refused(t.adm.get_rule(t.name, "s", "sql"), MISSING)


async def admin_rule_listing(t):
    await t.topic("s")
    for name in numbered(5):
        await t.adm.create_rule(t.name, "s", name, filter=SqlRuleFilter("a = 1"))
    names = [r.name for r in await drain(t.adm.list_rules(t.name, "s"))]
    equal(sorted(names), ["$Default", *numbered(5)])


async def admin_default_rule(t):
    raise NoApi("a subscription is created without a rule")


async def admin_names(t):
    name = "Admin-Names/deep.er/Queue_1"
    await t.adm.create_queue(name)
    t.drop_queue(name)
    await t.send(name, "a")
    other = "admin-names/DEEP.er/queue_1"
    await t.adm.get_queue(other)
    await t.left(Place(queue=other), "a")
    await refused(t.adm.create_queue("no~tilde"), "400", "HttpResponseError")


async def admin_one_namespace(t):
    q = await t.queue()
    await refused(t.adm.create_topic(q.queue), EXISTS)


async def admin_forward_missing(t):
    await refused(t.adm.create_queue(t.name, forward_to="not-there"), "HttpResponseError", MISSING)


async def admin_delete_topic(t):
    s = (await t.topic("s"))[0]
    await t.adm.delete_topic(t.name)
    await refused(t.receiver(s), "ServiceBusAuthenticationError")  # the SDK's word for a 404 of the token
    await t.topic()
    await refused(t.adm.get_subscription(t.name, "s"), MISSING)
