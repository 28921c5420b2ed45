package view

import (
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// MessageAndSessionLocks holds the locks of some messages and sessions. A message or session without a lock
// is not in it.
type MessageAndSessionLocks struct {
	Sessions map[string]layout.Lock
	Messages map[int64]int64 // the millisecond at which the lock of a message ends
}

// LockOf reads the lock of a message; ok is false if it has none.
func (s *MessageStore) LockOf(r engine.Reader, seq int64) (l layout.Lock, ok bool, err error) {
	return readLock(r, s.Keys.Key(layout.FamilyLock, seq))
}

// SessionLockOf reads the lock of a session; ok is false if it has none.
func (s *MessageStore) SessionLockOf(r engine.Reader, id string) (l layout.Lock, ok bool, err error) {
	return readLock(r, s.Keys.TextKey(layout.FamilySessionLock, id))
}

func readLock(r engine.Reader, key []byte) (l layout.Lock, ok bool, err error) {
	v, err := r.Get(key)
	if errors.Is(err, engine.ErrNotFound) {
		return l, false, nil
	}
	if err == nil {
		l, err = layout.DecodeLock(v)
	}
	return l, err == nil, err
}

// LockedNumbers returns the sequence numbers of the messages that have stored locks.
func (s *MessageStore) LockedNumbers(r engine.Reader) (map[int64]bool, error) {
	if !s.Shared {
		return nil, nil
	}
	list := make(map[int64]bool)
	it := r.Scan(engine.Prefix(s.Keys.Family(layout.FamilyLock)), false)
	for it.Next() {
		list[layout.SeqOf(it.Key())] = true
	}
	return list, it.Close()
}

// StoredLocks returns the stored locks of sessions and of messages. If a message is locked together with its
// session, its lock ends when that of the session does.
func (s *MessageStore) StoredLocks(r engine.Reader, sessions []string,
	messages []int64) (MessageAndSessionLocks, error) {
	found := MessageAndSessionLocks{Sessions: make(map[string]layout.Lock), Messages: make(map[int64]int64)}
	var keys [][]byte
	for _, seq := range messages {
		keys = append(keys, s.Keys.Key(layout.FamilyLock, seq))
	}
	covered := make(map[int64]string)
	err := eachLock(r, keys, func(i int, l layout.Lock) {
		if found.Messages[messages[i]] = l.Until; l.Covered {
			covered[messages[i]] = l.Session
			sessions = append(sessions[:len(sessions):len(sessions)], l.Session)
		}
	})
	if err != nil {
		return found, err
	}
	keys = nil
	for _, id := range sessions {
		keys = append(keys, s.Keys.TextKey(layout.FamilySessionLock, id))
	}
	err = eachLock(r, keys, func(i int, l layout.Lock) { found.Sessions[sessions[i]] = l })
	for seq, id := range covered {
		found.Messages[seq] = found.Sessions[id].Until
	}
	return found, err
}

// eachLock calls fn with the locks that are stored under keys.
func eachLock(r engine.Reader, keys [][]byte, fn func(i int, l layout.Lock)) error {
	return engine.GetEach(r, keys, func(i int, v []byte) (bool, error) {
		if v == nil {
			return true, nil
		}
		l, err := layout.DecodeLock(v)
		if err == nil {
			fn(i, l)
		}
		return true, err
	})
}

// HoldsSession fails with CodeSessionLockLost unless the session has a stored lock with this token that has
// not lapsed.
func (s *MessageStore) HoldsSession(r engine.Reader, id string, token message.UUID, now int64) error {
	l, ok, err := s.SessionLockOf(r, id)
	if err == nil && (!ok || l.Token != token || l.Until <= now) {
		err = s.SessionLost()
	}
	return err
}
