"""Forwarding, duplicates and idleness."""

from azure.core.exceptions import ResourceNotFoundError
from azure.servicebus.management import SqlRuleFilter

from bus import Place, equal, later, msg, one


async def _there(get):
    """Tells whether an entity is there."""
    try:
        await get
    except ResourceNotFoundError:
        return False
    return True


async def _unique(t, window):
    return await t.queue(requires_duplicate_detection=True, duplicate_detection_history_time_window=window)


async def forward_queue(t):
    target = await t.queue("target")
    q = await t.queue(forward_to=target.queue)
    await t.send(q.queue, msg("a", message_id="id-1"))
    equal((await one(await t.deleting(target), "a")).message_id, "id-1")


async def forward_subscription(t):
    target = await t.queue("target")
    await t.topic()
    await t.ruled("s", SqlRuleFilter("color = 'blue'"), forward_to=target.queue)
    for color in ("blue", "red"):
        await t.send(t.name, msg(color, application_properties={"color": color}))
    await t.left(target, "blue")


async def forward_hops(t):
    target = await t.queue("6")
    for i in (5, 4, 3, 2, 1):
        target = await t.queue(str(i), forward_to=target.queue)
    await t.send(target.queue, "a")
    dead = await one(await t.receiver(Place(queue=f"{t.name}-5", dead=True)), "a")
    equal(dead.dead_letter_reason, "MaxTransferHopCountExceeded")
    await t.left(Place(queue=f"{t.name}-6"))


async def forward_dead_letters(t):
    target = await t.queue("target")
    q = await t.queue(forward_dead_lettered_messages_to=target.queue)
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    await r.dead_letter_message(await one(r, "a"), reason="why")
    got = await one(await t.receiver(target), "a")
    equal((got.dead_letter_reason, got.dead_letter_source), ("why", q.queue))


async def duplicate_dropped(t):
    q = await _unique(t, "PT10M")
    await t.send(q.queue, msg("a", message_id="1"), msg("b", message_id="1"), msg("c", message_id="2"))
    await t.left(q, "a", "c")
    await t.send(q.queue, msg("d", message_id="1"))
    await t.left(q)


async def duplicate_window(t):
    q = await _unique(t, "PT60S")
    await t.send(q.queue, msg("a", message_id="1"))
    await t.advance(61)
    await t.send(q.queue, msg("b", message_id="1"))
    await t.left(q, "a", "b")


async def duplicate_batch(t):
    q = await _unique(t, "PT10M")
    s = await t.sender(q.queue)
    await s.send_messages([msg("a", message_id="1"), msg("b", message_id="1")])
    await t.left(q, "a")


async def duplicate_scheduled(t):
    q = await _unique(t, "PT10M")
    await (await t.sender(q.queue)).schedule_messages([msg("a", message_id="1")], later(300))
    await t.send(q.queue, msg("b", message_id="1"))
    await t.nothing(q)
    await t.advance(301)
    await t.left(q, "a")


async def _goes(t, q):
    """Wants a queue to be there for 290 seconds more, and gone after 300."""
    await t.advance(290)
    assert await _there(t.adm.get_queue(q.queue)), "gone too soon"
    await t.advance(15)
    assert not await _there(t.adm.get_queue(q.queue)), "still there"


async def idle_queue(t):
    q = await t.queue(auto_delete_on_idle="PT5M")
    await t.send(q.queue, "a")
    await _goes(t, q)


async def idle_activity(t):
    q = await t.queue(auto_delete_on_idle="PT5M")
    await t.advance(200)
    await t.send(q.queue, "a")
    await t.advance(200)
    r = await t.receiver(q)
    await r.peek_messages()
    await t.advance(200)
    await r.complete_message(await one(r, "a"))
    await r.close()
    await _goes(t, q)


async def idle_subscription(t):
    await t.topic()
    await t.sub("s", auto_delete_on_idle="PT5M")
    await t.advance(200)
    await t.send(t.name, "a")
    await t.advance(105)
    assert not await _there(t.adm.get_subscription(t.name, "s")), "still there"
    assert await _there(t.adm.get_topic(t.name)), "the topic is gone as well"
