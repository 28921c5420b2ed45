"""Time to live, to the second, by the server's virtual clock."""

from lib import absent, equal, fails, ids, pages, partition_key, query, rows, want_ids


def _alive(c, all, want):
    """Wants exactly these ids to be there: by query and, of all that the container has had, by read."""
    want_ids(rows(c, "SELECT * FROM c", "a"), want)
    for id in all:
        if id in want:
            equal(c.read_item(id, "a")["id"], id)
        else:
            absent(c, id, "a")


def _doc(id, **more):
    return {"id": id, "pk": "a"} | more


def _set_default(t, c, default_ttl):
    t.database().replace_container(c, partition_key("/pk"), default_ttl=default_ttl)


def ttl_default(t):
    c = t.container(default_ttl=10)
    equal(c.read()["defaultTtl"], 10)
    assert "ttl" not in c.create_item(_doc("1"))
    t.advance(9)
    _alive(c, ["1"], ["1"])
    t.advance(1)
    _alive(c, ["1"], [])


def ttl_item(t):
    c = t.container(default_ttl=10)
    all = ["short", "long", "never"]
    c.create_item(_doc("short", ttl=5))
    c.create_item(_doc("long", ttl=20))
    c.create_item(_doc("never", ttl=-1))
    for by, want in ((4, all), (1, ["long", "never"]), (14, ["long", "never"]), (1, ["never"]), (1000000, ["never"])):
        t.advance(by)
        _alive(c, all, want)


def ttl_on(t):
    c = t.container(default_ttl=-1)
    c.create_item(_doc("plain"))
    c.create_item(_doc("own", ttl=5))
    t.advance(5)
    _alive(c, ["plain", "own"], ["plain"])
    t.advance(1000000)
    _alive(c, ["plain", "own"], ["plain"])


def ttl_off(t):
    c = t.container()
    equal(c.create_item(_doc("own", ttl=5))["ttl"], 5)
    t.advance(1000)
    _alive(c, ["own"], ["own"])
    equal(c.read_item("own", "a")["ttl"], 5)


def ttl_invalid(t):
    for default_ttl in (0, -10):
        fails(400, t.container, "bad", default_ttl=default_ttl)
    c = t.container(default_ttl=-1)
    c.create_item(_doc("there", ttl=5))
    for ttl in (0, -2, 1.5, "10", None, 2**31):
        e = fails(400, c.create_item, _doc("new", ttl=ttl))
        assert "The input ttl" in e.http_error_message, e
        fails(400, c.upsert_item, _doc("there", ttl=ttl))
        fails(400, c.replace_item, "there", _doc("there", ttl=ttl))
        fails(400, c.patch_item, "there", "a", [{"op": "set", "path": "/ttl", "value": ttl}])
    _alive(c, ["there", "new"], ["there"])
    equal(c.read_item("there", "a")["ttl"], 5)


def ttl_write_restarts(t):
    c = t.container(default_ttl=10)
    all = ["left", "read", "replaced", "upserted", "patched"]
    for id in all:
        c.create_item(_doc(id))
    t.advance(9)
    c.read_item("read", "a")
    c.replace_item("replaced", _doc("replaced"))
    c.upsert_item(_doc("upserted"))
    c.patch_item("patched", "a", [{"op": "set", "path": "/v", "value": 1}])
    t.advance(1)
    _alive(c, all, ["replaced", "upserted", "patched"])
    t.advance(9)
    _alive(c, all, [])


def ttl_again(t):
    c = t.container(default_ttl=10)
    for id in "12":
        c.create_item(_doc(id))
    t.advance(10)
    fails(404, c.replace_item, "1", _doc("1"))
    fails(404, c.patch_item, "1", "a", [{"op": "set", "path": "/v", "value": 1}])
    fails(404, c.delete_item, "1", "a")
    c.create_item(_doc("1"))
    equal(t.status, 201)
    c.upsert_item(_doc("2"))
    equal(t.status, 201)
    _alive(c, ["1", "2"], ["1", "2"])


def ttl_patch(t):
    c = t.container(default_ttl=10)
    all = ["plain", "shorter", "longer"]
    for id in all:
        c.create_item(_doc(id))
    c.patch_item("shorter", "a", [{"op": "set", "path": "/ttl", "value": 5}])
    c.patch_item("longer", "a", [{"op": "add", "path": "/ttl", "value": 20}])
    for by, want in ((5, ["plain", "longer"]), (5, ["longer"]), (9, ["longer"]), (1, [])):
        t.advance(by)
        _alive(c, all, want)


def ttl_batch(t):
    c = t.container(default_ttl=10)
    made = [_doc("1"), _doc("2", ttl=5), _doc("3", ttl=20)]
    c.execute_item_batch([("create", (item,)) for item in made], "a")
    equal(t.status, 200)
    t.advance(5)
    _alive(c, "123", ["1", "3"])
    e = fails(404, c.execute_item_batch, [("read", ("2",)), ("read", ("1",))], "a")
    equal([r["statusCode"] for r in e.operation_responses], [404, 424])
    t.advance(5)
    _alive(c, "123", ["3"])


def ttl_default_changes(t):
    c = t.container()
    all = ["old", "own", "new"]
    c.create_item(_doc("old"))
    c.create_item(_doc("own", ttl=100))
    t.advance(20)
    c.create_item(_doc("new"))
    _set_default(t, c, 10)
    _alive(c, all, ["own", "new"])
    t.advance(9)
    _set_default(t, c, None)
    assert "defaultTtl" not in c.read()
    t.advance(1000)
    _alive(c, all, ["own", "new"])
    _set_default(t, c, -1)
    _alive(c, all, ["new"])
    _set_default(t, c, None)
    _alive(c, all, ["new"])


def ttl_counts(t):
    c = t.container(default_ttl=-1)
    for i in range(10):
        c.create_item(_doc(str(i), ttl=5) if i % 2 else _doc(str(i)))
    t.advance(5)
    equal(rows(c, "SELECT VALUE COUNT(1) FROM c", "a"), [5])
    got = pages(query(c, "SELECT * FROM c", "a", max_item_count=2))
    equal([id for page in got for id in ids(page)], ["0", "2", "4", "6", "8"])
    assert all(len(page) <= 2 for page in got)


def ttl_unique_key(t):
    c = t.container(default_ttl=-1, unique_key_policy={"uniqueKeys": [{"paths": ["/name"]}]})
    c.create_item(_doc("1", ttl=5, name="ada"))
    t.advance(4)
    fails(409, c.create_item, _doc("2", name="ada"))
    t.advance(1)
    c.create_item(_doc("2", name="ada"))
    equal(t.status, 201)
