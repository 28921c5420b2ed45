package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// Database is the record of a database, under its id.
type Database struct {
	ID  string `json:"id"`
	Num uint32 `json:"num"`
	TS  int64  `json:"ts"`
	LSN uint64 `json:"lsn"`
}

// Container is the record of a container, under its database's number and its id.
type Container struct {
	CID      uint32          `json:"cid"`
	TS       int64           `json:"ts"`
	LSN      uint64          `json:"lsn"`
	Spec     json.RawMessage `json:"spec"`
	Policy   ttl.Policy      `json:"policy"`
	Ranges   []Range         `json:"ranges"`
	RangeLSN uint64          `json:"rangeLSN"` // catalog LSN of the last change of Ranges
	// that were ever given to a range, where a split has asked for one
	Slots int `json:"slots,omitempty"`
	// NextRange is above every id that a range under the container's name has had before it; 0: not known.
	NextRange int `json:"nextRange,omitempty"`
	// Former are ranges of containers that had the name before, under ids that none of Ranges has.
	Former []FormerRange `json:"former,omitempty"`
	// Version is that in session tokens; 0: they have none.
	Version int64  `json:"version,omitempty"`
	Split   *Split `json:"split,omitempty"`

	// IndexedBy are older specs by which documents may still be indexed; none where all are indexed by Spec.
	// IndexRound counts the changes that made it so.
	IndexedBy  []json.RawMessage `json:"indexedBy,omitempty"`
	IndexRound uint32            `json:"indexRound,omitempty"`
	// Basis is the ttlPropertyPath by which items are written, and Eras are what came before it, as long as
	// there may be items of them, from the oldest: see eraRecord.
	Basis string `json:"basis,omitempty"`
	Eras  []Era  `json:"eras,omitempty"`
	// Recent reports whether the documents of a partition are indexed by their _ts, whatever the indexing
	// policy says.
	Recent bool `json:"recent,omitempty"`

	// Backup reports whether the container was made while the store had continuous backup.
	Backup bool `json:"backup,omitempty"`

	Settings definition.ContainerSettings `json:"settings,omitzero"`
	// MovesSince is the second in which the settings got an archive: what had expired before is not moved. 0:
	// there is none.
	MovesSince int64 `json:"movesSince,omitempty"`
	// Log is there while the container keeps a log of expiries.
	Log *ExpiryLog `json:"log,omitempty"`
}

// Range is a partition range of a container's record, and the slot in which its items lie.
type Range struct {
	ID      int    `json:"id"`
	Slot    uint16 `json:"slot"`
	Min     string `json:"min"` // EPK, upper-case hexadecimal
	Max     string `json:"max"`
	Parents []int  `json:"parents,omitempty"` // the range that it came from, behind those that that came from
	TS      int64  `json:"ts"`
	// catalog LSN of its making; 0: as old as the container, which was never split
	LSN uint64 `json:"lsn,omitempty"`
}

// Offer is the record of a throughput, of a container or of a database.
type Offer struct {
	Num      uint32                `json:"num"`
	Database uint32                `json:"database"`
	CID      uint32                `json:"cid,omitempty"` // 0: the database's own
	TS       int64                 `json:"ts"`
	LSN      uint64                `json:"lsn"`
	Asked    definition.Throughput `json:"throughput"`
	// Ranges is how many partition ranges a raise asks for, be they there already or not; 0: none has.
	Ranges int `json:"ranges,omitempty"`
}

// Same reports whether two records would be stored alike.
func Same(a, b *Container) (bool, error) {
	one, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	two, err := json.Marshal(b)
	return bytes.Equal(one, two), err
}

// Former is what is kept of the containers of one name that are gone.
type Former struct {
	First      int               `json:"first"`  // the lowest id of the last one's ranges
	Next       int               `json:"next"`   // above every id that a range under the name has had
	Layout     string            `json:"layout"` // of the last one: see LayoutOf
	Containers []FormerContainer `json:"containers,omitempty"`
	// Spans are those of the ranges of Containers, from the oldest.
	Spans []FormerRange `json:"spans,omitempty"`
}

