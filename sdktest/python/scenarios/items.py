"""Single documents."""

from azure.core import MatchConditions

from lib import NoApi, absent, equal, fails, if_match, rows, user


def item_create(t):
    c = t.container()
    sent = {"id": "1", "pk": "a", "v": 1, "o": {"a": [1, None, True]}}
    made = c.create_item(sent)
    equal(t.status, 201)
    equal(user(made), sent)
    for name in ("_rid", "_self", "_etag", "_attachments"):
        assert isinstance(made[name], str), name
    assert isinstance(made["_ts"], int)
    equal(c.read_item("1", "a"), made)


def item_create_again(t):
    c = t.container()
    c.create_item({"id": "1", "pk": "a"})
    fails(409, c.create_item, {"id": "1", "pk": "a", "v": 2})
    equal(user(c.read_item("1", "a")), {"id": "1", "pk": "a"})


def item_read_absent(t):
    absent(t.container(), "none", "a")


def item_read_unchanged(t):
    c = t.container()
    made = c.create_item({"id": "1", "pk": "a"})
    unless = {"etag": made["_etag"], "match_condition": MatchConditions.IfModified}
    c.read_item("1", "a", **unless)
    equal(t.status, 304)
    c.replace_item("1", {"id": "1", "pk": "a", "v": 2})
    equal(c.read_item("1", "a", **unless)["v"], 2)
    equal(t.status, 200)


def item_replace(t):
    c = t.container()
    was = c.create_item({"id": "1", "pk": "a"})
    now = c.replace_item("1", {"id": "1", "pk": "a", "v": 2})
    equal(t.status, 200)
    equal(user(now), {"id": "1", "pk": "a", "v": 2})
    equal(now["_rid"], was["_rid"])
    assert now["_etag"] != was["_etag"]
    fails(404, c.replace_item, "none", {"id": "none", "pk": "a"})


def item_replace_stale(t):
    c = t.container()
    first = c.create_item({"id": "1", "pk": "a", "v": 1})
    second = c.replace_item("1", {"id": "1", "pk": "a", "v": 2}, **if_match(first["_etag"]))
    stale = if_match(first["_etag"])
    fails(412, c.replace_item, "1", {"id": "1", "pk": "a", "v": 3}, **stale)
    fails(412, c.upsert_item, {"id": "1", "pk": "a", "v": 3}, **stale)
    fails(412, c.delete_item, "1", "a", **stale)
    equal(c.read_item("1", "a"), second)
    c.delete_item("1", "a", **if_match(second["_etag"]))
    equal(t.status, 204)


def item_upsert(t):
    c = t.container()
    c.upsert_item({"id": "1", "pk": "a", "v": 1})
    equal(t.status, 201)
    equal(user(c.upsert_item({"id": "1", "pk": "a", "v": 2})), {"id": "1", "pk": "a", "v": 2})
    equal(t.status, 200)


def item_delete(t):
    c = t.container()
    c.create_item({"id": "1", "pk": "a"})
    c.delete_item("1", "a")
    equal(t.status, 204)
    absent(c, "1", "a")
    fails(404, c.delete_item, "1", "a")


def item_no_content(t):
    c = t.container()
    for answer in (
        c.create_item({"id": "1", "pk": "a"}, no_response=True),
        c.upsert_item({"id": "1", "pk": "a", "v": 1}, no_response=True),
        c.replace_item("1", {"id": "1", "pk": "a", "v": 2}, no_response=True),
        c.patch_item("1", "a", [{"op": "set", "path": "/v", "value": 3}], no_response=True),
    ):
        equal(answer, {})
        assert answer.get_response_headers()["etag"]
    equal(c.read_item("1", "a")["v"], 3)


def item_ids(t):
    c = t.container()
    names = ["a b", " leading", "100%", "a%20b", "a+b", '"quoted"', ";:@&=$,!*'()", "äöüß", "文档", "😀", "a.b", "[0]", "a" * 255]
    for id in names:
        equal(c.create_item({"id": id, "pk": "a"})["id"], id)
        equal(c.read_item(id, "a")["id"], id)
        equal(c.replace_item(id, {"id": id, "pk": "a", "v": 1})["v"], 1, id)
    equal(len(rows(c, "SELECT * FROM c", "a")), len(names))
    for id in names:
        c.delete_item(id, "a")
        equal(t.status, 204)


def item_values(t):
    c = t.container()
    deep = "end"
    for _ in range(100):
        deep = {"d": deep}
    sent = {
        "id": "1",
        "pk": "a",
        "numbers": [0, -1, 9007199254740992, 0.1, 1.5e-7, 1e300, -123456.789],
        "texts": ["", "ä€😀", 'quote " back \\ slash / line \n tab \t null \x01', "\u2028"],
        "empty": {"object": {}, "array": [], "nested": [[], [{}]]},
        "deep": deep,
        "name with blank": 1,
        "name.with.dots": 2,
        "": 3,
        "literals": [True, False, None],
    }
    c.create_item(sent)
    for got in (c.read_item("1", "a"), rows(c, "SELECT * FROM c", "a")[0]):
        equal(user(got), sent)
        # 1 and 1.0 are equal in Python
        equal([type(n) for n in got["numbers"]], [int, int, int, float, float, float, float])
    equal(rows(c, 'SELECT VALUE c["name.with.dots"] FROM c', "a"), [2])


def item_too_large(t):
    c = t.container()
    fails(413, c.create_item, {"id": "1", "pk": "a", "v": "x" * (2 * 1024 * 1024)})
    absent(c, "1", "a")
    c.create_item({"id": "1", "pk": "a", "v": "x" * (1900 * 1024)})
    equal(t.status, 201)


def item_wrong_partition(t):
    raise NoApi("takes the key from the document")


def item_same_id(t):
    c = t.container()
    c.create_item({"id": "1", "pk": "a", "v": 1})
    c.create_item({"id": "1", "pk": "b", "v": 2})
    c.delete_item("1", "a")
    equal(c.read_item("1", "b")["v"], 2)
