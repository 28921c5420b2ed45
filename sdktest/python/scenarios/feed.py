"""The change feed."""

from datetime import datetime, timezone

from lib import Feed, NoApi, equal, ids, the_twenty, twentieth, user, want_ids

_EVERYTHING = ids(the_twenty())
_VERSIONS = {"change_feed_policy": {"retentionDuration": 10}}  # minutes


def _from_beginning(container, **how):
    return Feed(container, start_time="Beginning", **how)


def _versions_from_now(container):
    return Feed(container, start_time="Now", mode="AllVersionsAndDeletes")


def feed_beginning(t):
    c = t.twenty()
    changes = _from_beginning(c)
    got = changes.drain()
    want_ids(got, _EVERYTHING)
    equal([i["id"] for i in got if i["pk"] == "p2"], ["i02", "i07", "i12", "i17"])
    equal([user(i) for i in got if i["id"] == "i07"], [twentieth(7)])
    assert all(isinstance(i["_lsn"], int) for i in got)
    equal(changes.drain(), [])
    equal(t.status, 304)
    c.create_item({"id": "new", "pk": "p3"})
    want_ids(changes.drain(), ["new"])
    equal(changes.drain(), [])


def feed_now(t):
    c = t.twenty()
    changes = Feed(c, start_time="Now")
    equal(changes.drain(), [])
    c.create_item({"id": "new", "pk": "p3"})
    c.upsert_item(twentieth(1) | {"n": 100})
    want_ids(changes.drain(), ["new", "i01"])


def feed_time(t):
    c = t.twenty()
    t.advance(10)
    mark = c.create_item({"id": "mark", "pk": "p0"})["_ts"]
    t.advance(10)
    c.create_item({"id": "late", "pk": "p1"})
    for by, want in ((5, ["late"]), (-5, ["mark", "late"])):
        moment = datetime.fromtimestamp(mark + by, timezone.utc)
        want_ids(Feed(c, start_time=moment).drain(), want)


def feed_partition(t):
    c = t.twenty()
    changes = _from_beginning(c, partition_key="p4")
    equal(ids(changes.drain()), ["i04", "i09", "i14", "i19"])
    c.create_item({"id": "other", "pk": "p3"})
    equal(changes.drain(), [])
    c.create_item({"id": "own", "pk": "p4"})
    want_ids(changes.drain(), ["own"])


def feed_by_range(t):
    c = t.twenty()
    got = []
    for feed_range in c.read_feed_ranges():
        got += _from_beginning(c, feed_range=feed_range).drain()
    want_ids(got, _EVERYTHING)


def feed_page_size(t):
    pages = _from_beginning(t.twenty(), max_item_count=4).pages()
    assert all(len(page) <= 4 for page in pages)
    assert len(pages) >= 5
    want_ids([item for page in pages for item in page], _EVERYTHING)


def feed_resume(t):
    changes = _from_beginning(t.twenty(), max_item_count=2)
    # the SDK does not take up a continuation of its own before every range has been read from
    first = [item for _ in range(t.ranges) for item in changes.page()]
    assert 0 < len(first) < 20
    rest = Feed(t.seen_by(t.connect()), continuation=changes.continuation, max_item_count=2).drain()
    want_ids(first + rest, _EVERYTHING)


def feed_latest(t):
    c = t.container()
    for id in "123":
        c.create_item({"id": id, "pk": "a", "v": 1})
    c.replace_item("1", {"id": "1", "pk": "a", "v": 2})
    c.replace_item("1", {"id": "1", "pk": "a", "v": 3})
    c.delete_item("2", "a")
    changes = _from_beginning(c)
    got = changes.drain()
    equal(ids(got), ["3", "1"])
    equal(got[1]["v"], 3)
    c.delete_item("3", "a")
    equal(changes.drain(), [])


def feed_expired(t):
    c = t.container(default_ttl=-1)
    c.create_item({"id": "mortal", "pk": "a", "ttl": 5})
    c.create_item({"id": "lasting", "pk": "a"})
    t.advance(5)
    equal(ids(_from_beginning(c).drain()), ["lasting"])


def feed_all_versions(t):
    c = t.container(**_VERSIONS)
    changes = _versions_from_now(c)
    equal(changes.drain(), [])
    c.create_item({"id": "1", "pk": "a", "v": 1})
    c.replace_item("1", {"id": "1", "pk": "a", "v": 2})
    c.delete_item("1", "a")
    got = changes.drain()
    equal([e["metadata"]["operationType"] for e in got], ["create", "replace", "delete"])
    equal(got[0]["current"]["v"], 1)
    equal(got[1]["current"]["v"], 2)
    equal(got[2].get("previous", {"v": 2})["v"], 2)
    assert all(isinstance(e["metadata"][name], int) for e in got for name in ("lsn", "crts"))


def feed_all_versions_expired(t):
    c = t.container(default_ttl=5, **_VERSIONS)
    changes = _versions_from_now(c)
    equal(changes.drain(), [])
    c.create_item({"id": "1", "pk": "a"})
    t.advance(5)
    c.create_item({"id": "1", "pk": "a", "v": 2})  # the ghost in the way is purged first
    got = changes.drain()
    equal([e["metadata"]["operationType"] for e in got], ["create", "delete", "create"])
    equal(got[1]["metadata"]["timeToLiveExpired"], True)


def feed_all_versions_beginning(t):
    c = t.container(**_VERSIONS)
    try:
        _from_beginning(c, mode="AllVersionsAndDeletes").drain()
    except ValueError as e:
        assert "only supported if 'start_time' is 'Now'" in str(e), e
        return
    raise AssertionError("not refused")


def feed_processor(t):
    raise NoApi("no processor")
