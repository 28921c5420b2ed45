package container

import (
	"bytes"
	"strconv"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// RangeByID returns the range with the given id, or nil if there is none.
func (st *State) RangeByID(id string) *Partition {
	for _, s := range st.Ranges {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// RangeOf returns the range that contains an effective partition key.
func (st *State) RangeOf(epk []byte) *Partition {
	lo, hi := 0, len(st.Ranges)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; bytes.Compare(st.Ranges[mid].Min, epk) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return st.Ranges[lo]
}

// Scopes returns the engine scopes of the container's ranges. In each scope writing transactions run one
// after the other.
func (st *State) Scopes() [][]byte {
	list := make([][]byte, len(st.Ranges))
	for i, s := range st.Ranges {
		list[i] = s.Scope
	}
	return list
}

// Partitions returns the ranges of the state that have the same ids as those in plain, in the order of plain.
func (st *State) Partitions(plain []*view.PartitionRange) []*Partition {
	list := make([]*Partition, len(plain))
	for i, r := range plain {
		list[i] = st.RangeByID(r.ID)
	}
	return list
}

// formerSpan returns the bounds, in hexadecimal, of the range with the given id in a former container of
// the same name. ok is false if there is none.
func (st *State) formerSpan(id string) (from, to string, ok bool) {
	for _, f := range st.Rec.Former {
		if strconv.Itoa(f.ID) == id {
			return f.Min, f.Max, true
		}
	}
	return "", "", false
}

// InFormer replaces the id of a partition range of a dropped container that had the same name, which a
// client may still have cached. If s names such a range, InFormer returns s with the bounds of that range,
// intersected with those of s, instead of the id. It returns s unchanged if the container itself has a
// range with the id, if no dropped one had, or if s has a partition key.
func (st *State) InFormer(s value.KeyOrRange) value.KeyOrRange {
	if s.Range == "" || !s.Partition.IsZero() || st.RangeByID(s.Range) != nil {
		return s
	}
	from, to, ok := st.formerSpan(s.Range)
	if !ok {
		return s
	}
	s.Range = ""
	s.MinEPK = max(s.MinEPK, from)
	if s.MaxEPK == "" || s.MaxEPK == definition.MaxEPK || to != definition.MaxEPK && to < s.MaxEPK {
		s.MaxEPK = to
	}
	return s
}

// KnowsRange reports whether the container, or a former container of the same name, has or had a range with
// the id.
func (st *State) KnowsRange(id string) bool {
	_, _, former := st.formerSpan(id)
	return former || st.RangeByID(id) != nil
}

// LiesIn reports whether a partition key lies in the range with the given id, or in the span that the id
// had in a former container of the same name.
func (st *State) LiesIn(epk []byte, id string) bool {
	if s := st.RangeByID(id); s != nil {
		return s.Holds(epk)
	}
	from, to, ok := st.formerSpan(id)
	at := definition.EPKHex(epk)
	return ok && from <= at && (to == definition.MaxEPK || at < to)
}
