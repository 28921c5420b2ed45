"""Sending and receiving."""

import asyncio
from datetime import datetime, timezone

from azure.servicebus import ServiceBusMessageState
from azure.servicebus.amqp import AmqpAnnotatedMessage, AmqpMessageHeader

from bus import SHORTLY, bodies, equal, lasts, later, msg, none, numbered, one, plain, refused, take


async def send_receive(t):
    q = await t.queue()
    await t.send(q.queue, "hello")
    r = await t.receiver(q)
    got = await one(r, "hello")
    equal(got.sequence_number, 1)
    equal(got.delivery_count, 0)
    equal(got.state, ServiceBusMessageState.ACTIVE)
    lasts(got.enqueued_time_utc, got.locked_until_utc, 60)
    assert abs((later(0) - got.enqueued_time_utc).total_seconds()) < 60, got.enqueued_time_utc
    await r.complete_message(got)
    await t.left(q)


async def send_properties(t):
    q = await t.queue()
    sent = {
        "message_id": "id-1",
        "subject": "greeting",
        "correlation_id": "c-1",
        "to": "somebody",
        "reply_to": "answers",
        "reply_to_session_id": "rs",
        "content_type": "text/plain",
        "partition_key": "pk",
    }
    await t.send(q.queue, msg("b", **sent))
    got = await one(await t.receiver(q), "b")
    equal({name: getattr(got, name) for name in sent}, sent)


async def send_application_properties(t):
    q = await t.queue()
    sent = {
        "text": "ä€😀",
        "empty": "",
        "int": 2**31 - 1,  # the SDK sends an int as one of 32 bits
        "small": -7,
        "fraction": 0.1,
        "yes": True,
        "no": False,
        "moment": datetime(2023, 11, 14, 22, 13, 20, 123000, timezone.utc),
        "a name with blanks": "1",
        "größe": "2",
    }
    await t.send(q.queue, msg("b", application_properties=sent))
    got = plain((await one(await t.receiver(q), "b")).application_properties)
    if isinstance(got.get("moment"), int):  # milliseconds, as the SDK reads it
        got["moment"] = datetime.fromtimestamp(got["moment"] / 1000, timezone.utc)
    equal(got, sent)


async def send_empty(t):
    q = await t.queue()
    await t.send(q.queue, "")
    await t.left(q, "")


async def send_binary(t):
    q = await t.queue()
    body = bytes(range(256)) * 4
    await t.send(q.queue, msg(body))
    got = (await take(await t.receiver(q), 1))[0]
    equal(b"".join(got.body), body)


async def send_large(t):
    q = await t.queue()
    body = "0123456789" * (20 << 10)
    await t.send(q.queue, body)
    await t.left(q, body)


async def send_too_large(t):
    q = await t.queue()
    await refused(t.send(q.queue, "x" * (300 << 10)), "MessageSizeExceeded")
    await t.left(q)


async def send_without_id(t):
    q = await t.queue()
    await t.send(q.queue, "a", "b")
    first, second = await take(await t.receiver(q), 2)
    assert first.message_id and second.message_id, (first.message_id, second.message_id)
    assert first.message_id != second.message_id, first.message_id


async def send_concurrent(t):
    """The clients are for one thread or task at a time, so there are ten."""
    q = await t.queue()
    want = [f"m{i:02}" for i in range(100)]

    async def send(bodies):
        sender = t.another_sender(q.queue, t.client)
        for body in bodies:
            await sender.send_messages(msg(body))

    await asyncio.gather(*(send(want[i::10]) for i in range(10)))
    await t.left(q, *want, ordered=False)


async def send_value_body(t):
    q = await t.queue()
    await t.send(q.queue, AmqpAnnotatedMessage(value_body="plain text"))
    await t.send(q.queue, AmqpAnnotatedMessage(sequence_body=[1, "two", True]))
    value, sequence = await take(await t.receiver(q), 2)
    equal(value.body, b"plain text")
    equal([list(row) for row in sequence.body], [[1, b"two", True]])


