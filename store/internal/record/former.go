package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/mayflydb/mayfly/store/definition"
)

const (
	mostContainers = 64  // maximum number of dropped containers that are kept for one name
	mostSpans      = 256 // maximum number of spans of ranges that are kept for one name
)

// ContainerNameHistory is the record of the dropped containers of one name.
type ContainerNameHistory struct {
	First      int                `json:"first"`  // the lowest range id of the last dropped container
	Next       int                `json:"next"`   // higher than every range id ever used under the name
	Layout     string             `json:"layout"` // of the last dropped container: see layoutOf
	Containers []DroppedContainer `json:"containers,omitempty"`
	// Spans are the partition ranges that the dropped containers had, oldest first.
	Spans []RangeOfDroppedContainer `json:"spans,omitempty"`
}

// RangeOfDroppedContainer is the id and the span of a partition range that no longer exists.
type RangeOfDroppedContainer struct {
	ID  int    `json:"id"`
	Min string `json:"min"`
	Max string `json:"max"`
}

// DroppedContainer is a dropped container: its rid, its partition key definition, and all ids that its
// ranges ever had.
type DroppedContainer struct {
	RID    string                            `json:"rid"`
	Key    definition.PartitionKeyDefinition `json:"key"`
	Ranges []int                             `json:"ranges"`
}

// spansFor returns the range ids of former containers that stay valid in a new container of the same name,
// with their spans. It leaves out ids that the new container uses itself. If the new container has another
// partition key definition, spansFor returns none: a client that still uses the old definition must get the
// error that the range is gone.
func (f *ContainerNameHistory) spansFor(def *definition.PartitionKeyDefinition,
	ranges []PartitionRange) []RangeOfDroppedContainer {
	if n := len(f.Containers); n == 0 || !f.Containers[n-1].Key.Equal(def) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Spans), func(s RangeOfDroppedContainer) bool {
		return slices.ContainsFunc(ranges, func(r PartitionRange) bool { return r.ID == s.ID })
	})
}

// Add records a container that is being dropped: its rid, its partition key definition, and the ids that its
// partition ranges and their split ancestors had. Only the latest dropped containers of a name are kept.
func (f *ContainerNameHistory) Add(rid string, def *definition.PartitionKeyDefinition,
	rec *Container) (err error) {
	gone := DroppedContainer{RID: rid, Key: *def}
	f.First, f.Next = rec.Ranges[0].ID, max(rec.NextRange, HighestID(rec.Ranges)+1)
	f.Spans = slices.Clone(rec.Former)
	for _, r := range rec.Ranges {
		f.First = min(f.First, r.ID)
		f.Spans = append(f.Spans, RangeOfDroppedContainer{ID: r.ID, Min: r.Min, Max: r.Max})
		gone.Ranges = append(append(gone.Ranges, r.ID), r.Parents...)
	}
	f.Containers = append(f.Containers, gone)
	f.Containers = f.Containers[max(len(f.Containers)-mostContainers, 0):]
	f.Spans = f.Spans[max(len(f.Spans)-mostSpans, 0):]
	f.Layout, err = layoutOf(def, rec.Ranges)
	return err
}

// AssignIDs assigns ids to the ranges of a new container whose name dropped containers have had, and records
// which ids of theirs stay valid. If the ranges are laid out like those of the last dropped container they
// get the same ids; otherwise all get new ones. New ids are at least floor.
func (f *ContainerNameHistory) AssignIDs(def *definition.PartitionKeyDefinition, rec *Container,
	floor int) error {
	same := slices.Clone(rec.Ranges)
	if isFresh(rec.Ranges) {
		for i := range same {
			same[i].ID = f.First + i
		}
	}
	now, err := layoutOf(def, same)
	if err != nil {
		return err
	}
	if now == f.Layout {
		rec.Ranges = same
	} else {
		rec.renumber(max(f.Next, floor))
	}
	rec.Former = f.spansFor(def, rec.Ranges)
	rec.NextRange = max(f.Next, HighestID(rec.Ranges)+1)
	return nil
}

// isFresh reports whether the ranges have the ids 0, 1, 2 and so on, as those of a container that is not
// copied from another.
func isFresh(ranges []PartitionRange) bool {
	for i, r := range ranges {
		if r.ID != i {
			return false
		}
	}
	return true
}

// AssignFirstIDs assigns ids to the ranges of a new container whose name no dropped container has had. They
// keep the ids that they have if floor is 0 or keep is set; otherwise they get ids from floor on.
func (rec *Container) AssignFirstIDs(floor int, keep bool) {
	if floor > 0 && !keep {
		rec.renumber(floor)
	}
	rec.NextRange = HighestID(rec.Ranges) + 1
}

// layoutOf returns a short hash of a partition key definition and of ranges with their ids. Two containers
// with the same hash have ranges with the same ids and the same bounds.
func layoutOf(def *definition.PartitionKeyDefinition, ranges []PartitionRange) (string, error) {
	type span struct {
		ID       int
		Min, Max string
	}
	spans := make([]span, len(ranges))
	for i, r := range ranges {
		spans[i] = span{r.ID, r.Min, r.Max}
	}
	text, err := json.Marshal(struct {
		Key   *definition.PartitionKeyDefinition
		Spans []span
	}{def, spans})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// renumber gives the ranges of rec consecutive ids that begin with first, and removes the ids of their
// parents, the ranges from which they were split.
func (rec *Container) renumber(first int) {
	rec.Ranges = slices.Clone(rec.Ranges)
	for i := range rec.Ranges {
		rec.Ranges[i].ID, rec.Ranges[i].Parents = first+i, nil
	}
}
