"""Stored procedures, triggers and user-defined functions. Their bodies run on the server."""

from types import SimpleNamespace
from urllib.parse import quote

from lib import absent, equal, fails, ids, rows, want_ids


def _lifecycle(t, kind, first, changed):
    """The same for the three kinds; changed is the body that a replace sends."""
    made = kind.create(first)
    equal(t.status, 201)
    equal(made["body"], first["body"])
    fails(409, kind.create, first)
    equal(kind.get(first["id"])["body"], first["body"])
    equal(ids(kind.list()), [first["id"]])
    found = kind.query("SELECT * FROM s WHERE s.id = @id", [{"name": "@id", "value": first["id"]}])
    equal(ids(found), [first["id"]])
    kind.replace(first["id"], first | {"body": changed})
    equal(t.status, 200)
    equal(kind.get(first["id"])["body"], changed)
    kind.delete(first["id"])
    equal(t.status, 204)
    fails(404, kind.get, first["id"])


def _procedure(c, body):
    c.scripts.create_stored_procedure({"id": "p", "body": body})
    return lambda *params: c.scripts.execute_stored_procedure("p", "a", list(params))


def procedure_lifecycle(t):
    s = t.container().scripts
    kind = SimpleNamespace(
        create=s.create_stored_procedure,
        get=s.get_stored_procedure,
        list=s.list_stored_procedures,
        query=s.query_stored_procedures,
        replace=s.replace_stored_procedure,
        delete=s.delete_stored_procedure,
    )
    _lifecycle(t, kind, {"id": "p", "body": "function () { return 1; }"}, "function () { return 2; }")


def procedure_execute(t):
    run = _procedure(
        t.container(),
        """function (text, number, flag, nothing, list, object) {
            getContext().getResponse().setBody({ text, number: number + 1, flag: !flag, nothing, list: list.length, object });
        }""",
    )
    got = run("x", 41, True, None, [1, 2, 3], {"a": {"b": 1}})
    equal(t.status, 200)
    equal(got, {"text": "x", "number": 42, "flag": False, "nothing": None, "list": 3, "object": {"a": {"b": 1}}})


def procedure_writes(t):
    c = t.container()
    c.create_item({"id": "other", "pk": "b", "v": 0})
    c.create_item({"id": "doomed", "pk": "a", "v": 0})
    run = _procedure(
        c,
        """function (pk) {
            const coll = getContext().getCollection();
            const link = coll.getSelfLink();
            const stop = (err) => { if (err) throw err; };
            coll.createDocument(link, { id: "made", pk, v: 1 }, (err, doc) => {
                stop(err);
                coll.readDocument(doc._self, (err, read) => {
                    stop(err);
                    read.v++;
                    coll.replaceDocument(read._self, read, (err) => {
                        stop(err);
                        coll.queryDocuments(link, "SELECT * FROM c WHERE c.v = 0", (err, found) => {
                            stop(err);
                            for (const doc of found) coll.deleteDocument(doc._self, stop);
                            getContext().getResponse().setBody(found.length);
                        });
                    });
                });
            });
        }""",
    )
    equal(run("a"), 1)
    want_ids(rows(c, "SELECT * FROM c"), ["other", "made"])
    equal(c.read_item("made", "a")["v"], 2)


def procedure_continuation(t):
    c = t.container()
    run = _procedure(
        c,
        """function (docs) {
            const coll = getContext().getCollection();
            let done = 0;
            const next = () => {
                if (done === docs.length || done === 10) return getContext().getResponse().setBody(done);
                const accepted = coll.createDocument(coll.getSelfLink(), docs[done], (err) => {
                    if (err) throw err;
                    done++;
                    next();
                });
                if (!accepted) getContext().getResponse().setBody(done);
            };
            next();
        }""",
    )
    left = [{"id": str(i), "pk": "a"} for i in range(25)]
    calls = 0
    while left:
        left = left[run(left) :]
        calls += 1
    equal(calls, 3)
    equal(rows(c, "SELECT VALUE COUNT(1) FROM c", "a"), [25])


def procedure_query_pages(t):
    c = t.container()
    for i in range(7):
        c.create_item({"id": str(i), "pk": "a"})
    run = _procedure(
        c,
        """function () {
            const coll = getContext().getCollection();
            const text = { query: "SELECT * FROM c WHERE c.pk = @p", parameters: [{ name: "@p", value: "a" }] };
            const sizes = [];
            const next = (continuation) => {
                coll.queryDocuments(coll.getSelfLink(), text, { pageSize: 3, continuation }, (err, docs, more) => {
                    if (err) throw err;
                    sizes.push(docs.length);
                    if (more.continuation) next(more.continuation);
                    else getContext().getResponse().setBody(sizes);
                });
            };
            next();
        }""",
    )
    equal(run(), [3, 3, 1])


