"""Locks, scheduling and time to live, by the server's virtual clock."""

from datetime import timedelta

from azure.servicebus import ServiceBusMessageState

from bus import bodies, deferred, equal, lasts, later, msg, numbered, one, refused, take


async def lock_renew(t):
    q = await t.queue(lock_duration="PT30S")
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    got = await one(r, "a")
    was = got.locked_until_utc
    await t.advance(20)
    lasts(was, await r.renew_message_lock(got), 20)
    await t.advance(20)
    await r.complete_message(got)
    await t.left(q)


async def lock_expires(t):
    q = await t.queue(lock_duration="PT30S")
    await t.send(q.queue, "a")
    await one(await t.receiver(q), "a")
    await t.advance(20)
    await t.nothing(q)
    await t.advance(11)
    equal((await one(await t.receiver(q), "a")).delivery_count, 1)


async def lock_lost(t):
    q = await t.queue(lock_duration="PT30S")
    await t.send(q.queue, *numbered(4))
    r = await t.receiver(q)
    got = await take(r, 4)
    await t.advance(31)
    await refused(r.complete_message(got[0]), "MessageLockLost")
    await refused(r.abandon_message(got[1]), "MessageLockLost")
    await refused(r.defer_message(got[2]), "MessageLockLost")
    await refused(r.dead_letter_message(got[3]), "MessageLockLost")
    await t.left(q, *numbered(4))


async def lock_lost_renew(t):
    q = await t.queue(lock_duration="PT30S")
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    got = await one(r, "a")
    await t.advance(31)
    await refused(r.renew_message_lock(got), "MessageLockLost")


async def lock_last_delivery(t):
    q = await t.queue(lock_duration="PT30S", max_delivery_count=2)
    await t.send(q.queue, "a")
    for _ in range(2):
        await one(await t.receiver(q), "a")
        await t.advance(31)
    await t.nothing(q)
    dead = await one(await t.receiver(q.dead_letters), "a")
    equal(dead.dead_letter_reason, "MaxDeliveryCountExceeded")


async def lock_updated_queue(t):
    q = await t.queue()
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    got = await one(r, "a")
    properties = await t.adm.get_queue(q.queue)
    properties.lock_duration = "PT2M"
    await t.adm.update_queue(properties)
    await refused(r.complete_message(got), "MessageLockLost")
    await t.left(q, "a")


async def lock_closed_receiver(t):
    q = await t.queue(lock_duration="PT30S")
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    await one(r, "a")
    await r.close()
    await t.nothing(q)
    await t.advance(31)
    equal((await one(await t.receiver(q), "a")).delivery_count, 1)


async def _schedule(t, name, seconds, *messages):
    numbers = await (await t.sender(name)).schedule_messages(list(messages), later(seconds))
    equal(len(numbers), len(messages))
    return numbers


async def schedule(t):
    q = await t.queue()
    due = later(300)
    await _schedule(t, q.queue, 300, msg("a"))
    await t.advance(290)
    await t.nothing(q)
    await t.advance(11)
    got = await one(await t.receiver(q), "a")
    lasts(due, got.enqueued_time_utc, 0)
    lasts(due, got.scheduled_enqueue_time_utc, 0)
    equal(got.state, ServiceBusMessageState.SCHEDULED)


async def schedule_property(t):
    q = await t.queue()
    due = later(300)
    await t.send(q.queue, msg("a", scheduled_enqueue_time_utc=due))
    await t.advance(290)
    await t.nothing(q)
    await t.advance(11)
    lasts(due, (await one(await t.receiver(q), "a")).enqueued_time_utc, 0)


async def schedule_several(t):
    q = await t.queue()
    numbers = await _schedule(t, q.queue, 300, msg("a"), msg("b"), msg("c"))
    equal(sorted(set(numbers)), numbers)
    await t.nothing(q)
    await t.advance(301)
    await t.left(q, "a", "b", "c")


async def schedule_cancel(t):
    q = await t.queue()
    numbers = await _schedule(t, q.queue, 300, msg("a"), msg("b"))
    await (await t.sender(q.queue)).cancel_scheduled_messages(numbers[:1])
    await t.advance(301)
    await t.left(q, "b")


async def schedule_cancel_unknown(t):
    s = await t.sender((await t.queue()).queue)
    await refused(s.cancel_scheduled_messages([4711]), "MessageNotFound")


