"""Paging and the query language. "Across" is without a partition key."""

from lib import NoApi, equal, fails, first_page, ids, pages, query, rows, the_twenty, user, want_ids

_EVERYTHING = ids(the_twenty())


def _policy(**more):
    return {"indexingMode": "consistent", "automatic": True, "includedPaths": [{"path": "/*"}], "excludedPaths": []} | more


_COMPOSITE = {
    "indexing_policy": _policy(compositeIndexes=[[{"path": "/g", "order": "ascending"}, {"path": "/n", "order": "descending"}]]),
}


def _library(t):
    """Creates documents with a vector and a text, each in a partition of its own."""
    c = t.container(
        vector_embedding_policy={
            "vectorEmbeddings": [{"path": "/v", "dataType": "float32", "distanceFunction": "euclidean", "dimensions": 2}],
        },
        full_text_policy={"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "en-US"}]},
        indexing_policy=_policy(vectorIndexes=[{"path": "/v", "type": "flat"}], fullTextIndexes=[{"path": "/text"}]),
    )
    for id, v, text in (
        ("1", [0, 0], "a red bicycle on a mountain road"),
        ("2", [1, 0], "a blue car in the city"),
        ("3", [0, 2], "mountain mountain mountain, and a bicycle on every mountain"),
        ("4", [3, 3], "red wine and cheese"),
        ("5", [10, 10], "nothing of interest"),
    ):
        c.create_item({"id": id, "pk": "p" + id, "v": v, "text": text})
    return c


def paging_partition(t):
    c = t.container()
    for i in range(10):
        c.create_item({"id": str(i), "pk": "a"})
    got, continuation = [], None
    while True:
        page, continuation = first_page(query(c, "SELECT * FROM c", "a", max_item_count=3), continuation)
        got.append(page)
        if not continuation:
            break
    equal([len(page) for page in got], [3, 3, 3, 1])
    equal([id for page in got for id in ids(page)], list("0123456789"))
    equal([len(page) for page in pages(query(c, "SELECT * FROM c", "a", max_item_count=3))], [3, 3, 3, 1])


def paging_cross(t):
    c = t.twenty()
    got, continuation = [], None
    while True:
        page, continuation = first_page(query(c, "SELECT * FROM c", max_item_count=3), continuation)
        assert len(page) <= 3
        got += page
        if not continuation:
            break
    want_ids(got, _EVERYTHING)


def paging_ordered(t):
    raise NoApi("no continuation across")


def paging_all(t):
    c = t.twenty()
    got = [item for page in c.read_all_items(max_item_count=6).by_page() for item in page]
    want_ids(got, _EVERYTHING)


def read_many(t):
    c = t.twenty()
    wanted = [(i["id"], i["pk"]) for i in the_twenty()[:11]] + [("none", "p1")]
    want_ids(c.read_items(wanted), _EVERYTHING[:11])


def query_partition(t):
    c = t.twenty()
    for where, want in (
        ("c.n = 7", ["i07"]),
        ("c.n > 7", ["i12", "i17"]),
        ("c.n >= 7 AND c.n < 17", ["i07", "i12"]),
        ("c.n IN (2, 12, 13)", ["i02", "i12"]),
        ("c.n BETWEEN 3 AND 12", ["i07", "i12"]),
        ("NOT (c.g = 'g0')", ["i02", "i07", "i17"]),
        ("c.g = 'g0' OR c.o.x = 2", ["i02", "i12"]),
        ("c.none = 1", []),
        ("c.n != 7", ["i02", "i12", "i17"]),
    ):
        equal(ids(rows(c, f"SELECT * FROM c WHERE {where}", "p2")), want, where)


def query_parameters(t):
    c = t.container()
    values = ["it's", 1.5, True, None, [1, "two"], {"a": {"b": 1}}]
    for i, v in enumerate(values):
        c.create_item({"id": str(i), "pk": "a", "v": v})
    for i, value in enumerate(values):
        for key in ("a", None):
            found = rows(c, "SELECT VALUE c.id FROM c WHERE c.v = @v", key, parameters=[{"name": "@v", "value": value}])
            equal(found, [str(i)])


def query_cross(t):
    c = t.twenty()
    want_ids(rows(c, "SELECT * FROM c WHERE c.n >= 15"), _EVERYTHING[15:])
    want_ids(rows(c, "SELECT * FROM c WHERE c.g = 'g2' AND c.n < 9"), ["i02", "i05", "i08"])
    equal(sorted(rows(c, "SELECT VALUE c.n FROM c WHERE c.pk = 'p3'")), [3, 8, 13, 18])
    equal(rows(c, "SELECT * FROM c WHERE c.n > 100"), [])


def query_projection(t):
    c = t.twenty()

    def one(select):
        return rows(c, f"SELECT {select} FROM c WHERE c.id = 'i07'", "p2")[0]

    equal(one("c.id, c.o.x"), {"id": "i07", "x": 7})
    equal(one("c.id AS name, c.n * 2 + 1 AS m"), {"name": "i07", "m": 15})
    equal(one("VALUE { k: c.n, l: [c.g, c.n] }"), {"k": 7, "l": ["g1", 7]})
    equal(one("VALUE c.tags"), ["t3", "all"])
    equal(one("c.id, c.none, c.n = 7 AS same"), {"id": "i07", "same": True})
    equal(one("VALUE c.tags[1]"), "all")
    equal(one('c["id"], c.g || "!" AS loud'), {"id": "i07", "loud": "g1!"})
    equal(rows(c, "SELECT VALUE c.none FROM c", "p2"), [])
    equal(user(one("*")), the_twenty()[7])


def query_order_by_partition(t):
    c = t.container()
    for i, v in enumerate((3, "b", None, True, -1, "a", False, 2.5)):
        c.create_item({"id": str(i), "pk": "a", "v": v})
    c.create_item({"id": "missing", "pk": "a"})
    up = [None, False, True, -1, 2.5, 3, "a", "b"]
    got = rows(c, "SELECT c.id, c.v FROM c ORDER BY c.v", "a")
    equal(got[0]["id"], "missing")
    equal([r["v"] for r in got[1:]], up)
    down = rows(c, "SELECT c.id, c.v FROM c ORDER BY c.v DESC", "a")
    equal(down[-1]["id"], "missing")
    equal([r["v"] for r in down[:-1]], up[::-1])


def query_order_by_cross(t):
    c = t.twenty()
    for how, want in (("ASC", _EVERYTHING), ("DESC", _EVERYTHING[::-1])):
        got = pages(query(c, f"SELECT * FROM c ORDER BY c.n {how}", max_item_count=3))
        assert all(len(page) <= 3 for page in got)
        equal([id for page in got for id in ids(page)], want)


def query_order_by_string_cross(t):
    c = t.twenty()
    for how in ("ASC", "DESC"):
        got = rows(c, f"SELECT c.id, c.g FROM c WHERE c.n > 4 ORDER BY c.g {how}", max_item_count=4)
        want_ids(got, _EVERYTHING[5:])
        groups = [r["g"] for r in got]
        equal(groups, sorted(groups, reverse=how == "DESC"))


def query_order_by_composite(t):
    c = t.twenty(**_COMPOSITE)
    want = ids(sorted(the_twenty(), key=lambda i: (i["g"], -i["n"])))
    equal(ids(rows(c, "SELECT * FROM c ORDER BY c.g ASC, c.n DESC")), want)
    equal(ids(rows(c, "SELECT * FROM c ORDER BY c.g DESC, c.n ASC", max_item_count=4)), want[::-1])


def query_order_by_refused(t):
    c = t.twenty(**_COMPOSITE)
    e = fails(400, rows, c, "SELECT * FROM c ORDER BY c.g ASC, c.n ASC", "p1")
    assert "composite index" in e.http_error_message, e


def query_aggregates_partition(t):
    c = t.twenty()
    for f, want in (
        ("COUNT(1)", 4),
        ("SUM(c.n)", 34),
        ("AVG(c.n)", 8.5),
        ("MIN(c.n)", 1),
        ("MAX(c.n)", 16),
        ("MIN(c.id)", "i01"),
        ("COUNT(c.none)", 0),
    ):
        equal(rows(c, f"SELECT VALUE {f} FROM c", "p1"), [want], f)
    equal(rows(c, "SELECT COUNT(1) AS k, SUM(c.n) AS s FROM c WHERE c.n > 1", "p1"), [{"k": 3, "s": 33}])


def query_aggregates_cross(t):
    c = t.twenty()
    for f, want in (
        ("COUNT(1)", 20),
        ("SUM(c.n)", 190),
        ("AVG(c.n)", 9.5),
        ("MIN(c.n)", 0),
        ("MAX(c.n)", 19),
        ("MAX(c.id)", "i19"),
        ("COUNT(c.none)", 0),
    ):
        equal(rows(c, f"SELECT VALUE {f} FROM c"), [want], f)
    equal(rows(c, "SELECT VALUE SUM(c.n) FROM c WHERE c.g = 'g1'"), [70])


def query_aggregates_many_cross(t):
    raise NoApi("refuses aggregates without VALUE")


def query_aggregates_empty(t):
    c = t.twenty()
    equal(rows(c, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 100"), [0])
    equal(rows(c, "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 100"), [0])
    equal(rows(c, "SELECT VALUE MIN(c.n) FROM c WHERE c.n > 100"), [None])  # so the SDK says that there is none


def query_group_by_partition(t):
    c = t.twenty()
    got = rows(c, "SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", "p1")
    want = [{"g": "g0", "k": 1, "s": 6}, {"g": "g1", "k": 2, "s": 17}, {"g": "g2", "k": 1, "s": 11}]
    equal(sorted(got, key=lambda r: r["g"]), want)


def query_group_by_cross(t):
    raise NoApi("refuses GROUP BY across")


def query_distinct_partition(t):
    c = t.twenty()
    equal(sorted(rows(c, "SELECT DISTINCT VALUE c.g FROM c", "p1")), ["g0", "g1", "g2"])
    equal(len(rows(c, "SELECT DISTINCT c.g FROM c", "p1")), 3)


def query_distinct_cross(t):
    c = t.twenty()
    equal(sorted(rows(c, "SELECT DISTINCT VALUE c.g FROM c")), ["g0", "g1", "g2"])
    equal(rows(c, "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC"), ["g2", "g1", "g0"])
    equal(len(rows(c, "SELECT DISTINCT c.g, c.pk FROM c")), 15)
    equal(len(rows(c, "SELECT DISTINCT VALUE c.tags FROM c")), 4)


def query_count_distinct_cross(t):
    raise NoApi("does not merge it")


def query_top_partition(t):
    c = t.twenty()
    equal(ids(rows(c, "SELECT TOP 2 * FROM c ORDER BY c.n DESC", "p4")), ["i19", "i14"])
    equal(ids(rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 1 LIMIT 2", "p4")), ["i09", "i14"])
    equal(ids(rows(c, "SELECT * FROM c OFFSET 3 LIMIT 5", "p4")), ["i19"])
    equal(rows(c, "SELECT TOP 0 * FROM c", "p4"), [])


def query_top_cross(t):
    c = t.twenty()
    equal(ids(rows(c, "SELECT TOP 7 * FROM c ORDER BY c.n DESC", max_item_count=2)), _EVERYTHING[::-1][:7])
    equal(len(rows(c, "SELECT TOP 7 * FROM c")), 7)


def query_offset_limit_cross(t):
    c = t.twenty()
    equal(ids(rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 5 LIMIT 4")), ["i05", "i06", "i07", "i08"])
    equal(ids(rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 18 LIMIT 10", max_item_count=3)), ["i18", "i19"])
    equal(rows(c, "SELECT * FROM c ORDER BY c.n OFFSET 20 LIMIT 10"), [])


def query_join(t):
    c = t.twenty()
    got = rows(c, "SELECT c.id, tag FROM c JOIN tag IN c.tags WHERE tag = 't1'")
    want_ids(got, [i["id"] for i in the_twenty() if i["tags"][0] == "t1"])
    assert all(r["tag"] == "t1" for r in got)
    equal(len(rows(c, "SELECT VALUE tag FROM c JOIN tag IN c.tags", "p0")), 8)
    equal(rows(c, "SELECT VALUE tag FROM tag IN c.tags WHERE tag != 'all'", "p0"), ["t0", "t1", "t2", "t3"])


def query_arrays(t):
    c = t.twenty()
    want_ids(rows(c, "SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, 't2')", "p2"), ["i02"])
    text = """SELECT VALUE [ARRAY_LENGTH(c.tags), ARRAY_SLICE(c.tags, 1), ARRAY_CONCAT(c.tags, [c.n]),
        ARRAY(SELECT VALUE x FROM x IN c.tags WHERE x != 'all')] FROM c WHERE c.id = 'i07'"""
    equal(rows(c, text, "p2"), [[2, ["all"], ["t3", "all", 7], ["t3"]]])


def query_subqueries(t):
    c = t.twenty()
    want_ids(rows(c, "SELECT * FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.tags WHERE x = 't3')", "p2"), ["i07"])
    equal(rows(c, "SELECT VALUE (SELECT VALUE COUNT(1) FROM x IN c.tags) FROM c WHERE c.n = 7", "p2"), [2])
    equal(rows(c, "SELECT VALUE s.m FROM (SELECT c.n * 2 AS m FROM c WHERE c.n > 10) AS s", "p2"), [24, 34])


def query_strings(t):
    c = t.container()
    c.create_item({"id": "1", "pk": "a", "s": "Hello World"})
    text = """SELECT VALUE [CONTAINS(c.s, "world", true), STARTSWITH(c.s, "Hell"), ENDSWITH(c.s, "x"), UPPER(c.s), CONCAT(c.s, "!"),
        c.s LIKE "%o W%", RegexMatch(c.s, "^H.*d$"), SUBSTRING(c.s, 6, 5), REPLACE(c.s, "l", "L"), INDEX_OF(c.s, "o"), LENGTH(c.s)] FROM c"""
    equal(rows(c, text, "a"), [[True, True, False, "HELLO WORLD", "Hello World!", True, True, "World", "HeLLo WorLd", 4, 11]])


def query_types(t):
    c = t.container()
    c.create_item({"id": "1", "pk": "a", "z": None, "n": -2.5, "s": "x", "a": [], "o": {}})
    text = """SELECT VALUE [IS_DEFINED(c.none), IS_DEFINED(c.z), IS_NULL(c.z), IS_NUMBER(c.n), IS_STRING(c.n), IS_ARRAY(c.a), IS_OBJECT(c.o),
        c.none ?? "else", IIF(c.n < 0, "minus", "plus"), ABS(c.n), FLOOR(c.n), ROUND(2.5), POWER(2, 10), SQRT(16), 7 % 4, 6 & 3] FROM c"""
    equal(rows(c, text, "a"), [[False, True, True, True, False, True, True, "else", "minus", 2.5, -3, 3, 1024, 4, 3, 2]])


def query_spatial(t):
    c = t.container(indexing_policy=_policy(spatialIndexes=[{"path": "/at/*", "types": ["Point", "LineString", "Polygon", "MultiPolygon"]}]))
    for id, coordinates in (("berlin", [13.405, 52.52]), ("potsdam", [13.065, 52.4]), ("paris", [2.352, 48.857])):
        c.create_item({"id": id, "pk": id, "at": {"type": "Point", "coordinates": coordinates}})
    near = """SELECT * FROM c WHERE ST_DISTANCE(c.at, {"type": "Point", "coordinates": [13.4, 52.5]}) < 40000"""
    want_ids(rows(c, near), ["berlin", "potsdam"])
    within = """SELECT * FROM c WHERE ST_WITHIN(c.at, {"type": "Polygon", "coordinates": [[[0, 45], [5, 45], [5, 50], [0, 50], [0, 45]]]})"""
    want_ids(rows(c, within), ["paris"])


def query_vector(t):
    c = _library(t)
    text = "SELECT TOP 3 c.id, VectorDistance(c.v, [0, 0.9]) AS d FROM c ORDER BY VectorDistance(c.v, [0, 0.9])"
    near = rows(c, text)
    equal(ids(near), ["1", "3", "2"])
    assert abs(near[0]["d"] - 0.9) < 1e-6


def query_full_text(t):
    c = _library(t)
    want_ids(rows(c, "SELECT * FROM c WHERE FullTextContains(c.text, 'bicycle')"), ["1", "3"])
    want_ids(rows(c, "SELECT * FROM c WHERE FullTextContainsAll(c.text, 'red', 'bicycle')"), ["1"])
    want_ids(rows(c, "SELECT * FROM c WHERE FullTextContainsAny(c.text, 'wine', 'car')"), ["2", "4"])


def query_full_text_rank(t):
    c = _library(t)
    equal(ids(rows(c, "SELECT TOP 2 c.id FROM c ORDER BY RANK FullTextScore(c.text, 'mountain', 'bicycle')")), ["3", "1"])


def query_hybrid(t):
    c = _library(t)
    text = "SELECT TOP 2 c.id FROM c ORDER BY RANK RRF(VectorDistance(c.v, [0, 0]), FullTextScore(c.text, 'red', 'bicycle'))"
    equal(rows(c, text)[0]["id"], "1")


def query_syntax_error(t):
    c = t.container()
    for key in ("a", None):
        e = fails(400, rows, c, "SELECT * FROM c WHERE c.n = = 1", key)
        assert "syntax error" in e.http_error_message.lower(), e


def query_metrics(t):
    c = t.twenty()
    text = "SELECT * FROM c WHERE c.n > 3"
    asked = query(c, text, "p1", populate_query_metrics=True, populate_index_metrics=True)
    want_ids(asked, ["i06", "i11", "i16"])
    assert "ocument" in asked.get_response_headers()["x-ms-documentdb-query-metrics"]
    assert asked.get_response_headers()["x-ms-cosmos-index-utilization"], "index metrics"
    plain = query(c, text, "p1")
    want_ids(plain, ["i06", "i11", "i16"])
    assert "x-ms-cosmos-index-utilization" not in plain.get_response_headers(), "index metrics that nobody asked for"