def procedure_rollback(t):
    c = t.container()
    run = _procedure(
        c,
        """function () {
            const coll = getContext().getCollection();
            coll.createDocument(coll.getSelfLink(), { id: "1", pk: "a" }, () => { throw new Error("on second thoughts"); });
        }""",
    )
    e = fails(400, run)
    assert "on second thoughts" in e.http_error_message, e
    absent(c, "1", "a")


def procedure_log(t):
    c = t.container()
    body = """function () { console.log("said & done ä"); getContext().getResponse().setBody("ok"); }"""
    c.scripts.create_stored_procedure({"id": "p", "body": body})
    for loud, want in ((True, quote("said & done ä")), (False, None)):
        equal(c.scripts.execute_stored_procedure("p", "a", enable_script_logging=loud), "ok")
        equal(c.client_connection.last_response_headers.get("x-ms-documentdb-script-log-results"), want)


def trigger_lifecycle(t):
    s = t.container().scripts
    kind = SimpleNamespace(
        create=s.create_trigger,
        get=s.get_trigger,
        list=s.list_triggers,
        query=s.query_triggers,
        replace=s.replace_trigger,
        delete=s.delete_trigger,
    )
    first = {"id": "t", "body": "function () { var a = 1; }", "triggerType": "Pre", "triggerOperation": "All"}
    _lifecycle(t, kind, first, "function () { var a = 2; }")


def _trigger(c, id, type, operation, body):
    c.scripts.create_trigger({"id": id, "triggerType": type, "triggerOperation": operation, "body": body})


def trigger_pre(t):
    c = t.container()
    _trigger(
        c,
        "stamp",
        "Pre",
        "Create",
        """function () {
            const request = getContext().getRequest();
            const doc = request.getBody();
            doc.stamped = true;
            request.setBody(doc);
        }""",
    )
    equal(c.create_item({"id": "1", "pk": "a"}, pre_trigger_include="stamp")["stamped"], True)
    c.create_item({"id": "2", "pk": "a"})
    equal(rows(c, "SELECT VALUE c.id FROM c WHERE c.stamped", "a"), ["1"])


def trigger_post(t):
    c = t.container()
    c.create_item({"id": "counter", "pk": "a", "n": 0})
    _trigger(
        c,
        "count",
        "Post",
        "All",
        """function () {
            const coll = getContext().getCollection();
            const made = getContext().getResponse().getBody();
            coll.queryDocuments(coll.getSelfLink(), "SELECT * FROM c WHERE c.id = 'counter'", (err, found) => {
                if (err) throw err;
                found[0].n++;
                found[0].last = made.id;
                coll.replaceDocument(found[0]._self, found[0], (err) => { if (err) throw err; });
            });
        }""",
    )
    for id in "12":
        c.create_item({"id": id, "pk": "a"}, post_trigger_include="count")
    got = c.read_item("counter", "a")
    equal((got["n"], got["last"]), (2, "2"))


def trigger_rollback(t):
    c = t.container()
    _trigger(c, "no", "Post", "All", "function () { throw new Error('not today'); }")
    fails(400, c.create_item, {"id": "1", "pk": "a"}, post_trigger_include="no")
    absent(c, "1", "a")


def trigger_wrong_operation(t):
    c = t.container()
    _trigger(c, "d", "Pre", "Delete", "function () {}")
    fails(400, c.create_item, {"id": "1", "pk": "a"}, pre_trigger_include="d")
    absent(c, "1", "a")


def function_lifecycle(t):
    s = t.container().scripts
    kind = SimpleNamespace(
        create=s.create_user_defined_function,
        get=s.get_user_defined_function,
        list=s.list_user_defined_functions,
        query=s.query_user_defined_functions,
        replace=s.replace_user_defined_function,
        delete=s.delete_user_defined_function,
    )
    _lifecycle(t, kind, {"id": "f", "body": "function (x) { return x; }"}, "function (x) { return x + 1; }")


def function_query(t):
    c = t.twenty()
    c.scripts.create_user_defined_function({"id": "tax", "body": "function (n) { return n * 10; }"})
    equal(rows(c, "SELECT VALUE udf.tax(c.n) FROM c", "p1"), [10, 60, 110, 160])
    equal(rows(c, "SELECT VALUE c.n FROM c WHERE udf.tax(c.n) = 70"), [7])
    fails(400, rows, c, "SELECT VALUE udf.none(c.n) FROM c", "p1")
