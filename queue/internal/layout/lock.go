package layout

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/queue/message"
)

// Lock is the stored lock of a message or of a session.
type Lock struct {
	Token message.UUID
	// Until is the millisecond at which the lock lapses. It is 0 for the lock of a message if the lock was
	// lost while a transaction was about to settle the message.
	Until int64
	Busy  int64 // a transaction may settle the message until this millisecond; 0: none
	// Covered is set for a message that is locked together with its session. The field Until of such a lock
	// has no meaning.
	Covered bool
	Session string // session of a covered message
	Holder  string // of a session's lock: name of the receiver
}

// Lapses returns the millisecond at which the lock of a message ends, if it is not covered by a session's
// lock.
func (l *Lock) Lapses() int64 { return max(l.Until, l.Busy) }

// Encode returns the lock in the form in which it is stored.
func (l *Lock) Encode() []byte {
	covered := byte(0)
	if l.Covered {
		covered = 1
	}
	b := append(append(make([]byte, 0, 40+len(l.Session)), l.Token[:]...), covered)
	b = binary.AppendVarint(binary.AppendVarint(b, l.Until), l.Busy)
	for _, text := range []string{l.Session, l.Holder} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// DecodeLock decodes a lock. Errors: engine.ErrCorrupt.
func DecodeLock(b []byte) (l Lock, err error) {
	d := fieldDecoder{b: b}
	for i := range l.Token {
		l.Token[i] = d.byte()
	}
	l.Covered = d.byte() == 1
	l.Until, l.Busy = d.varint(), d.varint()
	l.Session, l.Holder = d.text(), d.text()
	return l, d.end("a lock")
}
