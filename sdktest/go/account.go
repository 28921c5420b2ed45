package main

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var account = []scenario{
	without("account-read", "no call that reads the account"),

	{"connection-string", func(t *ScenarioRun) {
		client, err := azcosmos.NewClientFromConnectionString("AccountEndpoint="+t.endpoint+";AccountKey="+masterKey+";", t.options())
		t.must(err)
		_, err = client.CreateDatabase(t.ctx, azcosmos.DatabaseProperties{ID: t.name}, nil)
		t.must(err)
		db, err := client.NewDatabase(t.name)
		t.must(err)
		_, err = db.Delete(t.ctx, nil)
		t.must(err)
	}},

	{"wrong-key", func(t *ScenarioRun) {
		cred, err := azcosmos.NewKeyCredential(base64.StdEncoding.EncodeToString([]byte("another key")))
		t.must(err)
		client, err := azcosmos.NewClientWithKey(t.endpoint, cred, t.options())
		t.must(err)
		_, err = client.CreateDatabase(t.ctx, azcosmos.DatabaseProperties{ID: t.name}, nil)
		t.fails(err, 401)
	}},

	{"response-headers", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		seen := map[string]bool{}
		want := func(r azcosmos.Response, err error) {
			t.must(err)
			t.check(r.RequestCharge > 0, "no charge")
			t.check(r.ActivityID != "" && !seen[r.ActivityID], "no activity id of its own: %q", r.ActivityID)
			seen[r.ActivityID] = true
		}
		item := func(r azcosmos.ItemResponse, err error) {
			want(r.Response, err)
			t.check(r.SessionToken != nil && strings.Contains(*r.SessionToken, "#"), "no session token")
		}
		item(c.CreateItem(t.ctx, key("a"), raw(JSONObject{"id": "1", "pk": "a"}), nil))
		item(c.ReadItem(t.ctx, key("a"), "1", nil))
		item(c.ReplaceItem(t.ctx, key("a"), "1", raw(JSONObject{"id": "1", "pk": "a", "v": 1}), nil))
		page, err := c.NewQueryItemsPager("SELECT * FROM c", key("a"), nil).NextPage(t.ctx)
		want(page.Response, err)
		item(c.DeleteItem(t.ctx, key("a"), "1", nil))
	}},

	{"consistency-levels", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(JSONObject{"id": "1", "pk": "a"})
		for _, level := range []azcosmos.ConsistencyLevel{azcosmos.ConsistencyLevelConsistentPrefix, azcosmos.ConsistencyLevelEventual} {
			_, err := c.ReadItem(t.ctx, key("a"), "1", &azcosmos.ItemOptions{ConsistencyLevel: &level})
			t.must(err)
			t.equal(len(c.rows("SELECT * FROM c", key("a"), &azcosmos.QueryOptions{ConsistencyLevel: &level})), 1)
		}
	}},

	{"database-lifecycle", func(t *ScenarioRun) {
		created, err := t.client.CreateDatabase(t.ctx, azcosmos.DatabaseProperties{ID: t.name}, nil)
		t.must(err)
		t.equal(created.RawResponse.StatusCode, 201)
		_, err = t.client.CreateDatabase(t.ctx, azcosmos.DatabaseProperties{ID: t.name}, nil)
		t.fails(err, 409)
		db, err := t.client.NewDatabase(t.name)
		t.must(err)
		read, err := db.Read(t.ctx, nil)
		t.must(err)
		t.equal(read.DatabaseProperties.ID, t.name)
		t.equal(t.databases("SELECT * FROM d WHERE d.id = @p", t.name), JSONArray{t.name})
		_, err = db.Delete(t.ctx, nil)
		t.must(err)
		_, err = db.Read(t.ctx, nil)
		t.fails(err, 404)
	}},

	{"database-listing", func(t *ScenarioRun) {
		want := []string{t.name + "-x", t.name + "-y", t.name + "-z"}
		for _, id := range want {
			_, err := t.client.CreateDatabase(t.ctx, azcosmos.DatabaseProperties{ID: id}, nil)
			t.must(err)
		}
		t.same(t.databases("SELECT * FROM d WHERE STARTSWITH(d.id, @p)", t.name+"-"), want)
		for _, id := range want {
			db, err := t.client.NewDatabase(id)
			t.must(err)
			_, err = db.Delete(t.ctx, nil)
			t.must(err)
		}
	}},

	{"container-lifecycle", func(t *ScenarioRun) {
		db := t.database(nil)
		p := azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: byPath("/pk")}
		created, err := db.CreateContainer(t.ctx, p, nil)
		t.must(err)
		t.equal(created.RawResponse.StatusCode, 201)
		_, err = db.CreateContainer(t.ctx, p, nil)
		t.fails(err, 409)
		c, err := db.NewContainer("c")
		t.must(err)
		read, err := c.Read(t.ctx, nil)
		t.must(err)
		t.equal(read.ContainerProperties.PartitionKeyDefinition.Paths, []string{"/pk"})
		_, err = c.Delete(t.ctx, nil)
		t.must(err)
		_, err = c.Read(t.ctx, nil)
		t.fails(err, 404)
		none, err := t.client.NewDatabase(t.name + "-none")
		t.must(err)
		_, err = none.CreateContainer(t.ctx, p, nil)
		t.fails(err, 404)
	}},

	{"container-listing", func(t *ScenarioRun) {
		for _, id := range []string{"x", "y", "z"} {
			t.container(azcosmos.ContainerProperties{ID: id})
		}
		list := func(query string, parameters ...azcosmos.QueryParameter) (ids []string) {
			for p := t.database(nil).NewQueryContainersPager(query, &azcosmos.QueryContainersOptions{QueryParameters: parameters}); p.More(); {
				page, err := p.NextPage(t.ctx)
				t.must(err)
				for _, c := range page.Containers {
					ids = append(ids, c.ID)
				}
			}
			return ids
		}
		t.same(list("SELECT * FROM c"), []string{"x", "y", "z"})
		t.equal(list("SELECT * FROM c WHERE c.id = @id", azcosmos.QueryParameter{Name: "@id", Value: "y"}),
			JSONArray{"y"})
	}},

	{"container-replace", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		was := c.properties()
		p := was
		p.DefaultTimeToLive = ptr(int32(100))
		p.IndexingPolicy = &azcosmos.IndexingPolicy{
			Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}}, ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/big/*"}},
		}
		replaced, err := c.Replace(t.ctx, p, nil)
		t.must(err)
		t.equal(replaced.RawResponse.StatusCode, 200)
		now := c.properties()
		t.equal(*now.DefaultTimeToLive, 100)
		t.check(slices.Contains(now.IndexingPolicy.ExcludedPaths, azcosmos.ExcludedPath{Path: "/big/*"}), "excluded: %v", now.IndexingPolicy.ExcludedPaths)
		t.equal(now.ResourceID, was.ResourceID)
		was.PartitionKeyDefinition = byPath("/other")
		_, err = c.Replace(t.ctx, was, nil)
		t.fails(err, 400)
	}},

	{"container-quota", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		for _, id := range []string{"1", "2", "3"} {
			c.create(JSONObject{"id": id, "pk": id})
		}
		read, err := c.Read(t.ctx, &azcosmos.ReadContainerOptions{PopulateQuotaInfo: true})
		t.must(err)
		quota, usage := read.RawResponse.Header.Get("x-ms-resource-quota"), read.RawResponse.Header.Get("x-ms-resource-usage")
		t.check(strings.Contains(quota, "collectionSize="), "quota %q", quota)
		t.check(strings.Contains(usage, "documentsCount=3;"), "usage %q", usage)
	}},

	{"indexing-policy", func(t *ScenarioRun) {
		policy := azcosmos.IndexingPolicy{
			Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
			ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/big/*"}},
			CompositeIndexes: [][]azcosmos.CompositeIndex{{
				{Path: "/g", Order: azcosmos.CompositeIndexAscending}, {Path: "/n", Order: azcosmos.CompositeIndexDescending},
			}},
			SpatialIndexes: []azcosmos.SpatialIndex{{Path: "/at/*", SpatialTypes: everyShape}},
		}
		got := t.container(azcosmos.ContainerProperties{IndexingPolicy: &policy}).properties().IndexingPolicy
		t.equal(got.IndexingMode, "consistent")
		t.equal(got.IncludedPaths, policy.IncludedPaths)
		t.equal(got.ExcludedPaths, JSONArray{JSONObject{"path": "/big/*"}, JSONObject{"path": `/"_etag"/?`}})
		t.equal(got.CompositeIndexes, policy.CompositeIndexes)
		t.equal(got.SpatialIndexes[0].Path, "/at/*")
		t.equal(len(got.SpatialIndexes[0].SpatialTypes), 4)
	}},

	{"indexing-none", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{IndexingPolicy: &azcosmos.IndexingPolicy{IndexingMode: azcosmos.IndexingModeNone}})
		got := c.properties().IndexingPolicy
		t.equal(got.IndexingMode, "none")
		t.equal(got.Automatic, false)
		t.same(c.ids(" WHERE c.n > 17", across), []string{"i18", "i19"})
	}},

	{"indexing-change", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		want := []string{"i01", "i04", "i07", "i10", "i13", "i16", "i19"}
		t.same(c.ids(" WHERE c.g = 'g1'", across), want)
		for _, excluded := range [][]azcosmos.ExcludedPath{{{Path: "/g/?"}}, {}} {
			p := c.properties()
			p.IndexingPolicy.ExcludedPaths = excluded
			_, err := c.Replace(t.ctx, p, nil)
			t.must(err)
			t.same(c.ids(" WHERE c.g = 'g1'", across), want)
		}
	}},

	{"unique-keys", func(t *ScenarioRun) {
		policy := &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/name", "/o/x"}}}}
		c := t.container(azcosmos.ContainerProperties{UniqueKeyPolicy: policy})
		t.equal(c.properties().UniqueKeyPolicy, policy)
		named := func(id, pk, name string) JSONObject {
			return JSONObject{"id": id, "pk": pk, "name": name,
				"o": JSONObject{"x": 1}}
		}
		c.create(named("1", "a", "ada"))
		c.create(named("2", "a", "bob"))
		_, err := c.CreateItem(t.ctx, key("a"), raw(named("3", "a", "ada")), nil)
		t.fails(err, 409)
		_, err = c.UpsertItem(t.ctx, key("a"), raw(named("3", "a", "ada")), nil)
		t.fails(err, 409)
		_, err = c.ReplaceItem(t.ctx, key("a"), "2", raw(named("2", "a", "ada")), nil)
		t.fails(err, 409)
		_, err = c.ReplaceItem(t.ctx, key("a"), "1", raw(named("1", "a", "ada")), nil)
		t.must(err)
		c.create(named("3", "b", "ada"))
		_, err = c.DeleteItem(t.ctx, key("a"), "1", nil)
		t.must(err)
		c.create(named("4", "a", "ada"))
	}},

	without("computed-properties", "container properties without computed properties"),
	without("conflict-feed", "no conflicts"),

	{"throughput-manual", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{}, azcosmos.NewManualThroughputProperties(600))
		t.equal(c.throughput(), "manual 600")
		_, err := c.ReplaceThroughput(t.ctx, azcosmos.NewManualThroughputProperties(1000), nil)
		t.must(err)
		t.equal(c.throughput(), "manual 1000")
	}},

	{"throughput-autoscale", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{}, azcosmos.NewAutoscaleThroughputProperties(4000))
		t.equal(c.throughput(), "autoscale 4000")
		_, err := c.ReplaceThroughput(t.ctx, azcosmos.NewAutoscaleThroughputProperties(8000), nil)
		t.must(err)
		t.equal(c.throughput(), "autoscale 8000")
	}},

	{"throughput-database", func(t *ScenarioRun) {
		db := t.database(&azcosmos.CreateDatabaseOptions{ThroughputProperties: ptr(azcosmos.NewManualThroughputProperties(800))})
		read, err := db.ReadThroughput(t.ctx, nil)
		t.must(err)
		t.equal(amount(read), "manual 800")
		_, err = t.container(azcosmos.ContainerProperties{}).ReadThroughput(t.ctx, nil)
		t.fails(err, 404)
	}},

	{"throughput-default", func(t *ScenarioRun) {
		t.equal(t.container(azcosmos.ContainerProperties{}).throughput(), "manual 400")
		_, err := t.database(nil).ReadThroughput(t.ctx, nil)
		t.fails(err, 404)
	}},

	{"feed-range-list", func(t *ScenarioRun) {
		ranges, err := t.container(azcosmos.ContainerProperties{}).ReadFeedRanges(t.ctx, nil)
		t.must(err)
		t.equal(len(ranges), t.ranges)
		edge := ""
		for _, r := range ranges {
			t.equal(r.MinInclusive, edge)
			edge = r.MaxExclusive
		}
		t.equal(edge, "FF")
	}},
}

var everyShape = []azcosmos.SpatialType{azcosmos.SpatialTypePoint, azcosmos.SpatialTypeLineString, azcosmos.SpatialTypePolygon, azcosmos.SpatialTypeMultiPolygon}

// databases returns the ids of the databases that a query finds; p is the value of its parameter @p.
func (t *ScenarioRun) databases(query, p string) (ids []string) {
	o := &azcosmos.QueryDatabasesOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@p", Value: p}}}
	for pager := t.client.NewQueryDatabasesPager(query, o); pager.More(); {
		page, err := pager.NextPage(t.ctx)
		t.must(err)
		for _, d := range page.Databases {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func (c ScenarioContainer) properties() azcosmos.ContainerProperties {
	read, err := c.Read(c.t.ctx, nil)
	c.t.must(err)
	return *read.ContainerProperties
}

func (c ScenarioContainer) throughput() string {
	read, err := c.ReadThroughput(c.t.ctx, nil)
	c.t.must(err)
	return amount(read)
}

func amount(r azcosmos.ThroughputResponse) string {
	if n, ok := r.ThroughputProperties.AutoscaleMaxThroughput(); ok {
		return fmt.Sprint("autoscale ", n)
	}
	n, _ := r.ThroughputProperties.ManualThroughput()
	return fmt.Sprint("manual ", n)
}
