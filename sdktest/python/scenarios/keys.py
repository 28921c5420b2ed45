"""Partition keys of every kind."""

from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from lib import Feed, absent, equal, fails, rows, user, want_ids


def _life(t, c, key, sent):
    """Takes one document through its life under a partition key; sent has its id "1"."""
    c.create_item(sent)
    equal(t.status, 201)
    equal(user(c.read_item("1", key)), sent)
    equal([user(i) for i in rows(c, "SELECT * FROM c", key)], [sent])
    equal(c.replace_item("1", sent | {"v": 2})["v"], 2)
    c.delete_item("1", key)
    equal(t.status, 204)


def key_string(t):
    _lives(t, "", "a", "ä€😀")


def key_number(t):
    _lives(t, 0, -1.5, 1e21, 2**53)


def key_bool(t):
    _lives(t, True, False)


def key_null(t):
    c = t.container()
    _life(t, c, NullPartitionKeyValue, {"id": "1", "pk": None})


def key_none(t):
    c = t.container()
    c.create_item({"id": "2", "pk": None})
    _life(t, c, NonePartitionKeyValue, {"id": "1"})


def _lives(t, *values):
    c = t.container()
    for pk in values:
        _life(t, c, pk, {"id": "1", "pk": pk})


def key_kinds_apart(t):
    c = t.container()
    kinds = ["1", 1, True, "true", None, ""]
    for v, pk in enumerate(kinds):
        c.create_item({"id": "1", "pk": pk, "v": v})
    for v, pk in enumerate(kinds):
        key = NullPartitionKeyValue if pk is None else pk
        equal(c.read_item("1", key)["v"], v)
        equal(rows(c, "SELECT VALUE c.v FROM c", key), [v])


def key_long(t):
    c = t.container()
    one, two = ["k" * 1999 + end for end in "12"]
    c.create_item({"id": "1", "pk": one, "v": 1})
    c.create_item({"id": "1", "pk": two, "v": 2})
    equal(c.read_item("1", one)["v"], 1)
    equal(rows(c, "SELECT VALUE c.v FROM c", two), [2])


def key_nested(t):
    _life(t, t.container(paths=["/a/b"]), "x", {"id": "1", "a": {"b": "x", "c": 1}})


_THREE = ("/country", "/city", "/street")
_PLACES = [("de", "berlin", "a"), ("de", "berlin", "b"), ("de", "bonn", "a"), ("fr", "paris", "a"), ("fr", "berlin", "a")]


def _atlas(t):
    c = t.container(paths=_THREE)
    for country, city, street in _PLACES:
        for id in "12":
            c.create_item({"id": f"{country}-{city}-{street}-{id}", "country": country, "city": city, "street": street})
    return c


def _under(*prefix):
    return ["-".join([*place, id]) for place in _PLACES if place[: len(prefix)] == prefix for id in "12"]


def key_hierarchical(t):
    c = t.container(paths=_THREE)
    key = ["de", "berlin", "a"]
    sent = {"id": "1", "country": "de", "city": "berlin", "street": "a"}
    _life(t, c, key, sent)
    c.create_item(sent)
    equal(c.patch_item("1", key, [{"op": "set", "path": "/v", "value": 1}])["v"], 1)
    absent(c, "1", ["de", "berlin", "b"])


def key_hierarchical_query(t):
    c = _atlas(t)
    for prefix in (["de", "berlin", "a"], ["de", "berlin"], ["de"], ["fr"], ["it"]):
        want_ids(rows(c, "SELECT * FROM c", prefix), _under(*prefix))


def key_hierarchical_partial(t):
    fails(400, _atlas(t).read_item, "de-berlin-a-1", ["de", "berlin"])


def key_hierarchical_feed(t):
    want_ids(Feed(_atlas(t), start_time="Beginning", partition_key=["de"]).drain(), _under("de"))


def partition_delete(t):
    c = t.twenty()
    c.delete_all_items_by_partition_key("p1")
    equal(t.status, 200)
    equal(rows(c, "SELECT * FROM c", "p1"), [])
    absent(c, "i06", "p1")
    equal(len(rows(c, "SELECT * FROM c")), 16)
    c.create_item({"id": "i06", "pk": "p1"})
    equal(t.status, 201)
    want_ids(rows(c, "SELECT * FROM c", "p1"), ["i06"])