async def send_annotated(t):
    q = await t.queue()
    await t.send(
        q.queue,
        AmqpAnnotatedMessage(
            data_body=b"b",
            header=AmqpMessageHeader(durable=True, priority=7),
            delivery_annotations={"x-opt-hop": "one"},
            annotations={"x-opt-mine": "two"},
            footer={"x-opt-sum": "three"},
        ),
    )
    got = (await one(await t.receiver(q), "b")).raw_amqp_message
    equal((got.header.durable, got.header.priority, got.header.first_acquirer), (True, 7, None))
    equal(plain(got.delivery_annotations)["x-opt-hop"], "one")
    assert plain(got.delivery_annotations)["x-opt-lock-token"]
    equal(plain(got.annotations)["x-opt-mine"], "two")
    equal(plain(got.footer), {"x-opt-sum": "three"})


async def send_again(t):
    q = await t.queue()
    properties = {"message_id": "id-1", "partition_key": "pk", "application_properties": {"step": "one"}}
    await t.send(q.queue, msg("b", **properties))
    r = await t.receiver(q)
    was = await one(r, "b")
    await r.complete_message(was)
    await t.send(q.queue, was)
    got = await one(r, "b")
    equal((got.message_id, got.partition_key, got.sequence_number), ("id-1", "pk", 2))
    equal(plain(got.application_properties), {"step": "one"})


async def batch_send(t):
    q = await t.queue()
    s = await t.sender(q.queue)
    batch = await s.create_message_batch()
    for body in numbered(20):
        batch.add_message(msg(body))
    equal(len(batch), 20)
    await s.send_messages(batch)
    await t.left(q, *numbered(20))


async def batch_list(t):
    q = await t.queue()
    s = await t.sender(q.queue)
    await s.send_messages([msg(body) for body in numbered(20)])
    await t.left(q, *numbered(20))


async def batch_full(t):
    q = await t.queue()
    s = await t.sender(q.queue)
    batch = await s.create_message_batch()
    body = "x" * (50 << 10)
    added = 0
    while added <= 20:
        try:
            batch.add_message(msg(body))
        except ValueError:  # also MessageSizeExceededError
            break
        added += 1
    assert 4 <= added <= 20, added
    await s.send_messages(batch)
    await t.left(q, *[body] * added)


async def receive_several(t):
    q = await t.queue()
    await t.send(q.queue, *numbered(10))
    r = await t.receiver(q)
    got = []
    while len(got) < 10:
        some = await r.receive_messages(max_message_count=4, max_wait_time=5)
        assert 1 <= len(some) <= 4, len(some)
        got += some
    equal(bodies(got), numbered(10))
    equal([m.sequence_number for m in got], list(range(1, 11)))


async def receive_waits(t):
    q = await t.queue()
    r = await t.receiver(q)
    receiving = asyncio.create_task(one(r, "late"))
    await asyncio.sleep(SHORTLY)
    await t.send(q.queue, "late")
    await receiving


async def receive_nothing(t):
    await t.nothing(await t.queue())


async def receive_and_delete(t):
    q = await t.queue()
    await t.send(q.queue, "once")
    r = await t.deleting(q)
    got = await one(r, "once")
    await refused(r.complete_message(got), "ValueError", "settle", "receive")
    await t.left(q)


async def receive_competing(t):
    q = await t.queue()
    await t.send(q.queue, "a", "b")
    first, second = await t.receiver(q), await t.receiver(q)
    await one(first, "a")
    await one(second, "b")
    await none(second)


async def receive_iterate(t):
    q = await t.queue()
    await t.send(q.queue, *numbered(5))
    r = await t.receiver(q, max_wait_time=2)
    seen = []
    if t.asynchronous:
        async for got in r:
            seen.append(got)
            await r.complete_message(got)
    else:

        def all_of():
            for got in r.inner:
                seen.append(got)
                r.inner.complete_message(got)

        await asyncio.to_thread(all_of)
    equal(bodies(seen), numbered(5))
    await t.left(q)
