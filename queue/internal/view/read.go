package view

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// ReadCounters reads the counters of the store, or returns CodeEntityNotFound if the store does not exist
// any more.
func (s *MessageStore) ReadCounters(r engine.Reader) (c layout.MessageStoreCounters, err error) {
	v, err := r.Get(s.Keys.Family(layout.FamilyCounters))
	if errors.Is(err, engine.ErrNotFound) {
		return c, s.NotFound()
	}
	if err != nil {
		return c, err
	}
	return layout.DecodeCounters(v)
}

// Header reads the header of a message; ok is false if there is no message.
func (s *MessageStore) Header(r engine.Reader, seq int64) (h layout.MessageHeader, ok bool, err error) {
	v, err := r.Get(s.Keys.Key(layout.FamilyMessage, seq))
	if errors.Is(err, engine.ErrNotFound) {
		return h, false, nil
	}
	if err == nil {
		h, err = layout.DecodeHeader(v)
	}
	return h, err == nil, err
}

// lookEvery is the number of keys after which an iteration checks its context.
const lookEvery = 256

// EachHeader calls fn with the header of each message, in the order of their sequence numbers, beginning at
// from. It stops if fn returns false or an error.
func (s *MessageStore) EachHeader(ctx context.Context, r engine.Reader, from int64,
	fn func(int64, layout.MessageHeader) (bool, error)) (err error) {
	rg := engine.Prefix(s.Keys.Family(layout.FamilyMessage))
	rg.Start = s.Keys.Key(layout.FamilyMessage, max(from, 0))
	it := r.Scan(rg, false)
	looked := 0
	for more := true; more && err == nil && it.Next(); {
		if looked++; looked%lookEvery == 0 && ctx.Err() != nil {
			err = ctx.Err()
			break
		}
		var h layout.MessageHeader
		if h, err = layout.DecodeHeader(it.Value()); err == nil {
			more, err = fn(layout.SeqOf(it.Key()), h)
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// FirstOf returns the first sequence number not less than from among the keys with a prefix, or 0 if there
// is none.
func FirstOf(r engine.Reader, prefix []byte, from int64) (seq int64, err error) {
	rg := engine.Prefix(prefix)
	rg.Start = layout.AppendSeq(prefix, from)
	it := engine.Expect(r.Scan(rg, false), 1)
	if it.Next() {
		seq = layout.SeqOf(it.Key())
	}
	return seq, it.Close()
}

// FirstReady returns the lowest n sequence numbers of active messages among the keys with a prefix that
// ReadyPrefix has returned.
func FirstReady(r engine.Reader, prefix []byte, n int) (list []int64, err error) {
	it := engine.Expect(r.Scan(engine.Prefix(prefix), false), n)
	for len(list) < n && it.Next() {
		list = append(list, layout.SeqOf(it.Key()))
	}
	return list, it.Close()
}
