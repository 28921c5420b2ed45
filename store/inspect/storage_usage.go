package inspect

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// StorageUsage reports how much a container holds, including items that have expired and are not purged yet.
type StorageUsage struct {
	Documents int64
	Bytes     int64 // of their JSON; an estimate if a range has more than 1,000 documents
}

// Limits are the limits of a container in Cosmos DB, as names and values in KB. Nothing enforces them.
const Limits = "documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;"

// Text returns the usage in the form of Cosmos DB's header x-ms-resource-usage, such as
// "documentSize=0;documentsSize=12;documentsCount=3;collectionSize=12;", with sizes in KB.
func (u StorageUsage) Text() string {
	kb := strconv.FormatInt((u.Bytes+1023)/1024, 10)
	return "documentSize=0;documentsSize=" + kb + ";documentsCount=" + strconv.FormatInt(u.Documents, 10) +
		";collectionSize=" + kb + ";"
}

// RangeStatistics reports how much one partition range holds, and its largest partition keys.
type RangeStatistics struct {
	Range string // its id
	StorageUsage
	Keys int // different partition keys among the documents that were measured
	// Largest are the partition keys with at least a hundredth of the measured bytes, the largest first.
	Largest []PartitionKeyStatistics
}

// PartitionKeyStatistics says how many bytes of a partition range the items of one partition key take.
type PartitionKeyStatistics struct {
	Key   string // in JSON, as PartitionKey.String writes it
	Bytes int64  // an estimate, as in Usage
}

// Measure reports how much a container holds. r is a snapshot that matches state.
func Measure(state *view.ContainerAtTime, r engine.Reader) (u StorageUsage, err error) {
	for i := range state.Ranges {
		part, err := measure(r, state.Ranges[i].Scope, nil)
		if err != nil {
			return u, err
		}
		u.Documents += part.Documents
		u.Bytes += part.Bytes
	}
	return u, nil
}

// MeasureRanges reports how much each partition range holds. r is a snapshot that matches state.
func MeasureRanges(state *view.ContainerAtTime, r engine.Reader) ([]RangeStatistics, error) {
	list := make([]RangeStatistics, 0, len(state.Ranges))
	for i := range state.Ranges {
		keys := map[string]int64{}
		s := &state.Ranges[i]
		u, err := measure(r, s.Scope, func(body []byte) {
			keys[state.Keys.Def.Extract(body).String()] += int64(len(body))
		})
		if err != nil {
			return nil, err
		}
		list = append(list, RangeStatistics{
			Range: s.ID, StorageUsage: u, Keys: len(keys), Largest: largest(keys, u),
		})
	}
	return list, nil
}

// largest returns the partition keys that have at least a hundredth of the bytes of a sample. It
// extrapolates their sizes to the whole range.
func largest(sample map[string]int64, whole StorageUsage) (list []PartitionKeyStatistics) {
	var measured int64
	for _, n := range sample {
		measured += n
	}
	for key, n := range sample {
		if 100*n >= measured {
			share := float64(n) / float64(max(measured, 1))
			list = append(list, PartitionKeyStatistics{key, int64(share * float64(whole.Bytes))})
		}
	}
	slices.SortFunc(list, func(a, b PartitionKeyStatistics) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Key, b.Key))
	})
	return list
}

// usageSample is how many documents of a range are measured. The average size of the others is assumed to be
// the same.
const usageSample = 1000

// measure counts the documents of a partition range, given by its engine scope, and estimates the bytes that
// they take from a sample of them. each, unless nil, is called with the body of every document in the sample.
func measure(r engine.Reader, scope []byte, each func(body []byte)) (u StorageUsage, err error) {
	u.Documents, err = view.Count(r, layout.ScopeFamily(scope, layout.FamilyFeed), math.MaxInt64)
	if err != nil || u.Documents == 0 {
		return u, err
	}
	var seen int64
	it := r.Scan(layout.ScopeFamily(scope, layout.FamilyItem), false)
	for seen < usageSample && it.Next() {
		_, body, err := layout.DecodeItem(it.Value())
		if err != nil {
			it.Close()
			return u, err
		}
		seen++
		u.Bytes += int64(len(body))
		if each != nil {
			each(body)
		}
	}
	u.Bytes = u.Bytes * u.Documents / max(seen, 1)
	return u, it.Close()
}