async def schedule_past(t):
    q = await t.queue()
    await _schedule(t, q.queue, -60, msg("a"))
    await t.left(q, "a")


async def schedule_topic(t):
    first, second = await t.topic("s1", "s2")
    await _schedule(t, t.name, 300, msg("a"))
    await t.nothing(first)
    await t.advance(301)
    await t.left(first, "a")
    await t.left(second, "a")


def _aged(body, seconds):
    return msg(body, time_to_live=timedelta(seconds=seconds))


async def _dies_after_a_hundred(t, q):
    await t.advance(90)
    await one(await t.deleting(q), "a")
    await t.advance(10)
    await t.left(q)


async def ttl_message(t):
    q = await t.queue()
    await t.send(q.queue, _aged("a", 100), _aged("b", 100))
    await _dies_after_a_hundred(t, q)


async def ttl_default(t):
    q = await t.queue(default_message_time_to_live="PT100S")
    await t.send(q.queue, "a", "b")
    await _dies_after_a_hundred(t, q)


async def ttl_ceiling(t):
    q = await t.queue(default_message_time_to_live="PT100S")
    await t.send(q.queue, _aged("a", 1000), _aged("b", 1000))
    equal((await one(await t.deleting(q), "a")).time_to_live, timedelta(seconds=100))
    await t.advance(100)
    await t.left(q)


async def ttl_expires_at(t):
    q = await t.queue()
    await t.send(q.queue, _aged("a", 100))
    r = await t.receiver(q)
    for got in (await r.peek_messages())[0], await one(r, "a"):
        lasts(got.enqueued_time_utc, got.expires_at_utc, 100)


async def ttl_dead_letter(t):
    q = await t.queue(dead_lettering_on_message_expiration=True)
    await t.send(q.queue, _aged("a", 100))
    await t.advance(101)
    await t.nothing(q)
    equal((await one(await t.receiver(q.dead_letters), "a")).dead_letter_reason, "TTLExpiredException")


async def ttl_locked(t):
    q = await t.queue(dead_lettering_on_message_expiration=True)
    await t.send(q.queue, _aged("a", 20))
    r = await t.receiver(q)
    got = await one(r, "a")
    await t.advance(40)
    await r.complete_message(got)
    await t.left(q)
    await t.left(q.dead_letters)


async def ttl_abandon(t):
    q = await t.queue(dead_lettering_on_message_expiration=True)
    await t.send(q.queue, _aged("a", 20))
    r = await t.receiver(q)
    got = await one(r, "a")
    await t.advance(40)
    await r.abandon_message(got)
    await t.nothing(q)
    equal((await one(await t.receiver(q.dead_letters), "a")).dead_letter_reason, "TTLExpiredException")


async def ttl_scheduled(t):
    q = await t.queue()
    await _schedule(t, q.queue, 300, _aged("a", 100), _aged("b", 100))
    await t.advance(301)
    await t.advance(90)
    await one(await t.deleting(q), "a")
    await t.advance(11)
    await t.left(q)


async def ttl_default_changes(t):
    q = await t.queue()
    await t.send(q.queue, "none", _aged("own", 200))
    properties = await t.adm.get_queue(q.queue)
    properties.default_message_time_to_live = "PT100S"
    await t.adm.update_queue(properties)
    await t.advance(101)
    await t.left(q, "own")


async def ttl_subscription(t):
    await t.topic(default_message_time_to_live="PT100S")
    short = await t.sub("short", default_message_time_to_live="PT50S")
    long = await t.sub("long")
    await t.send(t.name, "a", "b")
    await t.advance(51)
    await t.left(short)
    await one(await t.deleting(long), "a")
    await t.advance(50)
    await t.left(long)


async def ttl_deferred(t):
    q = await t.queue()
    await t.send(q.queue, _aged("a", 100))
    r = await t.receiver(q)
    got = await one(r, "a")
    await r.defer_message(got)
    await t.advance(200)
    equal(bodies(await deferred(r, got.sequence_number)), ["a"])


async def ttl_dead_letter_stays(t):
    q = await t.queue()
    await t.send(q.queue, _aged("a", 100))
    r = await t.receiver(q)
    await r.dead_letter_message(await one(r, "a"), reason="why")
    await t.advance(365 * 24 * 3600)
    await t.left(q.dead_letters, "a")
