"""The account, databases and containers."""

import base64
import re
from urllib.parse import urlsplit

from azure.cosmos import CosmosClient, ThroughputProperties
from azure.cosmos.exceptions import CosmosResourceNotFoundError

from lib import KEY, equal, fails, ids, partition_key, query, rows, the_twenty, want_ids


def account_read(t):
    account = t.client.get_database_account()
    equal(account.ConsistencyPolicy["defaultConsistencyLevel"], "Session")
    for locations in (account.WritableLocations, account.ReadableLocations):
        equal(len(locations), 1)
        equal(urlsplit(locations[0]["databaseAccountEndpoint"])[:2], urlsplit(t.endpoint)[:2])


def connection_string(t):
    with CosmosClient.from_connection_string(f"AccountEndpoint={t.endpoint};AccountKey={KEY};", **t.options()) as client:
        client.create_database(t.name)
        equal(t.status, 201)
        client.delete_database(t.name)
        equal(t.status, 204)


def wrong_key(t):
    fails(401, t.connect, base64.b64encode(b"another key").decode())


def response_headers(t):
    c = t.container()
    seen = set()

    def wanted(headers, token=True):
        assert float(headers["x-ms-request-charge"]) > 0, "a charge"
        activity = headers["x-ms-activity-id"]
        assert activity and activity not in seen, "an activity id of its own"
        seen.add(activity)
        if token:
            assert re.match(r"\d+:.*#\d+", headers["x-ms-session-token"]), headers["x-ms-session-token"]

    wanted(c.create_item({"id": "1", "pk": "a"}).get_response_headers())
    wanted(c.read_item("1", "a").get_response_headers())
    wanted(c.replace_item("1", {"id": "1", "pk": "a", "v": 1}).get_response_headers())
    found = query(c, "SELECT * FROM c", "a")
    equal(len(list(found)), 1)
    wanted(found.get_response_headers(), token=False)
    c.delete_item("1", "a", response_hook=lambda headers, _: wanted(headers))
    equal(len(seen), 5)


def consistency_levels(t):
    t.container().create_item({"id": "1", "pk": "a"})
    for level in ("ConsistentPrefix", "Eventual"):
        other = t.seen_by(t.connect(consistency_level=level))
        equal(other.read_item("1", "a")["id"], "1")
        want_ids(rows(other, "SELECT * FROM c", "a"), ["1"])


def database_lifecycle(t):
    database = t.client.create_database(t.name)
    equal(t.status, 201)
    fails(409, t.client.create_database, t.name)
    equal(database.read()["id"], t.name)
    found = t.client.query_databases("SELECT * FROM d WHERE d.id = @id", [{"name": "@id", "value": t.name}])
    equal(ids(found), [t.name])
    t.client.delete_database(t.name)
    equal(t.status, 204)
    fails(404, database.read)


def database_listing(t):
    names = [f"{t.name}-{s}" for s in "xyz"]
    for name in names:
        t.client.create_database(name)
    prefix = [{"name": "@p", "value": t.name + "-"}]
    want_ids(t.client.query_databases("SELECT * FROM d WHERE STARTSWITH(d.id, @p)", prefix), names)
    want_ids([d for d in t.client.list_databases() if d["id"] in names], names)
    for name in names:
        t.client.delete_database(name)


def container_lifecycle(t):
    db = t.database()
    c = db.create_container("c", partition_key("/pk"))
    equal(t.status, 201)
    fails(409, db.create_container, "c", partition_key("/pk"))
    got = c.read()
    equal(got["id"], "c")
    equal(got["partitionKey"]["paths"], ["/pk"])
    db.delete_container("c")
    equal(t.status, 204)
    fails(404, c.read)
    fails(404, t.client.get_database_client(t.name + "-none").create_container, "c", partition_key("/pk"))


def container_listing(t):
    for name in "xyz":
        t.container(name)
    want_ids(t.database().list_containers(), "xyz")
    found = t.database().query_containers("SELECT * FROM c WHERE c.id = @id", [{"name": "@id", "value": "y"}])
    equal(ids(found), ["y"])


def container_replace(t):
    c = t.container()
    rid = c.read()["_rid"]
    policy = {"indexingMode": "consistent", "automatic": True, "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/big/*"}]}
    t.database().replace_container(c, partition_key("/pk"), indexing_policy=policy, default_ttl=100)
    equal(t.status, 200)
    got = c.read()
    equal(got["defaultTtl"], 100)
    assert {"path": "/big/*"} in got["indexingPolicy"]["excludedPaths"]
    equal(got["_rid"], rid)
    fails(400, t.database().replace_container, c, partition_key("/other"))


def container_quota(t):
    c = t.container()
    for id in "123":
        c.create_item({"id": id, "pk": id})
    headers = c.read(populate_quota_info=True).get_response_headers()
    assert re.search(r"collectionSize=\d+", headers["x-ms-resource-quota"]), headers["x-ms-resource-quota"]
    assert "documentsCount=3;" in headers["x-ms-resource-usage"], headers["x-ms-resource-usage"]


