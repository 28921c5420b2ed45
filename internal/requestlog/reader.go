package requestlog

import (
	"cmp"
	"context"
	"slices"
)

// Reader reads the entries of a log in order. It is not safe for concurrent use.
type Reader struct {
	log      *Log
	filter   Filter
	after    uint64
	attempts *attemptGrouper
	lost     bool // the initial position was not the number of an entry of this log
}

// Read returns a reader of the entries after a number. With 0 it reads all entries in the log. It also
// examines earlier entries, because they may contain first attempts of operations. A number that the log has
// not assigned yet is from before a restart; the reader then begins at 0.
func (l *Log) Read(after uint64, f Filter) *Reader {
	r := &Reader{log: l, filter: f, attempts: newAttemptGrouper()}
	switch {
	case after > l.last.Load(): // a position from before a restart
		r.lost = true
	case after > 0:
		r.take(after)
		r.after = after
	}
	return r
}

// Position returns the number of the last entry that the reader has examined.
func (r *Reader) Position() uint64 { return r.after }

// Next returns the selected entries added since the last call, without their bodies and headers. lost
// reports whether some were overwritten.
func (r *Reader) Next() (list []*RetrievedEntry, lost bool) {
	list, lost = r.take(0)
	r.lost = false
	return list, lost
}

// take returns the selected entries whose numbers are greater than the reader's position, and advances the
// position. If most is not 0, it reads only entries up to that number. lost reports whether entries after the
// position were overwritten before they could be read.
func (r *Reader) take(most uint64) (list []*RetrievedEntry, lost bool) {
	var all []entryFilterResult
	upTo, lost := r.log.each(r.after, func(e encodedEntry) {
		if most != 0 && e.id() > most {
			return
		}
		record := e.decode()
		one := entryFilterResult{record: record, key: r.attempts.key(record)}
		one.matches = r.filter.matches(record)
		record.RequestBody, record.ResponseBody, record.Request, record.Response = nil, nil, nil, nil
		all = append(all, one)
	})
	slices.SortFunc(all, func(a, b entryFilterResult) int { return cmp.Compare(a.record.ID, b.record.ID) })
	for _, one := range all {
		r.attempts.add(one.record, one.key)
		if one.matches {
			list = append(list, one.record)
		}
	}
	r.after = upTo
	return list, lost || r.lost
}

// entryFilterResult is a decoded log entry and whether it matches the filter. Its headers and bodies have
// been dropped; what the reader needs from them (matches and key) was computed before.
type entryFilterResult struct {
	record  *RetrievedEntry
	key     uint64 // the result of attemptGrouper.key
	matches bool
}

// Changed returns a channel that is closed when Next may return new entries.
func (r *Reader) Changed() <-chan struct{} {
	come := r.log.wait()
	if r.log.last.Load() == r.after {
		return come
	}
	ready := make(chan struct{})
	close(ready)
	return ready
}

// Wait waits until Next may return new entries, or ctx ends.
func (r *Reader) Wait(ctx context.Context) error {
	select {
	case <-r.Changed():
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
