package queue

import (
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/cursor"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
	"github.com/mayflydb/mayfly/queue/message"
)

// inMemoryMessageStoreState is the state in memory of one message store of an entity: its locks, its
// receivers, and how far they have read. All other state is in the engine. An inMemoryMessageStoreState is
// created with its entity, and loaded when the dataset is opened. end is called when the entity is deleted or
// the dataset closes.
type inMemoryMessageStoreState struct {
	view.MessageStore
	e *entityState

	messages messageDeliverer
	locks    messageLockManager
	table    sessionLockManager

	mu        sync.Mutex    // guards the following fields; never held while waiting
	ended     *entity.Error // reason why the store accepts no receivers any more; nil: it accepts them
	claims    map[int64]*inMemoryMessageClaim
	tokens    map[message.UUID]*inMemoryMessageClaim
	due       lockDeadlineHeap       // of message locks and session locks
	cursor    cursor.ReceivePosition // of the receivers of a store without sessions
	sessions  map[string]*sessionLock
	free      cursor.WaiterQueue // receivers waiting for any free session
	receivers map[*Receiver]struct{}
	waiting   int                    // receivers that wait for messages or for a session
	activates int64                  // earliest due time, in ms, of a scheduled message, or host.Never
	schedules uint64                 // rises with each message that is scheduled
	forwards  int64                  // time in ms at which the timers forward messages, or host.Never
	ticking   bool                   // an operation holds turn: it is making the due changes
	timer     messageStoreWakeUpTime // used by the timers

	kept cachedCounters // guarded by transactions over the scope

	turn         host.CancelableMutex // held while lapsed locks end and due messages are activated
	forwarding   host.CancelableMutex // held while messages are forwarded, so that they stay in order
	latest       atomic.Int64         // the latest time stored, in ms
	size         atomic.Int64         // bytes of all messages
	scheduled    atomic.Int64         // number of scheduled messages
	active       atomic.Int64         // number of active messages; used only if several servers share the engine
	lastReceived atomic.Int64         // the time of the last receive, in ms
	expiry       expirySweepProgress  // used only by the reaper's sweep
}

// newMessageStore returns the state in memory of one store of an entity. load must be called before it is
// used.
func newMessageStore(e *entityState, sub entity.SubQueue) *inMemoryMessageStoreState {
	s := &inMemoryMessageStoreState{e: e, MessageStore: view.Of(e.kind, e.path, e.number,
		e.properties.Load(), sub),
		turn:       host.NewCancelableMutex(),
		forwarding: host.NewCancelableMutex(), forwards: host.Never,
		claims: make(map[int64]*inMemoryMessageClaim), tokens: make(map[message.UUID]*inMemoryMessageClaim),
		sessions:  make(map[string]*sessionLock),
		receivers: make(map[*Receiver]struct{}), activates: host.Never, timer: messageStoreWakeUpTime{index: -1}}
	s.messages, s.locks, s.table = inMemoryLockManager{s}, inMemoryLockManager{s}, inMemoryLockManager{s}
	if s.Shared = e.m.shared; s.Shared {
		s.messages, s.locks, s.table = storedLockManager{s}, storedLockManager{s}, storedLockManager{s}
	}
	return s
}

// storesOf returns the sub-queues that an entity of a kind has.
func storesOf(kind entity.Kind) []entity.SubQueue {
	if kind == entity.Topic {
		return []entity.SubQueue{entity.Main}
	}
	return []entity.SubQueue{entity.Main, entity.DeadLetters, entity.TransferDeadLetters}
}

// load reads from the engine what is kept in memory about the store.
func (s *inMemoryMessageStoreState) load(r engine.Reader) error {
	c, err := s.ReadCounters(r)
	if err != nil {
		return err
	}
	s.recordTime(c.Latest)
	s.size.Store(c.Bytes)
	s.scheduled.Store(c.Scheduled)
	if s.forwardsTo() != "" && c.Active > 0 {
		s.forwardAt(0)
	}
	if s.e.m.shared {
		s.noteCounters(&c)
		return nil
	}
	if s.activates, err = host.FirstAfter(r, s.Keys.Family(layout.FamilyDue), -1); err != nil {
		return err
	}
	s.e.m.timers.arm(s, s.activates)
	return nil
}

