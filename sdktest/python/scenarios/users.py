"""Users, permissions and resource tokens."""

from azure.cosmos.documents import PermissionMode

from lib import NoApi, equal, fails, ids, rows, want_ids


def _token_client(t, mode, **more):
    """The container "c" as somebody sees it who has nothing but a permission on it."""
    return t.seen_by(_with_token(t, _permission(t, mode, **more), "c"))


def _permission(t, mode, **more):
    somebody = t.database().create_user({"id": "somebody"})
    permission = {"id": "p", "permissionMode": mode, "resource": f"dbs/{t.name}/colls/c"} | more
    return somebody.create_permission(permission).properties["_token"]


def _with_token(t, token, container):
    return t.connect({f"dbs/{t.name}/colls/{container}": token})


def user_lifecycle(t):
    db = t.database()
    ada = db.create_user({"id": "ada"})
    equal(t.status, 201)
    fails(409, db.create_user, {"id": "ada"})
    equal(ada.read()["id"], "ada")
    for status in (201, 200):
        db.upsert_user({"id": "bob"})
        equal(t.status, status)
    want_ids(db.list_users(), ["ada", "bob"])
    equal(ids(db.query_users("SELECT * FROM u WHERE u.id = @id", [{"name": "@id", "value": "bob"}])), ["bob"])
    db.replace_user("ada", {"id": "eve"})
    equal(t.status, 200)
    fails(404, ada.read)
    db.delete_user("eve")
    equal(t.status, 204)
    want_ids(db.list_users(), ["bob"])


def permission_lifecycle(t):
    t.container()
    ada = t.database().create_user({"id": "ada"})
    link = f"dbs/{t.name}/colls/c"
    body = {"id": "p", "permissionMode": PermissionMode.Read, "resource": link}
    made = ada.create_permission(body)
    equal(t.status, 201)
    assert made.properties["_token"].lower().startswith(("type=resource", "type%3dresource")), made.properties["_token"]
    fails(409, ada.create_permission, body)
    equal(ada.get_permission("p").permission_mode, PermissionMode.Read)
    equal(ids(ada.list_permissions()), ["p"])
    equal(ada.replace_permission("p", body | {"permissionMode": PermissionMode.All}).permission_mode, PermissionMode.All)
    fails(404, ada.create_permission, body | {"id": "q", "resource": link + "-none"})
    ada.delete_permission("p")
    equal(t.status, 204)
    fails(404, ada.get_permission, "p")


def token_read(t):
    t.twenty()
    c = _token_client(t, PermissionMode.Read)
    equal(c.read_item("i07", "p2")["n"], 7)
    equal(len(rows(c, "SELECT * FROM c", "p2")), 4)
    want_ids(rows(c, "SELECT * FROM c WHERE c.n > 17"), ["i18", "i19"])
    fails(403, c.create_item, {"id": "new", "pk": "p2"})
    fails(403, c.upsert_item, {"id": "i07", "pk": "p2"})
    fails(403, c.replace_item, "i07", {"id": "i07", "pk": "p2"})
    fails(403, c.delete_item, "i07", "p2")


def token_all(t):
    t.container()
    client = _with_token(t, _permission(t, PermissionMode.All), "c")
    c = t.seen_by(client)
    c.create_item({"id": "1", "pk": "a"})
    equal(t.status, 201)
    equal(c.replace_item("1", {"id": "1", "pk": "a", "v": 2})["v"], 2)
    equal(c.read_item("1", "a")["v"], 2)
    want_ids(rows(c, "SELECT * FROM c", "a"), ["1"])
    c.delete_item("1", "a")
    equal(t.status, 204)
    fails(403, client.get_database_client(t.name).delete_container, "c")


def token_partition(t):
    t.twenty()
    c = _token_client(t, PermissionMode.All, resourcePartitionKey=["p2"])
    equal(c.read_item("i07", "p2")["n"], 7)
    equal(len(rows(c, "SELECT * FROM c", "p2")), 4)
    c.create_item({"id": "new", "pk": "p2"})
    equal(t.status, 201)
    fails(403, c.read_item, "i03", "p3")
    fails(403, c.create_item, {"id": "new", "pk": "p3"})
    fails(403, rows, c, "SELECT * FROM c", "p3")


def token_other_container(t):
    t.container()
    t.container("other").create_item({"id": "1", "pk": "a"})
    c = t.seen_by(_with_token(t, _permission(t, PermissionMode.All), "other"), "other")
    fails((401, 403), c.read_item, "1", "a")
    fails((401, 403), c.create_item, {"id": "2", "pk": "a"})


def token_expired(t):
    t.container().create_item({"id": "1", "pk": "a"})
    c = _token_client(t, PermissionMode.Read)
    equal(c.read_item("1", "a")["id"], "1")
    t.advance(7200)
    fails((401, 403), c.read_item, "1", "a")


def encryption_key_lifecycle(t):
    raise NoApi("no client encryption")


def encryption_unknown_key(t):
    raise NoApi("no client encryption")


def encryption_items(t):
    raise NoApi("no client encryption")
