package check

import "github.com/mayflydb/mayfly/engine"

const (
	maxDue      = 1024    // how many keys are read together
	maxDueBytes = 1 << 20 // size of the items that are kept until their keys are read
)

// deferredRead is a key whose value a check needs. It is read later, together with others, so that a remote
// engine needs few round trips.
type deferredRead struct {
	key   []byte
	check func(value []byte) // value is nil if the key is absent
}

// read adds a key to those that readDue later reads together; readDue then calls check with the key's value.
func (k *checker) read(key []byte, check func(value []byte)) {
	k.due = append(k.due, deferredRead{key, check})
}

// readDueIfMany reads and checks the keys that were put off to be read together, if there are many of them
// or the items kept for them take much memory.
func (k *checker) readDueIfMany() error {
	if len(k.due) < maxDue && k.dueBytes < maxDueBytes {
		return nil
	}
	return k.readDue()
}

// readDue reads all keys that checks have requested since the last call (see deferredRead), and passes each
// value to its check.
func (k *checker) readDue() error {
	due := k.due
	k.due, k.dueBytes = nil, 0
	if k.stopped {
		return nil
	}
	keys := make([][]byte, len(due))
	for i := range due {
		keys[i] = due[i].key
	}
	return engine.GetEach(k.r, keys, func(i int, value []byte) (bool, error) {
		due[i].check(value)
		return !k.stopped, nil
	})
}
