"""Peeking and settling."""

from datetime import timedelta

from azure.servicebus import ServiceBusMessageState

from bus import NoApi, bodies, deferred, equal, later, msg, numbered, one, refused, take


async def peek_order(t):
    q = await t.queue()
    await t.send(q.queue, *numbered(5))
    r = await t.receiver(q)
    equal(bodies(await r.peek_messages(max_message_count=5)), numbered(5))
    equal([m.delivery_count for m in await take(r, 5)], [0] * 5)


async def peek_from(t):
    q = await t.queue()
    await t.send(q.queue, *numbered(5))
    r = await t.receiver(q)
    equal(bodies(await r.peek_messages(max_message_count=10, sequence_number=3)), numbered(5)[2:])


async def peek_continues(t):
    q = await t.queue()
    await t.send(q.queue, *numbered(30))
    r = await t.receiver(q)
    seen = []
    for _ in range(30):
        some = await r.peek_messages(max_message_count=10)
        if not some:
            break
        seen += some
    equal(bodies(seen), numbered(30))
    equal(await r.peek_messages(max_message_count=10), [])


async def peek_states(t):
    q = await t.queue()
    await t.send(q.queue, "deferred", "locked", "active")
    r = await t.receiver(q)
    await r.defer_message(await one(r, "deferred"))
    await one(r, "locked")
    await (await t.sender(q.queue)).schedule_messages([msg("scheduled")], later(300))
    states = {
        bodies([m])[0]: m.state for m in await (await t.receiver(q)).peek_messages(max_message_count=10)
    }
    state = ServiceBusMessageState
    want = {
        "deferred": state.DEFERRED,
        "locked": state.ACTIVE,
        "active": state.ACTIVE,
        "scheduled": state.SCHEDULED,
    }
    equal(states, want)


async def peek_nothing(t):
    r = await t.receiver(await t.queue())
    equal(await r.peek_messages(max_message_count=5), [])


async def peek_dead_letters(t):
    q = await t.queue()
    await _dead(t, q, "bad")
    got = (await (await t.receiver(q.dead_letters)).peek_messages())[0]
    equal((got.dead_letter_reason, got.dead_letter_error_description), ("why", "because"))


async def _dead(t, place, *bodies_):
    """Sends messages and dead-letters them."""
    await t.send(place.queue or place.topic, *bodies_)
    r = await t.receiver(place)
    for body in bodies_:
        await r.dead_letter_message(await one(r, body), reason="why", error_description="because")
    return r


async def complete(t):
    q = await t.queue()
    await t.send(q.queue, "a", "b", "c")
    r = await t.receiver(q)
    a, b, c = await take(r, 3)
    await r.complete_message(b)
    await r.abandon_message(a)
    await r.abandon_message(c)
    await t.left(q, "a", "c")


async def complete_twice(t):
    q = await t.queue()
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    got = await one(r, "a")
    await r.complete_message(got)
    await refused(r.complete_message(got), "settled", "LockLost")


async def abandon(t):
    q = await t.queue()
    await t.send(q.queue, "a", "b")
    r = await t.receiver(q)
    await r.abandon_message(await one(r, "a"))
    equal((await one(r, "a")).delivery_count, 1)


async def abandon_properties(t):
    raise NoApi("abandons without properties")


async def abandon_last(t):
    q = await t.queue(max_delivery_count=3)
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    for i in range(3):
        got = await one(r, "a")
        equal(got.delivery_count, i)
        await r.abandon_message(got)
    await t.nothing(q)
    dead = await one(await t.receiver(q.dead_letters), "a")
    equal(dead.dead_letter_reason, "MaxDeliveryCountExceeded")


async def _deferred(t, **properties):
    """A queue with one message that is deferred, its number, and the receiver that has deferred it."""
    q = await t.queue()
    await t.send(q.queue, msg("a", **properties))
    r = await t.receiver(q)
    got = await one(r, "a")
    await r.defer_message(got)
    return q, got.sequence_number, r


async def defer(t):
    q, number, r = await _deferred(t)
    await t.nothing(q)
    peeked = await (await t.receiver(q)).peek_messages()
    equal([m.state for m in peeked], [ServiceBusMessageState.DEFERRED])
    again = (await deferred(r, number))[0]
    equal(bodies([again]), ["a"])
    equal((again.delivery_count, again.state), (1, ServiceBusMessageState.DEFERRED))
    await r.complete_message(again)
    equal(await (await t.receiver(q)).peek_messages(), [])


async def defer_properties(t):
    raise NoApi("defers without properties")


async def defer_abandon(t):
    q, number, r = await _deferred(t)
    await r.abandon_message((await deferred(r, number))[0])
    await t.nothing(q)
    equal((await deferred(r, number))[0].delivery_count, 2)


async def defer_last(t):
    q = await t.queue(max_delivery_count=1)
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    await r.defer_message(await one(r, "a"))
    equal(await r.peek_messages(), [])
    dead = await one(await t.receiver(q.dead_letters), "a")
    equal(dead.dead_letter_reason, "MaxDeliveryCountExceeded")


async def defer_deleted(t):
    q, number, _ = await _deferred(t)
    equal(bodies(await deferred(await t.deleting(q), number)), ["a"])
    equal(await (await t.receiver(q)).peek_messages(), [])


async def defer_unknown(t):
    r = await t.receiver(await t.queue())
    await refused(r.receive_deferred_messages([4711]), "MessageNotFound")


async def dead_letter(t):
    q = await t.queue()
    await t.send(q.queue, msg("bad", message_id="id-1"))
    r = await t.receiver(q)
    was = await one(r, "bad")
    await r.dead_letter_message(was, reason="why", error_description="because")
    await t.left(q)
    got = await one(await t.receiver(q.dead_letters), "bad")
    equal((got.dead_letter_reason, got.dead_letter_error_description), ("why", "because"))
    equal((got.message_id, got.sequence_number), ("id-1", was.sequence_number))


async def dead_letter_properties(t):
    raise NoApi("dead-letters without properties")


async def dead_letter_plain(t):
    q = await t.queue()
    await t.send(q.queue, "bad")
    r = await t.receiver(q)
    await r.dead_letter_message(await one(r, "bad"))
    assert not (await one(await t.receiver(q.dead_letters), "bad")).dead_letter_reason


async def dead_letter_abandon(t):
    q = await t.queue()
    await _dead(t, q, "bad")
    dead = await t.receiver(q.dead_letters)
    for _ in range(12):
        await dead.abandon_message(await one(dead, "bad"))
    await t.left(q.dead_letters, "bad")


async def dead_letter_resubmit(t):
    q = await t.queue()
    await t.send(q.queue, msg("retry", message_id="id-1", time_to_live=timedelta(hours=1)))
    r = await t.receiver(q)
    await r.dead_letter_message(await one(r, "retry"), reason="why", error_description="because")
    dead = await t.receiver(q.dead_letters)
    got = await one(dead, "retry")
    await t.send(q.queue, got)
    await dead.complete_message(got)
    equal((await one(r, "retry")).message_id, "id-1")
    await t.left(q.dead_letters)


async def dead_letter_subscription(t):
    s = (await t.topic("s"))[0]
    await _dead(t, s, "bad")
    equal((await one(await t.receiver(s.dead_letters), "bad")).dead_letter_reason, "why")
