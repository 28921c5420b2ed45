package queue

import (
	"bytes"
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// If locks are in memory, a receive reads messages twice. It looks for candidates in one snapshot of the
// engine and claims each in memory. It then reads them again in a second snapshot, which begins after the
// claims. A message that another operation has settled between the first read and the claim is missing in
// the second snapshot. All other messages are protected by their claims. Therefore a message is never handed
// out twice.

const (
	// maxReceived is the maximum size in bytes of the messages that one receive returns together; a single
	// message may be larger.
	maxReceived = 4 << 20
	maxLook     = 256 // messages that a receive claims at a time
	maxPurge    = 32  // expired messages that a receive purges
)

// storedMessage is a message with its header and body as they were read from the engine.
type storedMessage struct {
	*inMemoryMessageClaim // nil if the message was read without being claimed
	seq                   int64
	layout.MessageHeader
	body []byte
}

// take receives up to max messages that are available now. If the memory limit leaves too little memory for
// the first message, need is the number of bytes that it needs, otherwise 0; the caller takes them and
// calls again with paid set to that number.
func (r *Receiver) take(ctx context.Context, max int, paid int64) (list []Delivery, need int64, err error) {
	s := r.s
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	now := s.now()
	if last := s.lastReceived.Swap(now); now-last >= lazyAfter && s.e.m.opts.LazyExpiry {
		s.e.m.in.WakeReaper() // the reaper may have skipped this store
	}
	s.e.recordUse(now)
	if !s.e.m.shared { // in a shared engine, the transaction of the receive makes the due changes
		if err := s.catchUp(ctx); err != nil {
			return nil, 0, err
		}
	}
	size := 0
	for look := min(max, maxLook); len(list) < max && size < maxReceived; look = min(2*look, maxLook) {
		n := min(max-len(list), maxLook)
		if len(list) == 0 {
			n = look // read few messages at first, since all of them may have expired
		}
		got, err := s.messages.receive(ctx, r, n, max-len(list), paid)
		for i := range got.list {
			size += got.list[i].Message.Size()
		}
		list = append(list, got.list...)
		if err != nil && len(list) == 0 {
			return nil, 0, err
		}
		if need = got.need; err != nil || !got.more || need > 0 || paid > 0 && len(list) > 0 {
			break // messages received so far are returned without the error
		}
	}
	return list, need, nil
}

// claimNext claims up to n messages, in the order of their sequence numbers. The caller must read each
// claimed message again, because it may have been settled or changed after it was found and before it was
// claimed.
func (r *Receiver) claimNext(ctx context.Context, n int) (list []*inMemoryMessageClaim, err error) {
	s := r.s
	s.mu.Lock()
	if r.err != nil {
		s.mu.Unlock()
		return nil, r.err
	}
	p := r.cursor()
	if s.e.m.shared { // other servers make messages available as well, so begin at the first message
		p.Restart()
	}
	list = s.popReturned(p, r, n)
	last := int64(-1)
	from, moves := p.Position()
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
		p.Advance(last, moves)
	}
	return list, nil
}

// readyPrefix returns the prefix of the index keys in which the receiver looks for available messages:
// those of its session, or those of messages without a session.
func (r *Receiver) readyPrefix() []byte {
	if r.lock != nil {
		return r.s.ReadyPrefix(r.lock.id)
	}
	return r.s.ReadyPrefix("")
}

// receive reads claimed messages and hands out those that are available, at most max. paid is the number of
// bytes already taken from the memory limit for one large message. If the limit does not allow even the first
// message, need is the size of that message in bytes.
func (r *Receiver) receive(ctx context.Context, claims []*inMemoryMessageClaim, max int,
	paid int64) (out []Delivery, need int64, err error) {
	s := r.s
	look := claimedMessageReader{s: s, now: s.now(), state: layout.Active, max: max, memory: r.o.Memory,
		paid: paid}
	live, err := look.read(ctx, claims)
	if err == nil {
		err = s.purgeMet(ctx, look.expired)
	}
	if err != nil {
		s.unclaimAll(live)
		look.releaseMemory()
		return nil, 0, err
	}
	if out, err = s.deliver(ctx, live, r.o.Mode); err != nil {
		look.releaseMemory()
		return nil, 0, err
	}
	for i := range out {
		if r.o.Memory != nil {
			out[i].memory, out[i].held = r.o.Memory, live[i].Size
			if look.large {
				out[i].held, out[i].large = paid, true
			}
		}
	}
	return out, look.need, nil
}

// deliver locks claimed messages or, in ReceiveAndDelete mode, deletes them. If it fails, it ends the
// claims.
func (s *inMemoryMessageStoreState) deliver(ctx context.Context, list []storedMessage,
	mode ReceiveMode) (out []Delivery,
	err error) {
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
		s.unclaimAll(list)
		return nil, wrap(err)
	}
	return out, nil
}

