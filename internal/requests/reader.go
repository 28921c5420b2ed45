package requests

import (
	"cmp"
	"context"
	"slices"
)

// Reader reads the entries of a log in their order, as they come. It is used by one goroutine.
type Reader struct {
	log    *Log
	filter Filter
	after  uint64
	folder *folder
	lost   bool // the position that the reader began at is none of this log
}

// Read makes a reader of the entries after a number, 0 for all that are kept. It looks at the entries before,
// too, since the first attempts of an operation may be there. A number that the log has not given yet is
// one of an earlier start: then the reader begins at 0.
func (l *Log) Read(after uint64, f Filter) *Reader {
	r := &Reader{log: l, filter: f, folder: newFolder()}
	switch {
	case after > l.last.Load(): // a position of an earlier start
		r.lost = true
	case after > 0:
		r.take(after)
		r.after = after
	}
	return r
}

// Position is the number of the last entry that the reader has passed.
func (r *Reader) Position() uint64 { return r.after }

// Next returns the wanted entries that have come since the last call, without their bodies and headers. lost
// reports that there were some that are not kept any more.
func (r *Reader) Next() (list []*Record, lost bool) {
	list, lost = r.take(0)
	r.lost = false
	return list, lost
}

// take reads all entries after the position, up to a number where that is not 0.
func (r *Reader) take(most uint64) (list []*Record, lost bool) {
	var all []seen
	upTo, lost := r.log.each(r.after, func(e encoded) {
		if most != 0 && e.id() > most {
			return
		}
		record := e.decode()
		one := seen{record: record, key: r.folder.key(record), wanted: r.filter.wants(record)}
		record.RequestBody, record.ResponseBody, record.Request, record.Response = nil, nil, nil, nil
		all = append(all, one)
	})
	slices.SortFunc(all, func(a, b seen) int { return cmp.Compare(a.record.ID, b.record.ID) })
	for _, one := range all {
		r.folder.add(one.record, one.key)
		if one.wanted {
			list = append(list, one.record)
		}
	}
	r.after = upTo
	return list, lost || r.lost
}

// seen is an entry whose headers and bodies have been looked at.
type seen struct {
	record *Record
	key    uint64 // of the folder
	wanted bool
}

// Come returns a channel that is closed when there may be something for Next.
func (r *Reader) Come() <-chan struct{} {
	come := r.log.wait()
	if r.log.last.Load() == r.after {
		return come
	}
	ready := make(chan struct{})
	close(ready)
	return ready
}

// Wait waits until there may be something for Next, or ctx ends.
func (r *Reader) Wait(ctx context.Context) error {
	select {
	case <-r.Come():
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
