package scan

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strconv"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// ResolvedKeyOrRange is a value.KeyOrRange (the part of the container that a list or query
// reads) as partition ranges to read, and bounds within them.
type ResolvedKeyOrRange struct {
	Ranges []*view.PartitionRange
	// Prefix is the key prefix of the posting (the list of rids) of the scope's partition key. It is set
	// only if the scope is one logical partition or a prefix of a hierarchical key.
	Prefix   []byte
	EPK, PK  []byte // the parts of Prefix
	Key      definition.PartitionKey
	Levels   int    // number of components of Key
	Shared   bool   // Prefix also matches documents in other partition ranges
	Min, Max []byte // EPK bounds; an empty Max has no upper bound
	hash     uint32 // hash of the scope without its bounds
}

// Resolve finds the partition ranges and key bounds that a value.KeyOrRange (the part of the
// container that a list or query reads) has in a state of the container. It returns CodeRangeGone for an
// unknown range and CodeBadRequest for a malformed bound or partition key.
func Resolve(state *view.ContainerAtTime, s value.KeyOrRange) (ResolvedKeyOrRange,
	error) {
	def := &state.Keys.Def
	var sp ResolvedKeyOrRange
	if !s.Partition.IsZero() {
		pk, err := def.ScopeKey(s.Partition)
		if err != nil {
			return ResolvedKeyOrRange{}, err
		}
		sp.EPK, sp.PK = definition.AppendEPK(nil, def, pk), pk.AppendOrdered(nil)
		sp.Levels, sp.Key = pk.Len(), pk
	}
	var only *view.PartitionRange
	if s.Range != "" {
		if only = state.RangeByID(s.Range); only == nil {
			return ResolvedKeyOrRange{}, RangeGone(s.Range)
		}
	}
	h := fnv.New32a()
	// a continuation must not be used in another container
	h.Write(binary.BigEndian.AppendUint32(nil, state.Keys.CID))
	if !s.Partition.IsZero() {
		sp.ofPartition(state, only)
		h.Write([]byte(partOfContainer)) // the bounds determine the part
		sp.hash = h.Sum32()
		return sp, nil
	}
	var err error
	if sp.Min, err = Bound(s.MinEPK); err != nil {
		return ResolvedKeyOrRange{}, err
	}
	if s.MaxEPK != definition.MaxEPK {
		if sp.Max, err = Bound(s.MaxEPK); err != nil {
			return ResolvedKeyOrRange{}, err
		}
	}
	if sp.Ranges = []*view.PartitionRange{only}; only == nil {
		sp.Ranges = rangesOver(state, sp.Min, sp.Max)
	}
	if only != nil || len(sp.Min) > 0 || len(sp.Max) > 0 {
		h.Write([]byte(partOfContainer))
	}
	sp.hash = h.Sum32()
	return sp, nil
}

// ofPartition sets the Prefix and the Ranges for a scope that is a partition key or a prefix of one. If only
// is not nil, the scope is limited to that partition range, for clients that read range by range.
func (sp *ResolvedKeyOrRange) ofPartition(state *view.ContainerAtTime,
	only *view.PartitionRange) {
	sp.Prefix = layout.AppendPartitionPrefix(nil, state.Keys.CID, layout.FamilyPartition, sp.EPK, sp.PK)
	if sp.Ranges = []*view.PartitionRange{state.RangeOf(sp.EPK)}; sp.Levels < state.Keys.Def.Levels() {
		sp.Ranges = rangesOver(state, sp.EPK, behindPrefix(sp.EPK))
	}
	sp.Shared = len(sp.Ranges) > 1
	if only != nil {
		sp.Shared = sp.Shared || sp.Ranges[0] != only
		sp.Ranges = []*view.PartitionRange{only}
	}
}

// partOfContainer is hashed for every scope that is not the whole container. All such scopes of a container
// have the same hash, so that a continuation token of a range of EPKs is also valid for a partition key in
// that range.
const partOfContainer = "a part"

// behindPrefix returns an EPK above all EPKs that begin with epk, the EPK of a prefix of a hierarchical
// key.
func behindPrefix(epk []byte) []byte { return append(bytes.Clone(epk), 0xFF) }

// RangeGone returns the error for a partition range that does not exist, or no longer exists.
func RangeGone(id string) error {
	return fault.New(fault.CodeRangeGone, "The partition key range '"+id+"' does not exist any more.")
}

// rangesOver returns the ranges that overlap [min, max).
func rangesOver(state *view.ContainerAtTime, min, max []byte) []*view.PartitionRange {
	var over []*view.PartitionRange
	for i := range state.Ranges {
		r := &state.Ranges[i]
		if (len(r.Max) == 0 || bytes.Compare(min, r.Max) < 0) &&
			(len(max) == 0 || bytes.Compare(r.Min, max) < 0) {
			over = append(over, r)
		}
	}
	return over
}

// Bound decodes a bound of effective partition keys from hexadecimal. If the number of digits is odd, the
// last digit is followed by a 0.
func Bound(s string) ([]byte, error) {
	if len(s)%2 == 1 {
		s += "0"
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeBadRequest,
			Message: "'" + s + "' is not an effective partition key.", Err: err}
	}
	return b, nil
}

// Contains reports whether an EPK lies within the bounds of the scope.
func (sp *ResolvedKeyOrRange) Contains(epk []byte) bool {
	return bytes.Compare(sp.Min, epk) <= 0 && (len(sp.Max) == 0 || bytes.Compare(epk, sp.Max) < 0)
}

// Name returns a text that identifies the scope except for its bounds (see Spans). A continuation token is
// valid for a scope with the same name and the same bounds.
func (sp *ResolvedKeyOrRange) Name() string { return strconv.FormatUint(uint64(sp.hash), 36) }

// Spans returns the bounds of the scope (the part of the container that a query or list reads) in each of
// its partition ranges, ascending and without gaps.
func (sp *ResolvedKeyOrRange) Spans() []query.SourceKeyRange {
	from, to := sp.Min, sp.Max
	if sp.Prefix != nil {
		from, to = sp.EPK, behindPrefix(sp.EPK)
	}
	list := make([]query.SourceKeyRange, len(sp.Ranges))
	for i, s := range sp.Ranges {
		list[i] = query.SourceKeyRange{From: s.Min, To: s.Max}
		if bytes.Compare(list[i].From, from) < 0 {
			list[i].From = from
		}
		if len(to) > 0 && (len(s.Max) == 0 || bytes.Compare(to, s.Max) < 0) {
			list[i].To = to
		}
	}
	return list
}

// MayContain reports whether an item whose EPK begins with first may be in the scope.
func (sp *ResolvedKeyOrRange) MayContain(first []byte) bool {
	n := len(first)
	return bytes.HasPrefix(first, sp.EPK[:min(n, len(sp.EPK))]) &&
		bytes.Compare(first, sp.Min[:min(n, len(sp.Min))]) >= 0 &&
		(len(sp.Max) == 0 || bytes.Compare(first, sp.Max) < 0)
}

// ContainsVersion reports whether a version of an item, an entry of the feed of all versions, is in the
// scope.
func (sp *ResolvedKeyOrRange) ContainsVersion(v *layout.AllVersionsFeedEntry) bool {
	return sp.Contains(v.EPK) && bytes.HasPrefix(v.EPK, sp.EPK) && bytes.HasPrefix(v.PK, sp.PK)
}