def indexing_policy(t):
    policy = {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": "/big/*"}],
        "compositeIndexes": [[{"path": "/g", "order": "ascending"}, {"path": "/n", "order": "descending"}]],
        "spatialIndexes": [{"path": "/at/*", "types": ["Point", "LineString", "Polygon", "MultiPolygon"]}],
    }
    got = t.container(indexing_policy=policy).read()["indexingPolicy"]
    equal(got["indexingMode"], "consistent")
    equal(got["includedPaths"], policy["includedPaths"])
    equal(got["excludedPaths"], [{"path": "/big/*"}, {"path": '/"_etag"/?'}])
    equal(got["compositeIndexes"], policy["compositeIndexes"])
    equal(got["spatialIndexes"][0]["path"], "/at/*")
    equal(sorted(got["spatialIndexes"][0]["types"]), sorted(policy["spatialIndexes"][0]["types"]))


def indexing_none(t):
    c = t.twenty(indexing_policy={"indexingMode": "none", "automatic": False})
    got = c.read()["indexingPolicy"]
    equal(got["indexingMode"], "none")
    equal(got["automatic"], False)
    want_ids(rows(c, "SELECT * FROM c WHERE c.n > 17"), ["i18", "i19"])


def indexing_change(t):
    c = t.twenty()
    want = [i["id"] for i in the_twenty() if i["g"] == "g1"]
    text = "SELECT * FROM c WHERE c.g = 'g1'"
    want_ids(rows(c, text), want)
    for excluded in ([{"path": "/g/?"}], []):
        policy = {"indexingMode": "consistent", "automatic": True, "includedPaths": [{"path": "/*"}], "excludedPaths": excluded}
        t.database().replace_container(c, partition_key("/pk"), indexing_policy=policy)
        want_ids(rows(c, text), want)


def unique_keys(t):
    c = t.container(unique_key_policy={"uniqueKeys": [{"paths": ["/name", "/o/x"]}]})
    equal(c.read()["uniqueKeyPolicy"]["uniqueKeys"][0]["paths"], ["/name", "/o/x"])

    def item(id, pk, name, **more):
        return {"id": id, "pk": pk, "name": name, "o": {"x": 1}} | more

    c.create_item(item("1", "a", "ada"))
    c.create_item(item("2", "a", "bob"))
    fails(409, c.create_item, item("3", "a", "ada"))
    fails(409, c.upsert_item, item("3", "a", "ada"))
    fails(409, c.replace_item, "2", item("2", "a", "ada"))
    c.replace_item("1", item("1", "a", "ada", more=1))
    equal(t.status, 200)
    c.create_item(item("3", "b", "ada"))
    equal(t.status, 201)
    c.delete_item("1", "a")
    c.create_item(item("4", "a", "ada"))
    equal(t.status, 201)


def computed_properties(t):
    computed = [{"name": "double", "query": "SELECT VALUE c.n * 2 FROM c"}]
    included = [{"path": "/*"}, {"path": "/double/?"}]  # the wildcard leaves computed properties out
    policy = {"indexingMode": "consistent", "automatic": True, "includedPaths": included, "excludedPaths": []}
    c = t.twenty(computed_properties=computed, indexing_policy=policy)
    equal(c.read()["computedProperties"], computed)
    equal(rows(c, "SELECT VALUE c.double FROM c WHERE c.double > 30 ORDER BY c.n", "p3"), [36])
    equal(rows(c, "SELECT VALUE c.id FROM c WHERE c.double = 14"), ["i07"])
    equal(rows(c, "SELECT VALUE c.n FROM c ORDER BY c.double DESC", "p0"), [15, 10, 5, 0])
    assert "double" not in rows(c, "SELECT * FROM c")[0]


def conflict_feed(t):
    c = t.container()
    equal(list(c.list_conflicts()), [])
    equal(list(c.query_conflicts("SELECT * FROM c", enable_cross_partition_query=True)), [])


def throughput_manual(t):
    c = t.container(offer_throughput=600)
    equal(c.get_throughput().offer_throughput, 600)
    equal(c.replace_throughput(1000).offer_throughput, 1000)
    equal(c.get_throughput().offer_throughput, 1000)


def throughput_autoscale(t):
    c = t.container(offer_throughput=ThroughputProperties(auto_scale_max_throughput=4000))
    equal(c.get_throughput().auto_scale_max_throughput, 4000)
    c.replace_throughput(ThroughputProperties(auto_scale_max_throughput=8000))
    equal(c.get_throughput().auto_scale_max_throughput, 8000)


def throughput_database(t):
    equal(t.database(offer_throughput=800).get_throughput().offer_throughput, 800)
    _no_throughput(t, t.container())


def throughput_default(t):
    equal(t.container().get_throughput().offer_throughput, 400)
    _no_throughput(t, t.database())


def _no_throughput(t, of):
    """The SDK makes a 404 of an empty list of offers, takes that for a container that was made anew, and stumbles over
    the container not being known where it wants to read it again."""
    try:
        got = of.get_throughput()
    except (CosmosResourceNotFoundError, AttributeError):
        equal(t.status, 200)
        return
    raise AssertionError(f"{got.properties}")


def feed_range_list(t):
    ranges = [r["Range"] for r in t.container().read_feed_ranges()]
    equal(len(ranges), t.ranges)
    edge = ""
    for r in ranges:
        equal(r["min"], edge)
        edge = r["max"]
    equal(edge, "FF")
