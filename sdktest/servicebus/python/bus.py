"""What the scenarios share: clients, entities, the server's clock, and ways to say what is wanted.

The scenarios are written for the asynchronous clients. Run with the synchronous ones they have those behind a
Sync, whose calls are made in a thread, so that one list of scenarios is for both."""

import asyncio
import inspect
import json
import os
import urllib.request
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from urllib.parse import urljoin

from azure.core.exceptions import ResourceNotFoundError
from azure.servicebus import AutoLockRenewer, ServiceBusClient, ServiceBusMessage, ServiceBusReceiveMode
from azure.servicebus.aio import AutoLockRenewer as AsyncRenewer
from azure.servicebus.aio import ServiceBusClient as AsyncClient
from azure.servicebus.aio.management import ServiceBusAdministrationClient as AsyncAdministration
from azure.servicebus.management import ServiceBusAdministrationClient, TrueRuleFilter

# MASTER_KEY is for the server's own routes; every Cosmos DB emulator is known to have it.
MASTER_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
KEY = "SAS_KEY_VALUE"

SOME_TIME = 20  # seconds that a call may take
SHORTLY = 0.5  # seconds that a receiver waits which is to get nothing


class NoApi(Exception):
    """Raised by a scenario that the SDK has no call for."""


class Sync:
    """An object of the synchronous SDK whose calls can be awaited."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        value = getattr(self.inner, name)
        if name == "session":
            return Sync(value)
        if not callable(value):
            return value

        async def call(*args, **kwargs):
            return await asyncio.to_thread(value, *args, **kwargs)

        return call

    async def __aenter__(self):
        await asyncio.to_thread(self.inner.__enter__)
        return self


@dataclass(frozen=True)
class Place:
    """Where messages are received from: a queue, or a subscription of a topic, or the dead letters of one."""

    queue: str = None
    topic: str = None
    sub: str = None
    dead: bool = False

    @property
    def dead_letters(self):
        return replace(self, dead=True)


class Scenario:
    """What one scenario works with. Its entities are deleted at the end."""

    def __init__(self, name, flags):
        self.name = name
        self.flags = flags
        self.asynchronous = flags.asynchronous
        self._after = []
        self._senders = {}
        self._queues = []
        self._topics = []
        self.client = self.connect(connection(flags.amqp, KEY, "UseDevelopmentEmulator=true;"))
        self.adm = self.administrator(KEY)

    async def begin(self):
        await asyncio.to_thread(change_clock, self.flags.mayfly, {"real": True})

    def wrap(self, thing):
        return thing if self.asynchronous else Sync(thing)

    def connect(self, text, **options):
        """Makes a client. It is not wrapped, since none of its calls goes to the server."""
        kind = AsyncClient if self.asynchronous else ServiceBusClient
        client = kind.from_connection_string(
            text, retry_total=4, retry_backoff_factor=0.2, retry_backoff_max=1, **options
        )
        self._after.append(self.wrap(client).close)
        return client

    def administrator(self, key):
        kind = AsyncAdministration if self.asynchronous else ServiceBusAdministrationClient
        text = connection(self.flags.admin, key)
        client = self.wrap(
            kind.from_connection_string(
                text, connection_verify=os.environ["REQUESTS_CA_BUNDLE"], retry_total=0
            )
        )
        self._after.append(client.close)
        return client

    def renewer(self):
        return self.wrap(AsyncRenewer() if self.asynchronous else AutoLockRenewer())

    async def queue(self, suffix="", **properties):
        """Creates a queue by the scenario's name."""
        name = f"{self.name}-{suffix}" if suffix else self.name
        await self.adm.create_queue(name, **properties)
        self._queues.append(name)
        return Place(queue=name)

    def drop_queue(self, name):
        self._queues.append(name)

    def drop_topic(self, name):
        self._topics.append(name)

    async def topic(self, *subs, **properties):
        """Creates a topic by the scenario's name, and subscriptions with these names."""
        await self.adm.create_topic(self.name, **properties)
        self._topics.append(self.name)
        return [await self.sub(s) for s in subs]

    async def sub(self, name, **properties):
        await self.adm.create_subscription(self.name, name, **properties)
        return Place(topic=self.name, sub=name)

    async def ruled(self, name, filter=TrueRuleFilter(), action=None, **properties):
        """Creates a subscription with one rule in place of $Default."""
        place = await self.sub(name, **properties)
        await self.adm.create_rule(self.name, name, name, filter=filter, action=action)
        await self.adm.delete_rule(self.name, name, "$Default")
        return place

    async def sender(self, name, client=None):
        """Returns the sender for a queue, or for the scenario's topic."""
        client = client or self.client
        if (client, name) not in self._senders:
            self._senders[client, name] = self.another_sender(name, client)
        return self._senders[client, name]

    def another_sender(self, name, client):
        """Makes a sender of its own connection."""
        get = client.get_topic_sender if name in self._topics else client.get_queue_sender
        sender = self.wrap(get(name))
        self._after.append(sender.close)
        return sender

    async def send(self, name, *messages):
        """Sends messages, or texts as messages, one after the other."""
        sender = await self.sender(name)
        for m in messages:
            await sender.send_messages(ServiceBusMessage(m) if isinstance(m, str) else m)

    async def receiver(self, place, client=None, **options):
        """Makes a receiver that is open."""
        client = client or self.client
        if place.dead:
            options["sub_queue"] = "deadletter"
        if place.queue:
            made = client.get_queue_receiver(place.queue, **options)
        else:
            made = client.get_subscription_receiver(place.topic, place.sub, **options)
        receiver = self.wrap(made)
        self._after.append(receiver.close)
        await receiver.__aenter__()
        return receiver

    async def deleting(self, place):
        """Makes a receiver that deletes."""
        return await self.receiver(place, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)

    async def nothing(self, place):
        """Wants a receiver that waits shortly to get nothing."""
        receiver = await self.receiver(place)
        await none(receiver)
        await receiver.close()

    async def left(self, place, *want, ordered=True):
        """Wants exactly these bodies, and takes them out."""
        receiver = await self.deleting(place)
        got = bodies(await take(receiver, len(want)))
        equal(got if ordered else sorted(got), list(want) if ordered else sorted(want))
        await none(receiver)
        await receiver.close()

    async def advance(self, seconds):
        """Moves the server's clock on."""
        await asyncio.to_thread(change_clock, self.flags.mayfly, {"advance": f"{seconds}s"})

    async def restart(self, how):
        """Ends the server, by "stop" or "kill", and returns when it is back."""
        if not self.flags.control:
            raise RuntimeError("needs --control")
        await asyncio.to_thread(post, urljoin(self.flags.control, how))

    async def close(self):
        for name in self._queues:
            await _unless_missing(self.adm.delete_queue(name))
        for name in self._topics:
            await _unless_missing(self.adm.delete_topic(name))
        # what a scenario has cut or made fail may not close well
        await asyncio.gather(*(call() for call in reversed(self._after[2:])), return_exceptions=True)
        await asyncio.gather(*(call() for call in self._after[:2]), return_exceptions=True)


