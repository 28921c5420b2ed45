package host

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
)

// A deadline index orders items by a moment: their expiry, or their last write if all of them have the same
// time to live.
//
//	+--------+--------+----+
//	| prefix | moment | id |   no value
//	+--------+--------+----+
//	             8       8
//
// The moment is not negative. Its unit is chosen by the tenant: seconds or milliseconds since 1970. The host
// only compares moments.

// DeadlineIndexEntry is an entry of an index that orders objects by a moment: At is the moment of the expiry
// or of the last write of the object with the number ID.
type DeadlineIndexEntry struct {
	At int64
	ID uint64
}

const entryLen = 16

// AppendEntry appends e, encoded as the end of a key in a deadline index, to dst, which holds the prefix of
// the index: the moment and the object's number, 8 bytes each, big-endian.
func AppendEntry(dst []byte, e DeadlineIndexEntry) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(e.At)), e.ID)
}

// ParseEntry decodes the key of an entry of a deadline index; prefix is the length of the index's prefix in
// bytes. It returns engine.ErrCorrupt if the key is not an entry.
func ParseEntry(prefix int, key []byte) (DeadlineIndexEntry, error) {
	if len(key) != prefix+entryLen {
		return DeadlineIndexEntry{}, fmt.Errorf("%w: the key %x of a deadline", engine.ErrCorrupt, key)
	}
	return DeadlineIndexEntry{int64(binary.BigEndian.Uint64(key[prefix:])),
		binary.BigEndian.Uint64(key[prefix+8:])}, nil
}

// EachDue calls fn with the entries of a deadline index up to the moment upto, in order, until fn returns an
// error or more is false. To continue later where a call has stopped, use a SweepPassPosition.
func EachDue(r engine.Reader, prefix []byte, upto int64, fn func(DeadlineIndexEntry) (more bool,
	err error)) (err error) {
	if upto < 0 {
		return nil
	}
	rg := engine.Prefix(prefix)
	if upto < Never {
		rg.End = AppendEntry(append([]byte(nil), prefix...), DeadlineIndexEntry{At: upto + 1})
	}
	it := r.Scan(rg, false)
	for more := true; more && err == nil && it.Next(); {
		var e DeadlineIndexEntry
		if e, err = ParseEntry(len(prefix), it.Key()); err == nil {
			more, err = fn(e)
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// FirstAfter returns the moment of the first entry of a deadline index that is after at, or Never if there is
// none.
func FirstAfter(r engine.Reader, prefix []byte, at int64) (first int64, err error) {
	rg := engine.Prefix(prefix)
	rg.Start = AppendEntry(append([]byte(nil), prefix...), DeadlineIndexEntry{At: max(at, -1) + 1})
	it := engine.Expect(r.Scan(rg, false), 1)
	first = Never
	if it.Next() {
		var e DeadlineIndexEntry
		e, err = ParseEntry(len(prefix), it.Key())
		first = e.At
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return first, err
}
