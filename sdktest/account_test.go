package sdktest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func quoteJSON(t *testing.T, s string) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	must(t, err)
	return b
}

// TestWrongKey checks that a client with another master key than the server's is refused with 401.
func TestWrongKey(t *testing.T) {
	s := start(t, "--memory", "--key", "b3RoZXIga2V5")
	_, err := connect(t, s, "http").CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "db"}, nil)
	wantStatus(t, err, 401)
}

// TestConnectionString checks that the Go SDK can connect with an account's connection string alone.
func TestConnectionString(t *testing.T) {
	s := start(t, "--memory")
	client, err := azcosmos.NewClientFromConnectionString("AccountEndpoint="+s.URL("http")+";AccountKey="+EmulatorKey+";", nil)
	must(t, err)
	newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{ID: "c"})
}

// TestFeeds queries the list of databases and the list of a database's containers.
func TestFeeds(t *testing.T) {
	client := connect(t, start(t, "--memory"), "http")
	for i := range 3 {
		newContainer(t, newDatabase(t, client, fmt.Sprintf("db%d", i)), azcosmos.ContainerProperties{ID: fmt.Sprintf("c%d", i)})
	}
	var names []string
	for p := client.NewQueryDatabasesPager("SELECT * FROM dbs", nil); p.More(); {
		page, err := p.NextPage(t.Context())
		must(t, err)
		for _, d := range page.Databases {
			names = append(names, d.ID)
		}
	}
	if fmt.Sprint(names) != "[db0 db1 db2]" {
		t.Errorf("databases: %v", names)
	}
	db, err := client.NewDatabase("db1")
	must(t, err)
	names = nil
	o := &azcosmos.QueryContainersOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@id", Value: "c1"}}}
	for p := db.NewQueryContainersPager("SELECT * FROM c WHERE c.id = @id", o); p.More(); {
		page, err := p.NextPage(t.Context())
		must(t, err)
		for _, c := range page.Containers {
			names = append(names, c.ID)
		}
	}
	if fmt.Sprint(names) != "[c1]" {
		t.Errorf("containers: %v", names)
	}
}

func TestOffers(t *testing.T) {
	client := connect(t, start(t, "--memory"), "http")
	db := newDatabase(t, client, "db")
	keys := azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	for id, asked := range map[string]*azcosmos.ThroughputProperties{
		"default":   nil,
		"manual":    ptr(azcosmos.NewManualThroughputProperties(600)),
		"autoscale": ptr(azcosmos.NewAutoscaleThroughputProperties(4000)),
	} {
		_, err := db.CreateContainer(t.Context(), azcosmos.ContainerProperties{ID: id, PartitionKeyDefinition: keys}, &azcosmos.CreateContainerOptions{ThroughputProperties: asked})
		must(t, err)
		c, err := db.NewContainer(id)
		must(t, err)
		read, err := c.ReadThroughput(t.Context(), nil)
		must(t, err)
		got := "autoscale "
		rus, ok := read.ThroughputProperties.AutoscaleMaxThroughput()
		if !ok {
			got = "manual "
			rus, _ = read.ThroughputProperties.ManualThroughput()
		}
		got += fmt.Sprint(rus)
		if want := map[string]string{"default": "manual 400", "manual": "manual 600", "autoscale": "autoscale 4000"}[id]; got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	c, err := db.NewContainer("manual")
	must(t, err)
	_, err = c.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(1000), nil)
	must(t, err)
	read, err := c.ReadThroughput(t.Context(), nil)
	must(t, err)
	if got, _ := read.ThroughputProperties.ManualThroughput(); got != 1000 {
		t.Errorf("replaced: %d", got)
	}
}

// TestFeedRanges checks the feed ranges of new containers: their number depends on the throughput, and
// together they cover the key space without a gap.
func TestFeedRanges(t *testing.T) {
	client := connect(t, start(t, "--memory"), "http")
	db := newDatabase(t, client, "db")
	keys := azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	for throughput, want := range map[int32]int{400: 1, 10000: 1, 10100: 2, 21000: 4} {
		id := fmt.Sprint(throughput)
		_, err := db.CreateContainer(t.Context(), azcosmos.ContainerProperties{ID: id, PartitionKeyDefinition: keys},
			&azcosmos.CreateContainerOptions{ThroughputProperties: ptr(azcosmos.NewManualThroughputProperties(throughput))})
		must(t, err)
		c, err := db.NewContainer(id)
		must(t, err)
		ranges, err := c.ReadFeedRanges(t.Context(), nil)
		must(t, err)
		if len(ranges) != want {
			t.Fatalf("%d RU/s: %d ranges, want %d", throughput, len(ranges), want)
		}
		edge := ""
		for _, r := range ranges {
			if r.MinInclusive != edge {
				t.Errorf("a range begins at %q, want %q", r.MinInclusive, edge)
			}
			edge = r.MaxExclusive
		}
		if edge != "FF" {
			t.Errorf("the last range ends at %q", edge)
		}
	}
}
