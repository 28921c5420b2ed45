"""Patch and batch."""

from lib import NoApi, absent, equal, fails, if_match, rows, user, want_ids


class _Patching:
    """A document, and what patches it."""

    def __init__(self, t, **body):
        self._container = t.container()
        self._container.create_item({"id": "1", "pk": "a"} | body)

    def patch(self, *operations, **options):
        return self._container.patch_item("1", "a", list(operations), **options)

    def refused(self, status, *operations, **options):
        fails(status, self.patch, *operations, **options)

    def read(self):
        got = user(self.whole())
        return {name: value for name, value in got.items() if name not in ("id", "pk")}

    def whole(self):
        return self._container.read_item("1", "a")


def _add(path, value):
    return {"op": "add", "path": path, "value": value}


def _set(path, value):
    return {"op": "set", "path": path, "value": value}


def _replace(path, value):
    return {"op": "replace", "path": path, "value": value}


def _incr(path, value):
    return {"op": "incr", "path": path, "value": value}


def _remove(path):
    return {"op": "remove", "path": path}


def patch_add(t):
    p = _Patching(t, o={"x": 1}, l=[1, 3])
    p.patch(_add("/n", 5), _add("/o/y", {"z": 2}), _add("/l/1", 2), _add("/l/-", 4))
    equal(t.status, 200)
    equal(p.read(), {"o": {"x": 1, "y": {"z": 2}}, "l": [1, 2, 3, 4], "n": 5})
    p.refused(400, _add("/none/deep", 1))
    p.refused(400, _add("/l/9", 1))


def patch_set(t):
    p = _Patching(t, v=1, l=[1, 2])
    p.patch(_set("/v", "new"), _set("/w", None), _set("/l/0", 9), _set("/l/-", 3))
    equal(p.read(), {"v": "new", "l": [9, 2, 3], "w": None})


def patch_replace(t):
    p = _Patching(t, v=1, o={"x": 1})
    p.patch(_replace("/v", [1]), _replace("/o/x", True))
    equal(p.read(), {"v": [1], "o": {"x": True}})
    p.refused(400, _replace("/none", 1))


def patch_remove(t):
    p = _Patching(t, v=1, l=[1, 2, 3])
    p.patch(_remove("/v"), _remove("/l/1"))
    equal(p.read(), {"l": [1, 3]})
    p.refused(400, _remove("/none"))


def patch_increment(t):
    p = _Patching(t, n=1, s="x")
    p.patch(_incr("/n", 41), _incr("/m", 5))
    p.patch(_incr("/m", -7))
    got = p.read()
    equal(got, {"n": 42, "s": "x", "m": -2})
    assert isinstance(got["n"], int)
    p.patch(_incr("/n", 0.5))
    equal(p.read()["n"], 42.5)
    p.refused(400, _incr("/s", 1))


def patch_move(t):
    p = _Patching(t, a={"x": 1}, b={})
    p.patch({"op": "move", "from": "/a/x", "path": "/b/y"})
    equal(p.read(), {"a": {}, "b": {"y": 1}})


def patch_condition(t):
    p = _Patching(t, n=1)
    p.patch(_set("/n", 2), filter_predicate="FROM c WHERE c.n = 1 AND NOT IS_DEFINED(c.m)")
    p.refused(412, _set("/n", 3), filter_predicate="FROM c WHERE c.n = 1")
    equal(p.read(), {"n": 2})
    p.refused(400, _set("/n", 3), filter_predicate="FROM c WHERE c.n = = 1")


def patch_etag(t):
    p = _Patching(t, n=1)
    first = p.whole()["_etag"]
    second = p.patch(_set("/n", 2), **if_match(first))
    equal(t.status, 200)
    assert second["_etag"] != first
    p.refused(412, _set("/n", 3), **if_match(first))


def patch_key(t):
    p = _Patching(t, n=1)
    for path in ("/id", "/pk", "/_ts", "/_rid"):
        p.refused(400, _set(path, "z"))
    equal(p.read(), {"n": 1})


