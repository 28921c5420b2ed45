"""Transactions, processors and renewers, restarts."""

import asyncio

from azure.servicebus.management import SqlRuleFilter

from bus import SOME_TIME, NoApi, bodies, equal, later, msg, numbered, one, refused, take

HELD = 25  # seconds that a lock of 10 is held


async def transaction_commit(t):
    raise NoApi("no transactions")


async def transaction_rollback(t):
    raise NoApi("no transactions")


async def transaction_settle(t):
    raise NoApi("no transactions")


async def transaction_across(t):
    raise NoApi("no transactions")


async def processor_all(t):
    raise NoApi("no processor")


async def processor_throws(t):
    raise NoApi("no processor")


async def processor_sessions(t):
    raise NoApi("no processor")


async def processor_minute(t):
    raise NoApi("no processor")


async def _renewed(t, receiver, renewable):
    """Lets a renewer of the SDK keep something locked for a while."""
    renewer = t.renewer()
    inner = (lambda thing: thing) if t.asynchronous else (lambda thing: getattr(thing, "inner", thing))
    registered = renewer.register(inner(receiver), inner(renewable), max_lock_renewal_duration=60)
    if not t.asynchronous:
        await registered
    await asyncio.sleep(HELD)
    await renewer.close()
    assert renewable.auto_renew_error is None, renewable.auto_renew_error


async def renewer_message(t):
    q = await t.queue(lock_duration="PT10S")
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    got = await one(r, "a")
    await _renewed(t, r, got)
    await r.complete_message(got)
    await t.left(q)


async def renewer_session(t):
    q = await t.queue(lock_duration="PT10S", requires_session=True)
    await t.send(q.queue, msg("x1", session_id="x"))
    r = await t.receiver(q, session_id="x")
    got = await one(r, "x1")
    await _renewed(t, r, r.session)
    await r.complete_message(got)
    equal(await r.peek_messages(), [])


async def restart_sender(t):
    q = await t.queue()
    s = await t.sender(q.queue)
    await s.send_messages(msg("a"))
    await t.restart("kill")
    await s.send_messages(msg("b"))
    await t.left(q, "a", "b")


async def restart_receiver(t):
    q = await t.queue()
    await t.send(q.queue, "a", "b")
    r = await t.receiver(q)
    await r.complete_message(await one(r, "a"))
    await t.restart("kill")
    got = []
    until = asyncio.get_running_loop().time() + SOME_TIME
    while not got and asyncio.get_running_loop().time() < until:
        got = await r.receive_messages(max_message_count=1, max_wait_time=5)
    equal(bodies(got), ["b"])
    await r.complete_message(got[0])
    await t.left(q)


async def restart_durable(t):
    q = await t.queue()
    await t.send(q.queue, *numbered(50))
    r = await t.receiver(q)
    for got in await take(r, 20):
        await r.complete_message(got)
    await t.restart("kill")
    await t.left(q, *numbered(50)[20:])


async def restart_locks(t):
    q = await t.queue()
    await t.send(q.queue, "a")
    r = await t.receiver(q)
    got = await one(r, "a")
    await t.restart("kill")
    await refused(r.complete_message(got), "lost", "error")
    await t.left(q, "a")


async def restart_session(t):
    q = await t.queue(requires_session=True)
    await t.send(q.queue, msg("x1", session_id="x"))
    await (await t.receiver(q, session_id="x")).session.set_state("half")
    await t.restart("kill")
    r = await t.receiver(q, session_id="x")
    equal(await r.session.get_state(), b"half")
    await one(r, "x1")


async def restart_scheduled(t):
    q = await t.queue()
    await (await t.sender(q.queue)).schedule_messages([msg("a")], later(300))
    await t.restart("kill")
    await t.nothing(q)
    await t.advance(301)
    await t.left(q, "a")


async def restart_entities(t):
    q = await t.queue("queue", lock_duration="PT42S")
    await t.topic()
    await t.ruled("s", SqlRuleFilter("color = 'blue'"))
    await t.restart("stop")
    equal((await t.adm.get_queue(q.queue)).lock_duration.total_seconds(), 42)
    equal((await t.adm.get_rule(t.name, "s", "s")).filter.sql_expression, "color = 'blue'")
    await t.send(q.queue, "a")
    await t.left(q, "a")


async def restart_processor(t):
    raise NoApi("no processor")
