"""What a client does not notice: splits of ranges, other clients, restarts of the server."""

from lib import Feed, NoApi, equal, first_page, ids, if_match, query, rows, the_twenty, twentieth, want_ids

_EVERYTHING = ids(the_twenty())


def split_items(t):
    c = t.twenty()
    want_ids(rows(c, "SELECT * FROM c WHERE c.n >= 0"), _EVERYTHING)
    t.split(c)
    for item in the_twenty():
        equal(c.read_item(item["id"], item["pk"])["n"], item["n"])
        c.replace_item(item["id"], item | {"n": item["n"] + 100})
        equal(t.status, 200)
    for i in range(10):
        c.create_item({"id": f"new{i}", "pk": f"q{i}", "n": 0})
    equal(len(rows(c, "SELECT * FROM c WHERE c.n >= 100")), 20)
    equal(len(rows(c, "SELECT * FROM c")), 30)
    equal(len(list(c.read_feed_ranges(force_refresh=True))), t.ranges + 1)


def split_while_paging(t):
    c = t.twenty()
    want_ids(_split_after_first_page(t, c, query(c, "SELECT * FROM c", max_item_count=3)), _EVERYTHING)


def split_while_ordering(t):
    raise NoApi("reads a range that was split from its start again")


def split_partition_paging(t):
    c = t.container()
    for i in range(10):
        c.create_item({"id": str(i), "pk": "a"})
    for i in range(20):
        c.create_item({"id": "x", "pk": f"b{i}"})
    equal(ids(_split_after_first_page(t, c, query(c, "SELECT * FROM c", "a", max_item_count=3))), list("0123456789"))


def _split_after_first_page(t, c, found):
    pages = found.by_page()
    got = list(next(pages))
    equal(len(got), 3)
    t.split(c)
    return got + [item for page in pages for item in page]


def split_feed(t):
    c = t.twenty()
    changes = Feed(c, start_time="Beginning", max_item_count=4)
    first = changes.page()
    assert first
    t.split(c)
    want_ids(first + changes.drain(), _EVERYTHING)
    c.create_item({"id": "new", "pk": "p0"})
    c.replace_item("i01", twentieth(1) | {"n": 100})
    want_ids(changes.drain(), ["new", "i01"])


def split_aggregates(t):
    c = t.twenty()
    equal(rows(c, "SELECT VALUE SUM(c.n) FROM c"), [190])
    t.split(c)
    equal(rows(c, "SELECT VALUE SUM(c.n) FROM c"), [190])
    equal(rows(c, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 4"), [15])


def split_batch(t):
    c = t.container()
    for i in range(20):
        c.create_item({"id": "before", "pk": f"p{i}"})
    t.split(c)
    for i in range(20):
        key = f"p{i}"
        results = c.execute_item_batch([("create", ({"id": "batch", "pk": key},)), ("read", ("before",))], key)
        equal([r["statusCode"] for r in results], [201, 200])
    equal(len(rows(c, "SELECT * FROM c")), 40)


# the ways in which another client makes the container again, one after the other
_RECREATIONS = (
    "ranges=1", "ranges=2", "ranges=4", "ranges=1", "ranges=4&whole=true", "ranges=2&whole=true", "ranges=4", "ranges=1&whole=true",
)


def container_recreated(t):
    c = t.twenty()
    want_ids(rows(c, "SELECT * FROM c"), _EVERYTHING)
    for round, how in enumerate(_RECREATIONS):
        t.restart(f"recreate?database={t.name}&round={round}&{how}")
        want = [f"r{round}-{i}" for i in range(7)]

        def points():
            for i, id in enumerate(want):
                item = c.read_item(id, f"k{i}")
                equal(item["n"], i)
                c.upsert_item(item)

        uses = [
            lambda: want_ids(rows(c, "SELECT * FROM c"), want),
            lambda: equal(ids(rows(c, "SELECT * FROM c ORDER BY c.n")), want),
            lambda: want_ids(Feed(c, start_time="Beginning").drain(), want),
            points,
            lambda: want_ids(c.read_items([(id, f"k{i}") for i, id in enumerate(want)]), want),
        ]
        for i in range(len(uses)):
            uses[(i + round) % len(uses)]()


def session_other_client(t):
    c = t.container()
    other = t.seen_by(t.connect())
    for v in range(10):
        headers = c.upsert_item({"id": "1", "pk": "a", "v": v}).get_response_headers()
        session = {"session_token": headers["x-ms-session-token"]}
        equal(other.read_item("1", "a", **session)["v"], v)
        equal(rows(other, "SELECT VALUE c.v FROM c", "a", **session), [v])


def session_restart(t):
    _over(t, "stop")


def session_kill(t):
    _over(t, "kill")


def _over(t, how):
    """Ends the server and goes on with the same client."""
    c = t.twenty()
    written = c.replace_item("i07", twentieth(7) | {"n": 700})
    t.restart(how)
    equal(c.read_item("i07", "p2"), written)
    want_ids(rows(c, "SELECT * FROM c"), _EVERYTHING)
    again = c.replace_item("i07", twentieth(7) | {"n": 701}, **if_match(written["_etag"]))
    equal(c.read_item("i07", "p2")["_etag"], again["_etag"])
    c.create_item({"id": "new", "pk": "p2"})
    equal(t.status, 201)


def restart_paging(t):
    c = t.twenty()
    first, continuation = first_page(query(c, "SELECT * FROM c", max_item_count=3))
    assert continuation
    t.restart("stop")
    rest = [item for page in query(c, "SELECT * FROM c", max_item_count=3).by_page(continuation) for item in page]
    want_ids(first + rest, _EVERYTHING)


def restart_feed(t):
    c = t.twenty()
    changes = Feed(c, start_time="Beginning")
    want_ids(changes.drain(), _EVERYTHING)
    t.restart("kill")
    equal(changes.drain(), [])
    c.create_item({"id": "new", "pk": "p0"})
    want_ids(changes.drain(), ["new"])
