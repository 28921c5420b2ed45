package store

import (
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/store/definition"
)

// benchKeeps creates a container with the definition of from whose change feed keeps all versions for the
// given number of minutes.
func benchKeeps(b *testing.B, from *Container, minutes int) *Container {
	b.Helper()
	spec := from.Info().Spec
	spec.ID, spec.ChangeFeed = "kept", &definition.ChangeFeedPolicy{RetentionMinutes: minutes}
	c, err := from.d.CreateContainer(b.Context(), spec, definition.Throughput{})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkKeepVersions measures creates and replaces in a container that keeps all versions and in one
// that does not.
func BenchmarkKeepVersions(b *testing.B) {
	for _, minutes := range []int{0, 10} {
		for _, replace := range []bool{false, true} {
			b.Run(fmt.Sprintf("minutes=%d/replace=%v", minutes, replace), func(b *testing.B) {
				_, first, _ := benchStore(b, 0)
				c := benchKeeps(b, first, minutes)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if replace {
						i = i % 100
					}
					if _, _, err := c.Upsert(b.Context(), benchKey(i).Partition, benchBody(i),
						WriteOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkFeedPage measures a page of 100 changes, at the beginning and in the middle of a short and a
// long feed.
func BenchmarkFeedPage(b *testing.B) {
	for _, n := range []int{1_000, 20_000} {
		for _, mode := range []ChangeFeedMode{LatestVersions, AllVersions} {
			b.Run(fmt.Sprintf("items=%d/mode=%d", n, mode), func(b *testing.B) {
				_, first, _ := benchStore(b, 0)
				c := benchKeeps(b, first, 10)
				benchFill(b, c, 0, n)
				b.ReportAllocs()
				for b.Loop() {
					page, _, err := c.Changes(b.Context(),
						ChangesRequest{Mode: mode, Start: ChangesStart{After: fmt.Sprint(n / 2)},
							MaxItems: 100})
					if err != nil || len(page.Changes) != 100 {
						b.Fatal(len(page.Changes), err)
					}
				}
			})
		}
	}
}

// BenchmarkFeedOfPartition measures a page without changes for a reader of one partition key, in a feed
// with many changes of other keys.
func BenchmarkFeedOfPartition(b *testing.B) {
	_, c, _ := benchStore(b, 20_000)
	for b.Loop() {
		page, _, err := c.Changes(b.Context(),
			ChangesRequest{Scope: KeyOrRange{Partition: benchKey(0).Partition}})
		if err != nil || len(page.Changes) != 10 {
			b.Fatal(len(page.Changes), err)
		}
	}
}
