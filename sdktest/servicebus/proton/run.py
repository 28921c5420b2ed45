"""Transactions by Qpid Proton, whose client awaits nothing but the declaration of each.

    run.py --amqp HOST:PORT --queue NAME --first N --count N [--open N] [--seed N] [--rollback N] [--messages N]

It receives --messages messages, if that is given, and does --count transactions, --open at a time. Each sends two
messages, "N.0" and "N.1", completes one message where it has one, and asks for its end in the same breath: for a
rollback where a draw below 100 is below --rollback. It prints a line for each event, when it is known:

    asked N commit|rollback [BODY of what it completes]
    done N commit|rollback|failed

It ends with 0 when all are done, and with 3 when the connection is lost.
"""

import argparse
import random
import sys

from proton import Message
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import Container

LOST = 3


def say(*words):
    print(*words, flush=True)


class One(TransactionHandler):
    """One transaction."""

    def __init__(self, client, number):
        super().__init__()
        self.client, self.number, self.commit = client, number, client.draw()

    def on_transaction_declared(self, event):
        tx = event.transaction
        for part in range(2):
            tx.send(self.client.sender, Message(id=f"{self.number}.{part}", body=f"{self.number}.{part}"))
        completed = ""
        if self.client.deliveries:
            delivery, completed = self.client.deliveries.pop(0)
            tx.accept(delivery)
        say("asked", self.number, "commit" if self.commit else "rollback", completed)
        if self.commit:
            tx.commit()
        else:
            tx.abort()

    def end(self, outcome):
        say("done", self.number, outcome)
        self.client.ended()

    def on_transaction_committed(self, event):
        self.end("commit")

    def on_transaction_aborted(self, event):
        self.end("rollback")

    def on_transaction_commit_failed(self, event):
        self.end("failed")

    def on_transaction_declare_failed(self, event):
        self.end("failed")


class Client(MessagingHandler):
    def __init__(self, options):
        super().__init__(prefetch=0, auto_accept=False)
        self.options, self.random = options, random.Random(options.seed)
        self.next, self.last = options.first, options.first + options.count
        self.running, self.deliveries, self.lost = 0, [], None

    def draw(self):
        return self.random.randrange(100) >= self.options.rollback

    def on_start(self, event):
        self.container = event.container
        url = f"amqp://RootManageSharedAccessKey:SAS_KEY_VALUE@{self.options.amqp}"
        self.connection = event.container.connect(url, reconnect=False, heartbeat=30, allowed_mechs="PLAIN",
                                                  allow_insecure_mechs=True)
        self.receiver = event.container.create_receiver(self.connection, self.options.queue)
        self.sender = event.container.create_sender(self.connection, self.options.queue)
        if self.options.messages:
            self.receiver.flow(self.options.messages)

    def on_sendable(self, event):
        if event.sender == self.sender:
            self.go_on()

    def on_message(self, event):
        body = event.message.body
        text = body if isinstance(body, str) else bytes(body).decode()
        self.deliveries.append((event.delivery, text))
        self.go_on()

    def go_on(self):
        if len(self.deliveries) < self.options.messages and self.next == self.options.first:
            return
        while self.running < self.options.open and self.next < self.last and self.sender.credit > 4 * self.options.open:
            self.running += 1
            self.container.declare_transaction(self.connection, handler=One(self, self.next))
            self.next += 1

    def ended(self):
        self.running -= 1
        self.go_on()
        if self.running == 0 and self.next == self.last:
            self.connection.close()

    def fail(self, event):
        closed = event.link or event.session or event.connection
        self.lost = f"{event.type} {closed and closed.remote_condition}"
        self.connection.close()
        self.container.stop()

    on_link_error = on_session_error = on_connection_error = on_transport_error = on_disconnected = fail

    def on_connection_closed(self, event):
        self.container.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--amqp", required=True)
    parser.add_argument("--queue", required=True)
    for name, default in (("first", 0), ("count", 1), ("open", 8), ("seed", 0), ("rollback", 0), ("messages", 0)):
        parser.add_argument("--" + name, type=int, default=default)
    client = Client(parser.parse_args())
    Container(client).run()
    if client.running or client.next < client.last:
        print("lost:", client.lost, file=sys.stderr)
        sys.exit(LOST)


main()
