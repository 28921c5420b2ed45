package store

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Change is one entry of a change feed.
type Change struct {
	Kind      ChangeKind
	LSN       uint64 // of the transaction that made the change
	Timestamp int64  // second of the change, since 1970
	Item      Item   // what the change made; zero for a delete or an expiry

	// PreviousLSN is that of the version which was replaced or deleted, Previous the version itself, nil
	// where it is not kept. Both are of AllVersions alone.
	PreviousLSN uint64
	Previous    *Item
	// Key is that of the item which was deleted or has expired.
	Key Key

	c *Container
}

// String names the kind as Cosmos DB does: an expiry is a delete there.
func (k ChangeKind) String() string {
	switch k {
	case ChangeCreate:
		return "create"
	case ChangeReplace:
		return "replace"
	case ChangeDelete, ChangeExpire:
		return "delete"
	}
	return "latest"
}

// AppendJSON appends the change as Cosmos DB's feeds show it: of LatestVersions the document with the system
// property _lsn, of AllVersions an object of current, previous and metadata.
func (ch *Change) AppendJSON(dst []byte) []byte {
	if ch.Kind == ChangeLatest {
		sys := ch.Item.system()
		sys.LSN = ch.LSN
		return sys.Append(dst, ch.Item.body)
	}
	return ch.AppendSeparately(dst)
}

// AppendSeparately appends an object of current, previous and metadata in either mode: what clients ask for
// that read both feeds alike.
func (ch *Change) AppendSeparately(dst []byte) []byte {
	dst = append(dst, `{"current":`...)
	if ch.gone() {
		dst = append(dst, "{}"...)
	} else {
		dst = ch.Item.AppendJSON(dst)
	}
	if ch.Previous != nil {
		dst = ch.Previous.AppendJSON(append(dst, `,"previous":`...))
	}
	return append(ch.appendMetadata(append(dst, `,"metadata":`...)), '}')
}

// gone reports whether there is no item after the change.
func (ch *Change) gone() bool { return ch.Kind == ChangeDelete || ch.Kind == ChangeExpire }

func (ch *Change) appendMetadata(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"crts":`...), ch.Timestamp, 10)
	dst = strconv.AppendUint(append(dst, `,"lsn":`...), ch.LSN, 10)
	if ch.Kind == ChangeLatest { // what it came from is not known
		return append(dst, '}')
	}
	dst = append(append(dst, `,"operationType":"`...), ch.Kind.String()...)
	dst = strconv.AppendUint(append(dst, `","previousImageLSN":`...), ch.PreviousLSN, 10)
	if ch.Kind == ChangeExpire {
		dst = append(dst, `,"timeToLiveExpired":true`...)
	}
	if ch.gone() {
		dst = jsondoc.AppendString(append(dst, `,"id":`...), ch.Key.ID)
		dst = append(dst, `,"partitionKey":{`...)
		first := true
		for i, v := range ch.Key.Partition.Values() {
			if v.Kind() == jsondoc.Undefined {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = jsondoc.AppendString(dst, ch.c.def.Paths[i][len("/"):])
			dst = append(append(dst, ':'), v.Raw()...)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// fillVersions is fill in the feed of all versions.
func (f *feedReader) fillVersions(src *source, at *layout.Sequence) (err error) {
	window := src.st.retention()
	if window == 0 {
		return fault.New(fault.CodeBadRequest,
			"The container keeps no feed of all versions and deletes: its change feed policy has no retention.")
	}
	oldest := src.now - window // what was written in this second or before is outside of the window
	start := &f.req.Start
	fromKept := start.Kept && at.LSN() == 0
	switch {
	case start.Now:
		return nil
	case start.After == "" && !start.Kept && f.since < oldest:
		return outsideRetention()
	}
	it := src.r.Scan(layout.Behind(src.s.scope, layout.FamilyVersions, *at), false)
	ended := false
	for err == nil && it.Next() {
		seq := layout.KeySequence(it.Key())
		if ended = f.ended(src, seq, at); ended {
			break
		}
		var v layout.Version
		if v, err = layout.DecodeVersion(it.Value()); err != nil {
			break
		}
		switch outside := v.Kind == layout.Floor || v.TS <= oldest; {
		case v.TS <= f.since || outside && fromKept:
		case outside:
			err = outsideRetention()
		case src.sp.wantsVersion(&v):
			err = f.addVersion(src.st, seq, &v)
		}
		*at = seq
	}
	if fromKept && !ended && at.LSN() == 0 {
		*at = layout.LastOf(src.at.LSN) // what comes and is not kept any more when it is read is missed
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

func outsideRetention() error {
	return fault.New(fault.CodeBadRequest, "You must read the change feed from within the retention period.")
}

// wantsVersion reports whether a version is in the scope.
func (sp *span) wantsVersion(v *layout.Version) bool {
	return sp.wants(v.EPK) && bytes.HasPrefix(v.EPK, sp.epk) && bytes.HasPrefix(v.PK, sp.pk)
}

// addVersion adds a change with its images. Its slices outlive the page's snapshot.
func (f *feedReader) addVersion(st *containerState, seq layout.Sequence, v *layout.Version) error {
	ch := Change{Kind: ChangeKind(v.Kind), Timestamp: v.TS, PreviousLSN: v.Previous.Sequence.LSN(), c: f.c}
	if ch.gone() {
		key, err := decodeKey(v.PK)
		if err != nil {
			return err
		}
		ch.Key = Key{Partition: key, ID: v.ID}
	} else {
		ch.Item = f.c.imageItem(v, layout.Image{Slot: v.Slot, Sequence: seq, TS: v.WrittenAt(), Body: v.Body})
	}
	if len(v.Previous.Body) > 0 && st.showsPrevious(v.Kind) {
		previous := f.c.imageItem(v, v.Previous)
		ch.Previous = &previous
	}
	f.add(ch, len(v.Body)+len(v.Previous.Body), v.Last)
	return nil
}

// showsPrevious reports whether the feed of all versions has the version before a change of a kind. A
// definition that does not say shows all that are kept.
func (st *containerState) showsPrevious(kind uint8) bool {
	mode, given := st.spec.PreviousImages()
	if kind == layout.Replaced {
		return !given || mode&definition.PreviousOfReplace != 0
	}
	return !given || mode&definition.PreviousOfDelete != 0
}

// imageItem makes an item of an image of a version.
func (c *Container) imageItem(v *layout.Version, i layout.Image) Item {
	head := layout.Header{Slot: i.Slot, Sequence: i.Sequence, EPK: bytes.Clone(v.EPK)}
	head.Life.TS = i.TS
	return Item{c: c, rid: v.RID, head: head, body: bytes.Clone(i.Body)}
}

// decodeKey reads a partition key as it is stored.
func decodeKey(pk []byte) (definition.PartitionKey, error) {
	key, err := definition.DecodeOrdered(pk)
	if err != nil {
		return key, fmt.Errorf("%w: a partition key: %v", engine.ErrCorrupt, err)
	}
	return key, nil
}
