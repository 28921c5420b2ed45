package feed

import (
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// ExpiryEvent is one entry of a container's log of expiries.
type ExpiryEvent struct {
	Key value.ItemKey
	// ExpiredAt is the second from which on the item was expired, since 1970. If the container's default
	// time to live was changed after the item expired and before the reaper found it, ExpiredAt may be
	// the second of that change.
	ExpiredAt int64
	Range     string     // id of the partition range
	LSN       uint64     // of the transaction that made the entry, in its range
	Sequence  uint64     // of the entry: rises from entry to entry and is unique in the range
	Item      value.Item // as of its last write
	Position  string     // just after this entry: for the next call of Expirations
}

// AppendJSON appends the expiration as {"id", "partitionKey": [...], "expiredAt", "lsn", "sequence", "range",
// "document"}.
func (e *ExpiryEvent) AppendJSON(dst []byte) []byte {
	dst = jsondoc.AppendString(append(dst, `{"id":`...), e.Key.ID)
	dst = append(dst, `,"partitionKey":[`...)
	for i, v := range e.Key.Partition.Values() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind() == jsondoc.Undefined {
			dst = append(dst, "{}"...) // clients send {} in the partition key header for an absent value
		} else {
			dst = append(dst, v.Raw()...)
		}
	}
	dst = strconv.AppendInt(append(dst, `],"expiredAt":`...), e.ExpiredAt, 10)
	dst = strconv.AppendUint(append(dst, `,"lsn":`...), e.LSN, 10)
	dst = strconv.AppendUint(append(dst, `,"sequence":`...), e.Sequence, 10)
	dst = jsondoc.AppendString(append(dst, `,"range":`...), e.Range)
	return append(e.Item.AppendJSON(append(dst, `,"document":`...)), '}')
}

// ExpiryLogPage is a page of the log of expiries. Inside a partition range its entries are in the order of
// their sequences.
type ExpiryLogPage struct {
	Expirations []ExpiryEvent // empty: nothing has expired after the position
	Position    string        // where the next page begins
	// Lost reports whether entries after the requested position are no longer kept, because the position
	// is older than the log's retention or than the log itself.
	Lost bool
}

// KeepsLog returns an error with CodeBadRequest if a container keeps no log of expiries, and nil if it
// keeps one.
func KeepsLog(state *view.ContainerAtTime) error {
	if !state.Logs {
		return fault.New(fault.CodeBadRequest,
			"The container keeps no log of expiries: its settings have no 'expiryEvents'.")
	}
	return nil
}

// ExpiryLogReader fills one page of the log of expiries.
type ExpiryLogReader struct {
	Owner  value.ContainerStateProvider // owner of the items
	Ranges []*view.PartitionRange       // the container's ranges
	At     []uint64                     // by range: the sequence of the last entry read; Fill advances it
	Share  int                          // maximum number of entries of one range, so that none fills it
	Page   ExpiryLogPage

	bytes int
}

// Fill adds entries of the i-th range to the page, after the position At[i], and advances that position. src
// gives access to the range.
func (r *ExpiryLogReader) Fill(src *scan.DocumentSource, i int) error {
	if err := KeepsLog(src.State); err != nil {
		return err
	}
	if layout.WriteSequence(r.At[i]).LSN() > src.At.LSN {
		return fault.New(fault.CodeBadRequest,
			"The position in the log of expiries is ahead of this store: it was given by another one, or before it was restored.")
	}
	asked := r.At[i]
	oldest := src.State.Now - src.State.Expiries
	it := src.Reader.Scan(layout.Behind(src.Range.Scope, layout.FamilyExpired, layout.WriteSequence(asked)),
		false)
	var err error
	for n := 0; err == nil && n < r.Share && r.bytes < value.MaxPageBytes && it.Next(); {
		seq := layout.KeySequence(it.Key())
		var e layout.ExpiryLogEntry
		if e, err = layout.DecodeExpiry(it.Value()); err != nil {
			break
		}
		r.At[i] = uint64(seq)
		if e.Kind == layout.Floor || e.TS <= oldest {
			r.Page.Lost = r.Page.Lost || asked > 0
			continue
		}
		n++
		err = r.add(src, seq, &e)
	}
	src.Seen = layout.WriteSequence(r.At[i]).LSN() // so that the next page does not begin ahead of what is durable
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// add appends a copy of an entry, which stays valid after the page's snapshot is closed.
func (r *ExpiryLogReader) add(src *scan.DocumentSource, seq layout.WriteSequence,
	e *layout.ExpiryLogEntry) error {
	key, err := keyOf(e.PK)
	if err != nil {
		return err
	}
	item := imageItem(r.Owner, &e.AllVersionsFeedEntry, e.Previous)
	r.bytes += len(item.Body())
	r.Page.Expirations = append(r.Page.Expirations, ExpiryEvent{
		Key: value.ItemKey{Partition: key, ID: e.ID}, ExpiredAt: e.At, Item: item,
		Range: src.Range.ID, LSN: e.Last.LSN(), Sequence: uint64(seq),
		Position: FormatPositions(r.Ranges, r.At),
	})
	return nil
}