async def _unless_missing(deletion):
    try:
        await deletion
    except ResourceNotFoundError:
        pass


def connection(place, key, more=""):
    return f"Endpoint=sb://{place};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={key};{more}"


def post(url):
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=60) as answer:
        assert answer.status == 200, url


def change_clock(mayfly, change):
    request = urllib.request.Request(
        urljoin(mayfly, "_mayfly/clock?settle=true"),
        method="PUT",
        headers={"Authorization": f"Bearer {MASTER_KEY}"},
        data=json.dumps(change).encode(),
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200, change


async def take(receiver, n):
    """Receives this many messages."""
    got = []
    until = asyncio.get_running_loop().time() + SOME_TIME
    while len(got) < n and asyncio.get_running_loop().time() < until:
        got += await receiver.receive_messages(max_message_count=n - len(got), max_wait_time=5)
    if len(got) != n:
        raise AssertionError(f"received {bodies(got)}, wanted {n}")
    return got


async def one(receiver, body):
    """Receives a message and wants it to have this body."""
    got = (await take(receiver, 1))[0]
    equal(text(got), body)
    return got


async def none(receiver):
    """Wants nothing."""
    equal(bodies(await receiver.receive_messages(max_message_count=1, max_wait_time=SHORTLY)), [])


async def deferred(receiver, *numbers):
    got = await receiver.receive_deferred_messages(list(numbers))
    equal(len(got), len(numbers))
    return got


async def drain(paged):
    """All of a list that comes in pages."""
    if inspect.isawaitable(paged):
        paged = await paged
    if hasattr(paged, "__aiter__"):
        return [item async for item in paged]
    return await asyncio.to_thread(list, paged)


async def refused(call, *words):
    """Wants a call to fail with an error whose kind or text has one of these words, and returns it."""
    try:
        answer = await call
    except Exception as e:
        said = f"{type(e).__name__}: {e}".lower()
        if not any(w.lower() in said for w in words):
            raise
        return e
    raise AssertionError(f"not refused: {answer}, wanted {words}")


def equal(got, want, of=""):
    assert got == want, f"{of} {got!r} is not {want!r}".strip()


def text(message):
    return b"".join(message.body).decode()


def bodies(messages):
    return [text(m) for m in messages]


def numbered(n):
    """The bodies m00, m01 and so on."""
    return [f"m{i:02}" for i in range(n)]


def msg(body, **properties):
    return ServiceBusMessage(body, **properties)


def plain(properties):
    """Application properties with texts in place of bytes."""

    def spelled(v):
        return v.decode() if isinstance(v, bytes) else v

    return {spelled(name): spelled(value) for name, value in (properties or {}).items()}


def later(seconds):
    """A moment by the machine's clock, with which the server's agrees when a scenario begins."""
    return datetime.now(timezone.utc) + timedelta(seconds=seconds)


def lasts(begin, end, seconds):
    """Wants two moments to be so far apart, give or take what real time has passed meanwhile."""
    assert begin and end, f"a moment is missing: {begin}, {end}"
    apart = (end - begin).total_seconds()
    assert abs(apart - seconds) < 8, f"{end} is not {seconds} s after {begin}"
