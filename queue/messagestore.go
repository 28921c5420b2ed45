package queue

import (
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// messageStore is one store of messages of an entity, in memory: its locks, its receivers and how far they
// have read. All else lies in the engine. The store is made when its entity is, and loaded as the dataset is
// opened; end is called when the entity is gone or the instance closes.
type messageStore struct {
	e    *entityState
	sub  entity.Sub
	keys layout.StoreKeys

	mu        sync.Mutex    // guards what follows; nothing is waited for while it is held
	ended     *entity.Error // why it takes no receivers any more
	claims    map[int64]*claim
	tokens    map[message.UUID]*claim
	due       deadlines     // of locks, and of locks of sessions
	cursor    receiveCursor // where receivers stand, in a store without sessions
	sessions  map[string]*sessionLock
	free      waiters // for the next session
	receivers map[*Receiver]struct{}
	waiting   int    // who waits for messages or for a session
	activates int64  // no scheduled message is due before that millisecond; host.Never: there is none
	schedules uint64 // counts what was scheduled
	forwards  int64  // from that millisecond on messages are to be moved on; host.Never: there are none
	ticking   bool   // somebody has the turn
	timer     timer  // the timers'

	turn         host.Mutex   // of who ends locks and brings what is scheduled
	forwarding   host.Mutex   // of who moves messages on, so that they keep their order
	latest       atomic.Int64 // the last millisecond that is stored
	size         atomic.Int64 // bytes of all messages
	lastReceived atomic.Int64 // the last millisecond in which somebody asked for messages
	expiry       expiry       // the reaper's, in whose turn it is
}

// newMessageStore makes what is known in memory of a store of an entity.
func newMessageStore(e *entityState, sub entity.Sub) *messageStore {
	return &messageStore{e: e, sub: sub, keys: layout.StoreKeysOf(e.number, sub), turn: host.NewMutex(),
		forwarding: host.NewMutex(), forwards: host.Never,
		claims: make(map[int64]*claim), tokens: make(map[message.UUID]*claim),
		sessions:  make(map[string]*sessionLock),
		receivers: make(map[*Receiver]struct{}), activates: host.Never, timer: timer{index: -1}}
}

// storesOf are the stores that a kind of entity has.
func storesOf(kind entity.Kind) []entity.Sub {
	if kind == entity.Topic {
		return []entity.Sub{entity.Main}
	}
	return []entity.Sub{entity.Main, entity.DeadLetters, entity.TransferDeadLetters}
}

// load reads what must be known in memory.
func (s *messageStore) load(r engine.Reader) error {
	c, err := s.read(r)
	if err != nil {
		return err
	}
	s.date(c.Latest)
	s.size.Store(c.Bytes)
	if s.activates, err = host.FirstAfter(r, s.keys.Family(layout.FamilyDue), -1); err != nil {
		return err
	}
	s.e.m.timers.arm(s, s.activates)
	if s.forwardsTo() != "" && c.Active > 0 {
		s.forwardAt(0)
	}
	return nil
}

// end ends all receivers, for a reason, and takes no others.
func (s *messageStore) end(why *entity.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = why
	for r := range s.receivers {
		r.end(why)
	}
	s.free.all()
}

// changed reports that properties of the entity have been set: its locks are lost, without a count, and
// receivers that its status refuses end, as do those of messages that go on.
func (s *messageStore) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := s.refuses()
	if s.forwardsTo() != "" {
		s.mustForward(s.now())
		if s.sub == entity.Main && refused == nil {
			refused = s.goesOn()
		}
	}
	for _, l := range s.sessions {
		if !l.lost {
			l.holder.end(s.sessionLost())
			s.endSession(l)
		}
	}
	for r := range s.receivers {
		if refused != nil {
			r.end(refused)
		}
	}
	for _, c := range s.claims {
		if c.stale = true; !c.busy {
			s.unclaim(c)
		}
	}
	s.cursor.restart()
	s.cursor.waiters.all()
	s.free.all()
	s.expiry.restart()
}

// endWait notes that one who waited does no more: he has used the entity until now. The caller holds the
// mutex.
func (s *messageStore) endWait() {
	s.waiting--
	s.e.touch(s.now())
}

// hasScheduled reports whether a message is scheduled.
func (s *messageStore) hasScheduled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.activates != host.Never
}

// awaited reports whether somebody waits for messages.
func (s *messageStore) awaited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting > 0
}

// name is the store's address.
func (s *messageStore) name() string { return entity.Address{Entity: s.e.path, Sub: s.sub}.String() }

// bySession reports whether messages are received session by session: dead letters are not.
func (s *messageStore) bySession() bool {
	return s.sub == entity.Main && s.e.kind != entity.Topic && s.e.properties.Load().RequiresSession
}

// notFound says that the store is gone.
func (s *messageStore) notFound() *entity.Error {
	return &entity.Error{Code: entity.CodeEntityNotFound, Entity: s.name(),
		Message: "The messaging entity '" + s.name() + "' could not be found."}
}

// refuses says that the entity's status refuses receivers; nil where it does not.
func (s *messageStore) refuses() *entity.Error {
	if st := s.e.properties.Load().Status; st == entity.Disabled || st == entity.ReceiveDisabled {
		return &entity.Error{Code: entity.CodeEntityDisabled, Entity: s.name(),
			Message: "The messaging entity '" + s.name() + "' is disabled for receiving."}
	}
	return nil
}

// readable fails where the store is gone, or takes no receivers.
func (s *messageStore) readable() error {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		return ended
	}
	if no := s.refuses(); no != nil {
		return no
	}
	return nil
}

// date notes that something is stored which is dated by a millisecond.
func (s *messageStore) date(ms int64) {
	for last := s.latest.Load(); last < ms && !s.latest.CompareAndSwap(last, ms); last = s.latest.Load() {
	}
	s.e.m.in.Clock().RaiseMillis(ms)
}

// applyEvents takes up what a transaction has brought, which is durable.
func (s *messageStore) applyEvents(events []event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		switch e.kind {
		case arrived:
			s.arrive(e)
			if s.sub == entity.Main {
				s.expiry.noteArrival(&e.header)
			}
		case awaits:
			s.schedules++
			s.activates = min(s.activates, e.due)
			s.e.m.timers.arm(s, e.due)
		}
	}
}

// arrive wakes one who waits for a message. Dead letters keep their numbers, and so may come before others.
func (s *messageStore) arrive(e event) {
	if !s.bySession() {
		if s.sub != entity.Main {
			s.cursor.free(e.seq)
		}
		s.cursor.waiters.wake(1)
		return
	}
	if l := s.sessions[e.header.Session]; l != nil && !l.lost {
		l.cursor.waiters.wake(1)
		return
	}
	s.free.wake(1)
}

// cursorOf is where the receivers stand who can get a message; nil where nobody can, for want of its
// session's lock.
func (s *messageStore) cursorOf(session string) *receiveCursor {
	if !s.bySession() {
		return &s.cursor
	}
	if l := s.sessions[session]; l != nil && !l.lost {
		return &l.cursor
	}
	return nil
}

// readyPrefix is what the keys are under which receivers look: those of a session, or all.
func (s *messageStore) readyPrefix(session string) []byte {
	if s.bySession() {
		return s.keys.SessionPrefix(session)
	}
	return s.keys.ReadyPrefix()
}

func (s *messageStore) readyKey(session string, seq int64) []byte {
	return layout.AppendSeq(s.readyPrefix(session), seq)
}
