package queue

import (
	"bytes"
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// How a receive takes messages. It looks for candidates in one view, claims them in memory as it meets
// them, and reads them again in a second view, which comes after the claims: what somebody else has settled
// between the view and the claim is gone there, and nobody else can touch the rest from the claim on. So a
// message is never handed out twice.

const (
	maxReceived = 4 << 20 // bytes of messages that one look returns, but for one message
	maxLook     = 256     // messages that a receive looks at together
	maxPurge    = 32      // expired ones that it purges in passing
)

// stored is a message that was read.
type stored struct {
	*claim // nil: it was looked at without one
	seq    int64
	layout.Header
	body []byte
}

// take takes up to max messages that can be received now.
func (r *Receiver) take(ctx context.Context, max int, paid int64) (list []Delivery, need int64, err error) {
	s := r.s
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	now := s.now()
	if last := s.lastReceived.Swap(now); now-last >= lazyAfter && s.e.m.opts.LazyExpiry {
		s.e.m.in.WakeReaper() // which has left the store alone
	}
	s.e.touch(now)
	if err := s.catchUp(ctx); err != nil {
		return nil, 0, err
	}
	size := 0
	for look := min(max, maxLook); len(list) < max && size < maxReceived; look = min(2*look, maxLook) {
		n := min(max-len(list), maxLook)
		if len(list) == 0 {
			n = look // what has expired may be many
		}
		claims, err := r.claimNext(ctx, n)
		var got []Delivery
		if err == nil && len(claims) > 0 {
			got, need, err = r.receive(ctx, claims, max-len(list), paid)
		}
		for i := range got {
			size += got[i].Message.Size()
		}
		list = append(list, got...)
		if err != nil && len(list) == 0 {
			return nil, 0, err
		}
		if err != nil || len(claims) == 0 || need > 0 || paid > 0 && len(list) > 0 {
			break // what has been taken before is the receiver's
		}
	}
	return list, need, nil
}

// claimNext claims the next messages in the order of their numbers, n at most. Some of them may be gone, or
// not to be received, by the time that they are claimed.
func (r *Receiver) claimNext(ctx context.Context, n int) (list []*claim, err error) {
	s := r.s
	s.mu.Lock()
	if r.err != nil {
		s.mu.Unlock()
		return nil, r.err
	}
	p := r.place()
	list = s.popReturned(p, r, n)
	from, moves, last := p.next, p.moves, int64(-1)
	s.mu.Unlock()
	if len(list) == n {
		return list, nil
	}
	rg := engine.Prefix(r.readyPrefix())
	rg.Start = layout.AppendSeq(rg.Start, from)
	err = s.e.m.in.Engine().View(ctx, func(v engine.Reader) error {
		it := engine.Expect(v.Scan(rg, false), n-len(list))
		for looked := 1; len(list) < n && it.Next(); looked++ {
			if looked%maxLook == 0 && ctx.Err() != nil {
				break
			}
			last = layout.SeqOf(it.Key())
			s.mu.Lock()
			if c := s.claim(last, r); c != nil {
				list = append(list, c)
			}
			s.mu.Unlock()
		}
		return it.Close()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, c := range list {
			s.unclaim(c)
		}
		return nil, wrap(err)
	}
	if last >= 0 {
		p.advance(last, moves)
	}
	return list, nil
}

// readyPrefix is what it walks along.
func (r *Receiver) readyPrefix() []byte {
	if r.lock != nil {
		return r.s.readyPrefix(r.lock.id)
	}
	return r.s.readyPrefix("")
}

// receive reads what has been claimed and hands out those that are alive, max at most.
// need says for how many bytes there is no room, where that keeps it from handing out any.
func (r *Receiver) receive(ctx context.Context, claims []*claim, max int, paid int64) (out []Delivery,
	need int64, err error) {
	s := r.s
	look := claimReader{s: s, now: s.now(), state: layout.Active, max: max, room: r.o.Room, paid: paid}
	live, err := look.read(ctx, claims)
	if err == nil {
		err = s.purgeMet(ctx, look.expired)
	}
	if err != nil {
		s.release(live)
		look.giveBack()
		return nil, 0, err
	}
	if out, err = s.handOut(ctx, live, r.o.Mode); err != nil {
		look.giveBack()
		return nil, 0, err
	}
	for i := range out {
		if r.o.Room != nil {
			out[i].room, out[i].held = r.o.Room, live[i].Size
			if look.large {
				out[i].held, out[i].large = paid, true
			}
		}
	}
	return out, look.need, nil
}

// handOut locks messages that have been claimed, or deletes them. It ends their claims where it fails.
func (s *messageStore) handOut(ctx context.Context, list []stored, mode Mode) (out []Delivery, err error) {
	out = make([]Delivery, len(list))
	for i := range list {
		if out[i], err = s.delivery(&list[i]); err != nil {
			break
		}
	}
	switch {
	case err != nil || len(list) == 0:
	case mode == ReceiveAndDelete:
		err = s.removeAll(ctx, list, out)
	default:
		err = s.lockAll(list, out)
	}
	if err != nil {
		s.release(list)
		return nil, wrap(err)
	}
	return out, nil
}

// claimReader reads messages that are claimed, and returns those that may be handed out.
type claimReader struct {
	s     *messageStore
	now   int64
	state layout.State // that they must be in
	max   int          // of them
	all   bool         // whatever they are in bytes, and whether they have expired
	room  Room         // that their bodies have; nil: none
	held  int64        // bytes of it
	need  int64        // bytes for which there is none
	paid  int64        // bytes of it that were taken for one message; 0: none
	large bool         // that message is read

	expired []*claim
	missing []*claim
}

// read returns the messages that are there and alive. The claims on those that are gone, or expired, it
// ends or notes; those that are too many it gives back.
func (l *claimReader) read(ctx context.Context, claims []*claim) (live []stored, err error) {
	s := l.s
	settled := false
	var rest []*claim
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		at, err := r.Positions([][]byte{s.e.scope})
		if err != nil {
			return err
		}
		settled = at[0].Settled
		if live, err = l.headers(r, claims); err == nil {
			live, rest, err = l.bodies(r, live)
		}
		return err
	})
	if err == nil && !settled {
		err = s.e.m.in.Engine().Settle(ctx, s.e.scope, 0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, c := range claims {
			s.unclaim(c)
		}
		return nil, wrap(err)
	}
	for _, c := range rest {
		s.unclaim(c)
	}
	for _, c := range l.missing {
		s.forget(c)
	}
	return live, nil
}

// headers reads what the broker knows of the messages.
func (l *claimReader) headers(r engine.Reader, claims []*claim) (live []stored, err error) {
	keys := make([][]byte, len(claims))
	for i, c := range claims {
		keys[i] = l.s.keys.Key(layout.FamilyMessage, c.seq)
	}
	l.expired, l.missing = nil, nil
	err = engine.GetEach(r, keys, func(i int, v []byte) (bool, error) {
		if v == nil {
			l.missing = append(l.missing, claims[i])
			return true, nil
		}
		h, err := layout.DecodeHeader(v)
		switch {
		case err != nil:
			return false, err
		case h.State != l.state:
			l.missing = append(l.missing, claims[i])
		case !l.all && l.s.expired(&h, l.now):
			l.expired = append(l.expired, claims[i])
		default:
			live = append(live, stored{claim: claims[i], seq: claims[i].seq, Header: h})
		}
		return true, nil
	})
	return live, err
}

// bodies reads what the senders wrote, as far as there is room for it.
func (l *claimReader) bodies(r engine.Reader, list []stored) (live []stored, rest []*claim, err error) {
	keys, bytesOf := make([][]byte, 0, len(list)), int64(0)
	for i := range list {
		bytesOf += list[i].Size
		if i > 0 && !l.all && (i == l.max || bytesOf > maxReceived) {
			break
		}
		keys = append(keys, l.s.keys.Key(layout.FamilyBody, list[i].seq))
	}
	keys = keys[:l.fit(list[:len(keys)])]
	for _, m := range list[len(keys):] {
		rest = append(rest, m.claim)
	}
	list = list[:len(keys)]
	err = engine.GetEach(r, keys, func(i int, v []byte) (bool, error) {
		if v == nil {
			return false, l.s.corrupt(list[i].seq, "has no body")
		}
		list[i].body = bytes.Clone(v)
		return true, nil
	})
	return list, rest, err
}

// fit takes the room for messages, for as many of them as there is, and says how many that are.
func (l *claimReader) fit(list []stored) int {
	l.giveBack()
	l.need, l.large = 0, false
	if l.room == nil || len(list) == 0 {
		return len(list)
	}
	if l.paid >= list[0].Size {
		l.large = true
		return 1
	}
	for i := range list {
		if !l.room.TryTake(list[i].Size) {
			if i == 0 {
				l.need = list[i].Size
			}
			return i
		}
		l.held += list[i].Size
	}
	return len(list)
}

// giveBack gives the room back that was taken.
func (l *claimReader) giveBack() {
	if l.held > 0 {
		l.room.Give(l.held)
		l.held = 0
	}
}

// removeAll deletes messages that have been claimed, durably. It ends the claims unless it fails.
func (s *messageStore) removeAll(ctx context.Context, list []stored, out []Delivery) error {
	err := s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *work) error {
		p, err := w.in(s)
		if err != nil {
			return err
		}
		for i := range list {
			if err := w.take(p, list[i].seq, &list[i].Header); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		out[i].Token = newToken()
		s.forget(list[i].claim)
	}
	return nil
}

// lockAll makes locks of claims.
func (s *messageStore) lockAll(list []stored, out []Delivery) error {
	until := saturate(s.now(), millis(s.e.properties.Load().LockDuration))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	if l := list[0].session; l != nil && l.lost {
		return s.sessionLost()
	}
	for i := range list {
		c := list[i].claim
		s.lock(c, until)
		out[i].Token, out[i].Broker.LockedUntil = c.token, c.lapses()
		if c.session != nil { // whose lock it is: that of the message has no end
			out[i].Broker.LockedUntil = message.LastMoment
		}
		out[i].Broker.LockToken = &out[i].Token
	}
	return nil
}

// release ends claims on messages that are there to be received.
func (s *messageStore) release(list []stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range list {
		s.unclaim(m.claim)
	}
}