// end ends all receivers with the error why. Afterwards the store accepts no receivers.
func (s *inMemoryMessageStoreState) end(why *entity.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = why
	for r := range s.receivers {
		r.end(why)
	}
	s.free.WakeAll()
}

// changed applies new properties of the entity. All locks are lost, which does not count as a delivery.
// Receivers end if the entity's new status does not allow them, or if the entity now forwards its messages.
func (s *inMemoryMessageStoreState) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := s.receiveError()
	if s.forwardsTo() != "" {
		s.forwardAtLocked(s.now())
		if s.Sub == entity.Main && refused == nil {
			refused = s.forwardingError()
		}
	}
	for _, l := range s.sessions {
		if !l.lost {
			l.holder.end(s.SessionLost())
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
	s.cursor.Restart()
	s.cursor.Waiters.WakeAll()
	s.free.WakeAll()
	s.expiry.restart()
}

// endWait records that a receiver has stopped waiting. Waiting counts as use of the entity
// (AutoDeleteOnIdle). The caller holds the mutex.
func (s *inMemoryMessageStoreState) endWait() {
	s.waiting--
	s.e.recordUse(s.now())
}

// hasScheduled reports whether a message is scheduled.
func (s *inMemoryMessageStoreState) hasScheduled() bool { return s.scheduled.Load() > 0 }

// hasWaiters reports whether a receiver waits for messages or for a session.
func (s *inMemoryMessageStoreState) hasWaiters() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting > 0
}

// receiveError returns the error for receiving from an entity whose status does not allow it, or nil if it
// does.
func (s *inMemoryMessageStoreState) receiveError() *entity.Error {
	if st := s.e.properties.Load().Status; st == entity.Disabled || st == entity.ReceiveDisabled {
		return &entity.Error{Code: entity.CodeEntityDisabled, Entity: s.Name(),
			Message: "The messaging entity '" + s.Name() + "' is disabled for receiving."}
	}
	return nil
}

// readable fails if the store has ended, or the entity's status does not allow receiving.
func (s *inMemoryMessageStoreState) readable() error {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		return ended
	}
	if no := s.receiveError(); no != nil {
		return no
	}
	return nil
}

// recordTime records a time that the store contains, so that the clock is not set to an earlier time.
func (s *inMemoryMessageStoreState) recordTime(ms int64) {
	for last := s.latest.Load(); last < ms && !s.latest.CompareAndSwap(last, ms); last = s.latest.Load() {
	}
	s.e.m.in.Clock().RaiseMillis(ms)
}

// applyEvents updates the state in memory after a transaction has been stored durably.
func (s *inMemoryMessageStoreState) applyEvents(events []inMemoryMessageStoreChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		switch e.kind {
		case arrived:
			s.wakeReceiver(e)
			if s.Sub == entity.Main {
				s.expiry.noteArrival(&e.header)
			}
		case awaits:
			s.schedules++
			s.activates = min(s.activates, e.due)
			s.e.m.timers.arm(s, e.due)
		}
	}
}

// wakeReceiver wakes a receiver for a message that has arrived. In a dead-letter queue the message may have a
// lower sequence number than messages that were already received, since it keeps its number when it is
// dead-lettered; receivers are made to look at it as well.
func (s *inMemoryMessageStoreState) wakeReceiver(e inMemoryMessageStoreChange) {
	if !s.BySession {
		if s.Sub != entity.Main {
			s.cursor.Release(e.seq)
		}
		s.cursor.Waiters.Wake(1)
		return
	}
	if l := s.sessions[e.header.Session]; l != nil && !l.lost {
		l.cursor.Waiters.Wake(1)
		return
	}
	s.free.Wake(1)
}

// cursorOf returns the position from which receivers look for the next message: of the given session, or of
// the store if it has no sessions. It returns nil if that session is not locked.
func (s *inMemoryMessageStoreState) cursorOf(session string) *cursor.ReceivePosition {
	if !s.BySession {
		return &s.cursor
	}
	if l := s.sessions[session]; l != nil && !l.lost {
		return &l.cursor
	}
	return nil
}