// claimedMessageReader reads messages that a receive has claimed (reserved in memory), and selects those
// that may be handed out.
type claimedMessageReader struct {
	s      *inMemoryMessageStoreState
	now    int64
	state  layout.MessageState // the required state
	max    int                 // maximal number of messages
	all    bool                // ignore the size limit, and do not exclude expired messages
	memory MemoryLimiter       // memory limit that bodies count against; nil: no limit
	held   int64               // bytes taken from memory
	need   int64               // bytes that the first message needs, if memory had too few; 0: none
	paid   int64               // bytes already taken from memory for one large message; 0: none
	large  bool                // paid was used for that message

	expired []*inMemoryMessageClaim
	missing []*inMemoryMessageClaim
}

// read returns the claimed messages that are available. It appends expired messages to expired, removes the
// claims on messages that no longer exist, and releases the claims on messages that exceed the limits.
func (l *claimedMessageReader) read(ctx context.Context,
	claims []*inMemoryMessageClaim) (live []storedMessage, err error) {
	s := l.s
	settled := false
	var rest []*inMemoryMessageClaim
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

// headers reads the headers of claimed messages and drops messages that are missing or have expired.
func (l *claimedMessageReader) headers(r engine.Reader,
	claims []*inMemoryMessageClaim) (live []storedMessage, err error) {
	keys := make([][]byte, len(claims))
	for i, c := range claims {
		keys[i] = l.s.Keys.Key(layout.FamilyMessage, c.seq)
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
			live = append(live, storedMessage{inMemoryMessageClaim: claims[i], seq: claims[i].seq,
				MessageHeader: h})
		}
		return true, nil
	})
	return live, err
}

// bodies reads the bodies of claimed messages, in order, until a limit on their size or number, or the
// memory, is reached. live are the messages whose bodies it has read, and rest the claims of the others.
func (l *claimedMessageReader) bodies(r engine.Reader,
	list []storedMessage) (live []storedMessage, rest []*inMemoryMessageClaim, err error) {
	keys, bytesOf := make([][]byte, 0, len(list)), int64(0)
	for i := range list {
		bytesOf += list[i].Size
		if i > 0 && !l.all && (i == l.max || bytesOf > maxReceived) {
			break
		}
		keys = append(keys, l.s.Keys.Key(layout.FamilyBody, list[i].seq))
	}
	keys = keys[:l.fit(list[:len(keys)])]
	for _, m := range list[len(keys):] {
		rest = append(rest, m.inMemoryMessageClaim)
	}
	list = list[:len(keys)]
	err = engine.GetEach(r, keys, func(i int, v []byte) (bool, error) {
		if v == nil {
			return false, l.s.Corrupt(list[i].seq, "has no body")
		}
		list[i].body = bytes.Clone(v)
		return true, nil
	})
	return list, rest, err
}

// fit reserves memory for the first messages in list, as many as the memory limit allows, and returns
// their number.
func (l *claimedMessageReader) fit(list []storedMessage) int {
	l.releaseMemory()
	l.need, l.large = 0, false
	if l.memory == nil || len(list) == 0 {
		return len(list)
	}
	if l.paid >= list[0].Size {
		l.large = true
		return 1
	}
	for i := range list {
		if !l.memory.TryTake(list[i].Size) {
			if i == 0 {
				l.need = list[i].Size
			}
			return i
		}
		l.held += list[i].Size
	}
	return len(list)
}

// releaseMemory gives back the memory that was reserved for messages that are to be delivered.
func (l *claimedMessageReader) releaseMemory() {
	if l.held > 0 {
		l.memory.Give(l.held)
		l.held = 0
	}
}

// removeAll deletes the claimed messages in list durably, ends the claims, and gives each element of out a
// token that no lock has. If it fails, the claims remain.
func (s *inMemoryMessageStoreState) removeAll(ctx context.Context, list []storedMessage,
	out []Delivery) error {
	err := s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
		p, err := w.partOf(s)
		if err != nil {
			return err
		}
		for i := range list {
			if err := w.take(p, list[i].seq, &list[i].MessageHeader); err != nil {
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
		s.forget(list[i].inMemoryMessageClaim)
	}
	return nil
}

// lockAll locks the messages of list, which the caller has claimed (reserved in memory), and sets the token
// and the end of each lock in out.
func (s *inMemoryMessageStoreState) lockAll(list []storedMessage, out []Delivery) error {
	until := saturate(s.now(), millis(s.e.properties.Load().LockDuration))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	if l := list[0].session; l != nil && l.lost {
		return s.SessionLost()
	}
	for i := range list {
		c := list[i].inMemoryMessageClaim
		c.header = list[i].MessageHeader
		s.lock(c, until)
		out[i].Token, out[i].Broker.LockedUntil = c.token, c.lapses()
		// the lock of the session covers the message, which therefore has no end of its own
		if c.session != nil {
			out[i].Broker.LockedUntil = message.LastMoment
		}
		out[i].Broker.LockToken = &out[i].Token
	}
	return nil
}

// unclaimAll ends the claims of an operation on messages (see inMemoryMessageClaim), so that receivers can
// get the messages again.
func (s *inMemoryMessageStoreState) unclaimAll(list []storedMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range list {
		s.unclaim(m.inMemoryMessageClaim)
	}
}
