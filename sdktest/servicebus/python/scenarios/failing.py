"""Errors, and the ways in beside the plain port."""

import os

from azure.servicebus import TransportType

from bus import KEY, Place, bodies, connection, msg, one, refused, equal

GONE = "MessagingEntityNotFound"
DISABLED = "MessagingEntityDisabled"


async def _receive(t, place):
    receiver = await t.receiver(place)
    return await receiver.receive_messages(max_wait_time=10)


async def _set_status(t, q, status):
    properties = await t.adm.get_queue(q.queue)
    properties.status = status
    await t.adm.update_queue(properties)


async def error_missing(t):
    for call in (t.send("not-there", "a"), _receive(t, Place(queue="not-there"))):
        await refused(call, "ServiceBusAuthenticationError")  # the SDK's word for a 404 of the token


async def error_disabled(t):
    q = await t.queue()
    await _set_status(t, q, "Disabled")
    await refused(t.send(q.queue, "a"), DISABLED)
    await refused(_receive(t, q), DISABLED)
    await _set_status(t, q, "Active")
    await t.send(q.queue, "b")
    await t.left(q, "b")


async def error_send_disabled(t):
    q = await t.queue()
    await t.send(q.queue, "a")
    await _set_status(t, q, "SendDisabled")
    await refused(t.send(q.queue, "b"), DISABLED)
    await t.left(q, "a")


async def error_receive_disabled(t):
    q = await t.queue()
    await _set_status(t, q, "ReceiveDisabled")
    await t.send(q.queue, "a")
    await refused(_receive(t, q), DISABLED)


async def error_wrong_key(t):
    q = await t.queue()
    client = t.connect(connection(t.flags.amqp, "another", "UseDevelopmentEmulator=true;"))
    s = await t.sender(q.queue, client)
    await refused(s.send_messages(msg("a")), "Authentication", "Authorization")
    await refused(t.administrator("another").get_queue(q.queue), "ClientAuthentication")


async def error_deleted_queue(t):
    q = await t.queue()
    s = await t.sender(q.queue)
    await s.send_messages(msg("a"))
    await t.adm.delete_queue(q.queue)
    await refused(s.send_messages(msg("b")), GONE, "ServiceBusAuthenticationError")


async def _secure(t, **options):
    """Does over a client with TLS what tells that it works. The SDK drops the endpoint's port."""
    q = await t.queue()
    client = t.connect(
        connection("localhost", KEY),
        custom_endpoint_address=f"sb://{t.flags.tls}",
        connection_verify=os.environ["REQUESTS_CA_BUNDLE"],
        **options,
    )
    await (await t.sender(q.queue, client)).send_messages(msg("a"))
    r = await t.receiver(q, client)
    equal(bodies(await r.peek_messages()), ["a"])
    await r.complete_message(await one(r, "a"))
    await t.left(q)


async def over_tls(t):
    await _secure(t)


async def over_websocket(t):
    await _secure(t, transport_type=TransportType.AmqpOverWebsocket)
