"""Sessions. Their queues have locks of 30 seconds."""

from azure.servicebus import NEXT_AVAILABLE_SESSION

from bus import NoApi, bodies, deferred, drain, equal, lasts, later, msg, none, one, refused, take


async def _talks(t):
    return await t.queue(requires_session=True, lock_duration="PT30S")


def _in(session, body, **more):
    return msg(body, session_id=session, **more)


async def _accept(t, place, id=NEXT_AVAILABLE_SESSION):
    return await t.receiver(place, session_id=id, max_wait_time=10)


async def session_accept(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"), _in("y", "y1"), _in("x", "x2"), _in("y", "y2"))
    r = await _accept(t, q, "y")
    equal(r.session.session_id, "y")
    got = await take(r, 2)
    equal(bodies(got), ["y1", "y2"])
    equal(got[0].session_id, "y")
    await none(r)


async def session_next(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"), _in("y", "y1"))
    for _ in range(2):
        r = await _accept(t, q)
        await one(r, r.session.session_id + "1")


async def session_next_none(t):
    q = await _talks(t)
    await refused(t.receiver(q, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=2), "OperationTimeout")


async def session_locked(t):
    q = await _talks(t)
    await _accept(t, q, "x")
    await refused(_accept(t, q, "x"), "SessionCannotBeLocked")


async def session_state(t):
    q = await _talks(t)
    r = await _accept(t, q, "x")
    await r.session.set_state("half")
    equal(await r.session.get_state(), b"half")
    await r.close()
    r = await _accept(t, q, "x")
    equal(await r.session.get_state(), b"half")
    await r.session.set_state(None)
    assert not await r.session.get_state()


async def session_renew(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"))
    r = await _accept(t, q, "x")
    got = await one(r, "x1")
    was = r.session.locked_until_utc
    await t.advance(20)
    lasts(was, await r.session.renew_lock(), 20)
    await t.advance(20)
    await r.complete_message(got)
    await none(r)


async def session_lock_lost(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"))
    r = await _accept(t, q, "x")
    got = await one(r, "x1")
    await t.advance(31)
    await refused(r.complete_message(got), "LockLost")
    equal((await one(await _accept(t, q, "x"), "x1")).delivery_count, 1)


async def session_close(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"))
    r = await _accept(t, q, "x")
    await one(r, "x1")
    await r.close()
    equal((await one(await _accept(t, q, "x"), "x1")).delivery_count, 0)


async def session_abandon(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"), _in("x", "x2"))
    r = await _accept(t, q, "x")
    await r.abandon_message(await one(r, "x1"))
    equal(bodies(await take(r, 2)), ["x1", "x2"])


async def session_defer(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"))
    r = await _accept(t, q, "x")
    got = await one(r, "x1")
    await r.defer_message(got)
    await r.close()
    r = await _accept(t, q, "x")
    await none(r)
    again = (await deferred(r, got.sequence_number))[0]
    equal(bodies([again]), ["x1"])
    await r.complete_message(again)
    equal(await r.peek_messages(), [])


async def session_schedule(t):
    q = await _talks(t)
    await (await t.sender(q.queue)).schedule_messages([_in("x", "x1")], later(300))
    await t.advance(301)
    await one(await _accept(t, q, "x"), "x1")


async def session_peek(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"), _in("y", "y1"), _in("x", "x2"))
    r = await _accept(t, q, "x")
    equal(bodies(await r.peek_messages(max_message_count=10)), ["x1", "x2"])


async def session_required(t):
    q = await _talks(t)
    await refused(t.send(q.queue, "a"), "session")
    await refused(t.receiver(q), "session")


async def session_not_supported(t):
    q = await t.queue()
    await refused(_accept(t, q, "x"), "session")


async def session_subscription(t):
    await t.topic()
    s = await t.sub("s", requires_session=True)
    await t.send(t.name, _in("x", "x1"))
    r = await _accept(t, s)
    equal(r.session.session_id, "x")
    await r.complete_message(await one(r, "x1"))
    await none(r)


async def session_dead_letter(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"))
    r = await _accept(t, q, "x")
    await r.dead_letter_message(await one(r, "x1"), reason="why")
    got = await one(await t.receiver(q.dead_letters), "x1")
    equal((got.session_id, got.dead_letter_reason), ("x", "why"))


async def session_list(t):
    q = await _talks(t)
    await t.send(q.queue, _in("x", "x1"), _in("y", "y1"), _in("z", "z1"), _in("x", "x2"))
    await (await _accept(t, q, "w")).session.set_state("state alone")
    equal(sorted(await drain(t.client.list_queue_sessions(q.queue))), ["w", "x", "y", "z"])


async def session_locked_until(t):
    raise NoApi("tells no lock of a message in a session")
