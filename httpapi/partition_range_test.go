package httpapi

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestPartitionInRange checks queries, lists and change feeds that name both a partition key and a range:
// they return the documents of the key that are in the range. So a client that reads range by range finds
// each document once.
func TestPartitionInRange(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(4))
	w.container(`"partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}`)
	var want []string
	for i := range 20 {
		id := strconv.Itoa(i)
		w.do("POST", docs, `{"id":"`+id+`","a":"x","b":"`+id+`"}`).want(201)
		w.do("POST", docs, `{"id":"other`+id+`","a":"y","b":"`+id+`"}`).want(201)
		want = append(want, id)
	}
	slices.Sort(want)
	for name, get := range map[string]func(h []string) *testResponse{
		"query": func(h []string) *testResponse { return w.ask(docs, "SELECT * FROM c", h...) },
		"list":  func(h []string) *testResponse { return w.do("GET", docs, "", h...) },
		"feed": func(h []string) *testResponse {
			return w.do("GET", docs, "",
				append(h, "A-IM", "Incremental feed")...)
		},
	} {
		for key, want := range map[string][]string{`["x"]`: want, `["x","7"]`: {"7"}} {
			got, count := []string{}, int64(0)
			for _, id := range []string{"0", "1", "2", "3"} {
				h := append(pk(key), "x-ms-documentdb-partitionkeyrangeid", id)
				a := get(slices.Clone(h))
				got = append(got, strings.Fields(a.ids("Documents"))...)
				count += gjson.GetBytes(w.ask(docs, "SELECT VALUE COUNT(1) FROM c", h...).want(200).body,
					"Documents.0").Int()
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || count != int64(len(want)) {
				t.Errorf("%s of %s: %v, counted %d, want %v", name, key, got, count, want)
			}
		}
	}
	w.do("GET", docs, "", append(pk(`["x"]`), "x-ms-documentdb-partitionkeyrangeid", "9")...).fails(410, 1002,
		"")
}

// ranges returns an option with which every new container has n partition ranges.
func ranges(n int) func(*serverUnderTestOptions) {
	return func(s *serverUnderTestOptions) { s.store.Ranges = n }
}