def patch_atomic(t):
    p = _Patching(t, n=1)
    p.refused(400, _set("/n", 2), _set("/m", 1), _remove("/none"))
    equal(p.read(), {"n": 1})
    p.refused(400, *[_set(f"/v{i}", i) for i in range(11)])
    equal(p.read(), {"n": 1})


def _creates(names):
    return [("create", ({"id": id, "pk": "a"},)) for id in names]


def _statuses(results):
    return [r["statusCode"] for r in results]


def batch_all_kinds(t):
    c = t.container()
    for id in ("upsert", "read", "replace", "patch", "delete"):
        c.create_item({"id": id, "pk": "a", "v": 1})

    def body(id):
        return {"id": id, "pk": "a", "v": 2}

    results = c.execute_item_batch(
        [
            ("create", (body("create"),)),
            ("upsert", (body("upsert-new"),)),
            ("upsert", (body("upsert"),)),
            ("read", ("read",)),
            ("replace", ("replace", body("replace"))),
            ("patch", ("patch", [_incr("/v", 1)])),
            ("delete", ("delete",)),
        ],
        "a",
    )
    equal(_statuses(results), [201, 201, 200, 200, 200, 200, 204])
    equal(results[0]["resourceBody"]["id"], "create")
    equal(results[3]["resourceBody"]["v"], 1)
    assert results[0]["eTag"] and all(r["requestCharge"] > 0 for r in results)
    equal(rows(c, "SELECT VALUE c.v FROM c WHERE c.id != 'read'", "a"), [2, 2, 2, 2, 2])
    want_ids(rows(c, "SELECT * FROM c", "a"), ["create", "upsert-new", "upsert", "read", "replace", "patch"])


def batch_fails_at_each_place(t):
    c = t.container()
    c.create_item({"id": "there", "pk": "a"})
    for at in range(5):
        names = list("12345")
        names[at] = "there"
        e = fails(409, c.execute_item_batch, _creates(names), "a")
        equal(t.status, 207)
        equal(e.error_index, at)
        equal(_statuses(e.operation_responses), [409 if id == "there" else 424 for id in names])
    want_ids(rows(c, "SELECT * FROM c", "a"), ["there"])


def batch_etag(t):
    c = t.container()
    stale = c.create_item({"id": "1", "pk": "a", "v": 1})["_etag"]
    fresh = c.replace_item("1", {"id": "1", "pk": "a", "v": 2})["_etag"]

    def replacing(etag):
        return [
            ("create", ({"id": "2", "pk": "a"},)),
            ("replace", ("1", {"id": "1", "pk": "a", "v": 3}), {"if_match_etag": etag}),
        ]

    e = fails(412, c.execute_item_batch, replacing(stale), "a")
    equal(_statuses(e.operation_responses), [424, 412])
    absent(c, "2", "a")
    equal(_statuses(c.execute_item_batch(replacing(fresh), "a")), [201, 200])


def batch_own_writes(t):
    c = t.container()
    results = c.execute_item_batch(
        [
            ("create", ({"id": "1", "pk": "a", "v": 1},)),
            ("patch", ("1", [_incr("/v", 1)])),
            ("read", ("1",)),
            ("delete", ("1",)),
            ("create", ({"id": "1", "pk": "a", "v": 9},)),
        ],
        "a",
    )
    equal(_statuses(results), [201, 200, 200, 204, 201])
    equal(results[2]["resourceBody"]["v"], 2)
    equal(c.read_item("1", "a")["v"], 9)


def batch_hundred(t):
    c = t.container()
    names = [f"n{i}" for i in range(101)]
    fails((400, 413), c.execute_item_batch, _creates(names), "a")
    equal(_statuses(c.execute_item_batch(_creates(names[1:]), "a")), [201] * 100)
    equal(rows(c, "SELECT VALUE COUNT(1) FROM c", "a"), [100])


def bulk_create(t):
    raise NoApi("no bulk")


def bulk_mixed(t):
    raise NoApi("no bulk")
