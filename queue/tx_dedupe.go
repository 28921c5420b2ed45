package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// The ids of accepted messages are stored with the time at which the message was accepted. A lookup compares
// that time with the current duplicate detection window, so nothing has to be rewritten if the window is
// changed.

// seen reports whether a message with an id has been accepted within the duplicate detection window. If not,
// it stores the id with the current time.
func (w *messageTx) seen(p *messageStoreTransactionPart, id string, window time.Duration) (bool, error) {
	key := p.Keys.TextKey(layout.FamilySeen, id)
	v, err := w.Get(key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return false, err
	}
	if err == nil {
		if len(v) != 16 {
			return false, fmt.Errorf("%w: the record of a message id has %d bytes", engine.ErrCorrupt, len(v))
		}
		at, n := int64(binary.BigEndian.Uint64(v)), int64(binary.BigEndian.Uint64(v[8:]))
		if w.now < at+millis(window) {
			return true, nil
		}
		w.Delete(p.Keys.MomentKey(layout.FamilySeenAt, at, n))
	}
	p.Seen++
	v = binary.BigEndian.AppendUint64(nil, uint64(w.now))
	w.Set(key, binary.BigEndian.AppendUint64(v, uint64(p.Seen)))
	w.Set(p.Keys.MomentKey(layout.FamilySeenAt, w.now, p.Seen), []byte(id))
	p.dirty = true
	return false, nil
}

// forgetSeen removes the message ids that were accepted before the duplicate detection window, at most limit,
// and returns their number n. more reports whether others are left. next is the time at which the next id
// leaves the window, or host.Never if there is none.
func (s *inMemoryMessageStoreState) forgetSeen(ctx context.Context,
	limit int) (n int, more bool, next int64, err error) {
	window := millis(s.e.properties.Load().DuplicateDetectionWindow)
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		next, err = host.FirstAfter(r, s.Keys.Family(layout.FamilySeenAt), -1)
		return err
	})
	if next = saturate(next, window); err != nil || next > s.now() {
		return 0, false, next, wrap(err)
	}
	err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) (err error) {
		n, next, err = w.forgetSeen(s, window, limit)
		return err
	})
	return n, next <= s.now(), next, err
}

func (w *messageTx) forgetSeen(s *inMemoryMessageStoreState, window int64,
	limit int) (n int, next int64, err error) {
	p, err := w.partOf(s)
	if err != nil {
		return 0, 0, err
	}
	prefix := s.Keys.Family(layout.FamilySeenAt)
	next = host.Never
	it := engine.Expect(w.Scan(engine.Prefix(prefix), false), limit+1)
	for it.Next() {
		e, err := host.ParseEntry(len(prefix), it.Key())
		if err != nil {
			it.Close()
			return 0, 0, err
		}
		if at := saturate(e.At, window); at > w.now || n == limit {
			next = at
			break
		}
		w.Delete(p.Keys.TextKey(layout.FamilySeen, string(it.Value())))
		w.Delete(it.Key())
		n, p.dirty = n+1, true
	}
	return n, next, it.Close()
}

// saturate adds a duration to a time, both in milliseconds. It returns host.Never if at is host.Never or if
// the sum overflows.
func saturate(at, d int64) int64 {
	if at == host.Never || d > host.Never-at {
		return host.Never
	}
	return at + d
}