// FormerRange is the id of a partition range that is gone, and the span that the id stands for.
type FormerRange struct {
	ID  int    `json:"id"`
	Min string `json:"min"`
	Max string `json:"max"`
}

// FormerContainer is a container that is gone: its rid, its partition key definition, and the ids that its
// ranges had when it was dropped and before.
type FormerContainer struct {
	RID    string                            `json:"rid"`
	Key    definition.PartitionKeyDefinition `json:"key"`
	Ranges []int                             `json:"ranges"`
}

// SpansFor are the spans that ids of former containers go on naming in a new one: those that no range of the
// new one has, and none where its partition key definition is another one. A client that still knows the old
// definition has to be told that the range is gone.
func (f *Former) SpansFor(def *definition.PartitionKeyDefinition, ranges []Range) []FormerRange {
	if n := len(f.Containers); n == 0 || !f.Containers[n-1].Key.Equal(def) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Spans), func(s FormerRange) bool {
		return slices.ContainsFunc(ranges, func(r Range) bool { return r.ID == s.ID })
	})
}

// LayoutOf names a partition key definition and ranges with their ids, in a few bytes.
func LayoutOf(def *definition.PartitionKeyDefinition, ranges []Range) (string, error) {
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

// HighestID is the highest id of ranges, of which there is at least one.
func HighestID(ranges []Range) int {
	return slices.MaxFunc(ranges, func(a, b Range) int { return a.ID - b.ID }).ID
}

// Split is a split that is under way. The record of its container has it from before the first item is
// copied until the moment of the split; what is in the halves' slots until then are copies that nobody reads.
type Split struct {
	From  uint16 `json:"from"`  // the slot of the range that is split
	Lower uint16 `json:"lower"` // the slot of the lower half
	To    uint16 `json:"to"`    // the slot of the upper half
	// LSN is the catalog's at its beginning: it tells splits apart that use the same slots.
	LSN uint64 `json:"lsn,omitempty"`
}

// ExpiryLog is the part of a container's record that is there while it keeps a log of expiries.
type ExpiryLog struct {
	Since  int64      `json:"since"`  // the second in which the log began
	Policy ttl.Policy `json:"policy"` // the expiry policy then
}

// Knows reports whether an item that is dead now was so when the log began. p is the present policy.
func (rec *ExpiryLog) Knows(l ttl.Life, p *ttl.Policy) bool {
	switch {
	case l.Ended:
		return l.Base <= rec.Since
	case p.BasedAt > 0 && rec.Policy.BasedAt < p.BasedAt:
		return false // it was alive when times to live began to count from what they do, which was later
	case l.Based && l.TS >= rec.Since:
		return false // it was written later
	default:
		return rec.Policy.Expired(l, rec.Since)
	}
}

// Renumber gives ranges ids in a row. They have no parents under these names.
func Renumber(rec *Container, first int) {
	rec.Ranges = slices.Clone(rec.Ranges)
	for i := range rec.Ranges {
		rec.Ranges[i].ID, rec.Ranges[i].Parents = first+i, nil
	}
}

// NextSlot is the number of the first slot that no range has had yet.
func (rec *Container) NextSlot() int {
	n := rec.Slots
	for _, r := range rec.Ranges {
		n = max(n, int(r.Slot)+1)
	}
	return n
}

// Target is how many ranges an offer's container is to come to when its throughput becomes t: as many as
// carry 10,000 RU/s each where that is more than before. What is not split yet is not split any more where it
// is less. Containers that share a database's throughput have one range whatever that is, as they are made.
func (o *Offer) Target(t definition.Throughput) int {
	was, is := o.Asked.Most(), t.Most()
	switch {
	case is < was || o.CID == 0:
		return 0
	case is == was:
		return o.Ranges
	}
	return max(o.Ranges, min((is+definition.RangeThroughput-1)/definition.RangeThroughput, layout.MaxSlots))
}

// Era is a span of policy generations in which times to live counted from one path.
type Era struct {
	ttl.Era
	Path string `json:"path,omitempty"` // "": the _ts
}
