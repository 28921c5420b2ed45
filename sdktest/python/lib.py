"""What the scenarios share: a client and a database of their own, the server's clock, and ways to say what is wanted."""

import json
import os
import urllib.request
from urllib.parse import urljoin

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.documents import SSLConfiguration
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosHttpResponseError

# KEY is the master key that every Cosmos DB emulator is known to have.
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="


class NoApi(Exception):
    """Raised by a scenario that the SDK has no call for."""


class Scenario:
    """What one scenario works with. Its database is made when it is first asked for."""

    def __init__(self, name, flags):
        self.name = name
        self.endpoint = flags.endpoint
        self.ranges = flags.ranges
        self.control = flags.control
        self.status = 0  # of the last answer that any of the clients has had
        self._clients = []
        self._database = None
        self.client = self.connect()

    def connect(self, credential=KEY, **options):
        """Makes one more client."""
        client = CosmosClient(self.endpoint, credential, **self.options(), **options)
        self._clients.append(client)
        return client

    def options(self):
        """The options every client is made with. The SDK does not verify the certificate of a "localhost" unless it is told
        whose to trust, so it is told."""
        options = {"raw_response_hook": self._answered}
        if self.endpoint.startswith("https:"):
            options |= {"ssl_config": SSLConfiguration(), "connection_verify": os.environ["REQUESTS_CA_BUNDLE"]}
        return options

    def _answered(self, response):
        self.status = response.http_response.status_code

    def database(self, **options):
        if self._database is None:
            self._database = self.client.create_database(self.name, **options)
        return self._database

    def container(self, id="c", paths=("/pk",), **definition):
        """Creates a container, partitioned by /pk unless told otherwise."""
        return self.database().create_container(id, partition_key(*paths), **definition)

    def twenty(self, **definition):
        """Creates a container with the twenty."""
        container = self.container(**definition)
        for item in the_twenty():
            container.create_item(item)
        return container

    def seen_by(self, client, id="c"):
        """A container of the scenario's database as another client has it."""
        return client.get_database_client(self.name).get_container_client(id)

    def advance(self, seconds):
        """Moves the server's clock on."""
        change_clock(self.endpoint, {"advance": f"{seconds}s"})

    def split(self, container):
        """Splits the container's first range in two. A new container's first range has the id 0."""
        mayfly(self.endpoint, "POST", f"_mayfly/dbs/{self.name}/colls/{container.id}/split", {"range": "0"})

    def restart(self, how):
        """Ends the server, by "stop" or "kill", and returns when it is back."""
        if not self.control:
            raise RuntimeError("needs --control")
        with urllib.request.urlopen(urllib.request.Request(urljoin(self.control, how), method="POST")) as answer:
            assert answer.status == 200, how

    def close(self):
        if self._database is not None:
            self.client.delete_database(self.name)
        for client in self._clients:
            client.close()


def mayfly(endpoint, method, path, body):
    """Calls the server's own interface. The certificate is trusted as SSL_CERT_FILE says."""
    request = urllib.request.Request(
        urljoin(endpoint, path),
        method=method,
        headers={"Authorization": f"Bearer {KEY}"},
        data=json.dumps(body).encode(),
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200, path


def change_clock(endpoint, change):
    mayfly(endpoint, "PUT", "_mayfly/clock", change)


def partition_key(*paths):
    if len(paths) == 1:
        return PartitionKey(path=paths[0])
    return PartitionKey(path=list(paths), kind="MultiHash")


def the_twenty():
    """The documents that scenarios.md describes."""
    return [twentieth(i) for i in range(20)]


def twentieth(i):
    return {
        "id": f"i{i:02}",
        "pk": f"p{i % 5}",
        "n": i,
        "g": f"g{i % 3}",
        "tags": [f"t{i % 4}", "all"],
        "o": {"x": i},
    }


def fails(statuses, call, *args, **kwargs):
    """Wants a call refused with one of the statuses, and returns the error."""
    wanted = statuses if isinstance(statuses, tuple) else (statuses,)
    try:
        answer = call(*args, **kwargs)
    except (CosmosHttpResponseError, CosmosBatchOperationError) as e:
        if e.status_code not in wanted:
            raise
        return e
    raise AssertionError(f"not refused: {answer}, wanted {statuses}")


def equal(got, want, of=""):
    assert got == want, f"{of} {got!r} is not {want!r}".strip()


def query(container, text, key=None, **options):
    """Starts a query: of one partition key, or across where there is none."""
    if key is None:
        options["enable_cross_partition_query"] = True
    else:
        options["partition_key"] = key
    return container.query_items(text, **options)


def rows(container, text, key=None, **options):
    """Drains a query."""
    return list(query(container, text, key, **options))


def pages(paged):
    """Drains an iterator by its pages."""
    return [page for page in map(list, paged.by_page()) if page]


def first_page(paged, continuation=None):
    """Reads one page and tells the continuation after it. The SDK ends at a last page without items, and keeps the token."""
    iterator = paged.by_page(continuation)
    try:
        return list(next(iterator)), iterator.continuation_token
    except StopIteration:
        return [], None


def ids(items):
    return [i["id"] for i in items]


def want_ids(items, want):
    """Wants these ids in any order, each once."""
    equal(sorted(ids(items)), sorted(want))


SYSTEM = ("_rid", "_self", "_etag", "_attachments", "_ts", "_lsn")


def user(item):
    """Strips what the server adds to a document."""
    return {name: value for name, value in item.items() if name not in SYSTEM}


def if_match(etag):
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def absent(container, id, key):
    """Wants no such item."""
    fails(404, container.read_item, id, key)


class Feed:
    """Reads a container's changes as an application does: by an iterator until there is nothing new, then by another one
    that takes up its continuation. How says where the first one starts, and its scope."""

    def __init__(self, container, max_item_count=None, **how):
        self._container = container
        self._options = {} if max_item_count is None else {"max_item_count": max_item_count}
        self._how = how
        self._pages = None
        self.continuation = None

    def page(self):
        """Reads one page; it is empty where there is nothing new."""
        if self._pages is None:
            how = {"continuation": self.continuation} if self.continuation else self._how
            self._pages = self._container.query_items_change_feed(**how, **self._options).by_page()
        page = list(next(self._pages, []))
        self.continuation = self._container.client_connection.last_response_headers["etag"]
        if not page:
            self._pages = None
        return page

    def pages(self):
        """Reads until there is nothing new."""
        return list(iter(self.page, []))

    def drain(self):
        return [item for page in self.pages() for item in page]
