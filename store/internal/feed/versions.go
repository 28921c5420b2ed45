package feed

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Change is one entry of a change feed.
type Change struct {
	Kind      ChangeKind
	LSN       uint64     // of the change's transaction
	Timestamp int64      // second of the change, since 1970
	Item      value.Item // the item after the change; the zero Item for a delete or an expiry

	// PreviousLSN is the LSN of the version that was replaced or deleted. Previous is that version, nil
	// if it is not kept. Only AllVersions sets them.
	PreviousLSN uint64
	Previous    *value.Item
	// Key is the key of the item that was deleted or has expired.
	Key value.ItemKey

	def *definition.PartitionKeyDefinition
}

// String returns the name of the kind in Cosmos DB's feeds, or "latest" for Latest. An expiry has the name
// "delete", like a delete.
func (k ChangeKind) String() string {
	switch k {
	case Create:
		return "create"
	case Replace:
		return "replace"
	case Delete, Expire:
		return "delete"
	}
	return "latest"
}

// AppendJSON appends the change in the form of Cosmos DB's feeds: for LatestVersions the document with
// the system property _lsn, for AllVersions an object with current, previous and metadata.
func (ch *Change) AppendJSON(dst []byte) []byte {
	if ch.Kind == Latest {
		return ch.Item.AppendChanged(dst, ch.LSN)
	}
	return ch.AppendSeparately(dst)
}

// AppendSeparately appends the change as an object with the members current, previous and metadata, for
// clients that ask for this form. The feed of latest versions and that of all versions both use it.
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

// gone reports whether the change has removed the item.
func (ch *Change) gone() bool { return ch.Kind == Delete || ch.Kind == Expire }

func (ch *Change) appendMetadata(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"crts":`...), ch.Timestamp, 10)
	dst = strconv.AppendUint(append(dst, `,"lsn":`...), ch.LSN, 10)
	if ch.Kind == Latest { // the latest-version feed does not record the operation
		return append(dst, '}')
	}
	dst = append(append(dst, `,"operationType":"`...), ch.Kind.String()...)
	dst = strconv.AppendUint(append(dst, `","previousImageLSN":`...), ch.PreviousLSN, 10)
	if ch.Kind == Expire {
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
			dst = jsondoc.AppendString(dst, ch.def.Paths[i][len("/"):])
			dst = append(append(dst, ':'), v.Raw()...)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// fillVersions reads the feed of all versions of one range, from the position *at on.
func (f *Reader) fillVersions(src *scan.DocumentSource, at *layout.WriteSequence) (err error) {
	window := src.State.Versions
	if window == 0 {
		return fault.New(fault.CodeBadRequest,
			"The container keeps no feed of all versions and deletes: its change feed policy has no retention.")
	}
	oldest := src.State.Now - window // changes in this second or earlier are outside the retention
	start := &f.Start
	fromKept := start.Kept && at.LSN() == 0
	switch {
	case start.Now:
		return nil
	case start.After == "" && !start.Kept && f.since < oldest:
		return outsideRetention()
	}
	it := src.Reader.Scan(layout.Behind(src.Range.Scope, layout.FamilyVersions, *at), false)
	ended := false
	for err == nil && it.Next() {
		seq := layout.KeySequence(it.Key())
		if ended = f.ended(src, seq, at); ended {
			break
		}
		var v layout.AllVersionsFeedEntry
		if v, err = layout.DecodeVersion(it.Value()); err != nil {
			break
		}
		switch outside := v.Kind == layout.Floor || v.TS <= oldest; {
		case v.TS <= f.since || outside && fromKept:
		case outside:
			err = outsideRetention()
		case src.Span.ContainsVersion(&v):
			err = f.addVersion(src.State, seq, &v)
		}
		*at = seq
	}
	if fromKept && !ended && at.LSN() == 0 {
		*at = layout.LastOf(src.At.LSN) // otherwise the next read could miss changes unnoticed
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

func outsideRetention() error {
	return fault.New(fault.CodeBadRequest, "You must read the change feed from within the retention period.")
}

// addVersion adds a change with its current and previous version. The slices of the change stay valid after
// the page's snapshot is closed.
func (f *Reader) addVersion(state *view.ContainerAtTime, seq layout.WriteSequence,
	v *layout.AllVersionsFeedEntry) error {
	ch := Change{Kind: ChangeKind(v.Kind), Timestamp: v.TS, PreviousLSN: v.Previous.Sequence.LSN(),
		def: &state.Keys.Def}
	if ch.gone() {
		key, err := keyOf(v.PK)
		if err != nil {
			return err
		}
		ch.Key = value.ItemKey{Partition: key, ID: v.ID}
	} else {
		ch.Item = imageItem(f.Owner, v,
			layout.PreviousImage{Range: v.Range, Sequence: seq, TS: v.WrittenAt(), Body: v.Body})
	}
	if len(v.Previous.Body) > 0 && showsPrevious(state.Spec, v.Kind) {
		previous := imageItem(f.Owner, v, v.Previous)
		ch.Previous = &previous
	}
	f.add(ch, len(v.Body)+len(v.Previous.Body), v.Last)
	return nil
}

// showsPrevious reports whether the feed of all versions includes the previous version of a change of
// this kind. If the container's definition has no setting for it, all previous versions that are kept are
// included.
func showsPrevious(spec *definition.ContainerSpec, kind uint8) bool {
	mode, given := spec.PreviousImages()
	if kind == layout.Replaced {
		return !given || mode&definition.PreviousOfReplace != 0
	}
	return !given || mode&definition.PreviousOfDelete != 0
}

// imageItem converts i, one of the two versions of an item that the feed entry v contains (the current and
// the previous one), to an Item. The parameter of provides the state of the Item's container.
func imageItem(of value.ContainerStateProvider, v *layout.AllVersionsFeedEntry,
	i layout.PreviousImage) value.Item {
	head := layout.ItemHeader{Range: i.Range, Sequence: i.Sequence, EPK: bytes.Clone(v.EPK)}
	head.Life.TS = i.TS
	return value.NewItem(of, v.RID, head, bytes.Clone(i.Body), "")
}

// keyOf decodes a stored partition key.
func keyOf(pk []byte) (definition.PartitionKey, error) {
	key, err := definition.DecodeOrdered(pk)
	if err != nil {
		return key, fmt.Errorf("%w: a partition key: %v", engine.ErrCorrupt, err)
	}
	return key, nil
}
