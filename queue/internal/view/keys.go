package view

import (
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// MessageStore identifies the stored messages of one queue, topic, subscription or sub-queue, such as the
// dead-letter queue. It holds only what never changes. Its methods return the keys of the messages, and
// read them in the state that an engine.Reader shows.
type MessageStore struct {
	Path      string // of the entity, in the spelling of the client that created it
	Sub       entity.SubQueue
	Keys      layout.MessageStoreKeyBuilder
	BySession bool // messages are received by session
	Shared    bool // several servers share the engine, so locks are stored under keys
}

// Of returns the message store of an entity: that of its main queue, or that of the sub-queue sub, such as
// the dead-letter queue. Only main queues are received by session.
func Of(kind entity.Kind, path string, number uint32, p *entity.Properties,
	sub entity.SubQueue) MessageStore {
	return MessageStore{Path: path, Sub: sub, Keys: layout.MessageStoreKeysOf(number, sub),
		BySession: sub == entity.Main && kind != entity.Topic && p.RequiresSession}
}

// Name returns the address of the queue, subscription or sub-queue as text.
func (s *MessageStore) Name() string { return entity.Address{Entity: s.Path, Sub: s.Sub}.String() }

// ReadyPrefix returns the key prefix of the active messages that a receiver can get: those of one session,
// or all.
func (s *MessageStore) ReadyPrefix(session string) []byte {
	if s.BySession {
		return s.Keys.SessionPrefix(session)
	}
	return s.Keys.ReadyPrefix()
}

// ReadyKey returns the key of the index entry by which receivers find an active message.
func (s *MessageStore) ReadyKey(session string, seq int64) []byte {
	return layout.AppendSeq(s.ReadyPrefix(session), seq)
}

// ExpiryKey returns the key of the index entry by which the reaper finds a message: by its deadline, or by
// its enqueued time if it has no time to live of its own.
func (s *MessageStore) ExpiryKey(seq int64, h *layout.MessageHeader) []byte {
	if h.TTL == layout.NoTTL {
		return s.Keys.MomentKey(layout.FamilyEnqueued, h.Enqueued, seq)
	}
	return s.Keys.MomentKey(layout.FamilyDeadline, h.Deadline(host.Never), seq)
}

// LockIndex returns the key of the index entry by which a message's lock is found: by the end of the lock or,
// if the lock is covered by that of a session, by the session.
func (s *MessageStore) LockIndex(seq int64, l *layout.Lock) []byte {
	if l.Covered {
		return layout.AppendSeq(s.Keys.HeldPrefix(l.Session), seq)
	}
	return s.Keys.MomentKey(layout.FamilyLapse, l.Lapses(), seq)
}
