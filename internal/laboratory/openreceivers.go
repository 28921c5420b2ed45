package laboratory

import (
	"crypto/rand"
	"sync"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// A receiver in peek-lock mode exists as long as the request that opened it. The response to that request is
// a stream of events, so the locks of a page or a program end with its connection. Other requests refer to
// the receiver by its id. The handler of the stream owns the receiver and closes it.

// receiverSet is the set of open receivers. Like locks, they are kept in memory only.
type receiverSet struct {
	mu   sync.Mutex
	open map[string]*receiverHandle // by id
}

// receiverHandle is a receiver and the entity that it receives from.
type receiverHandle struct {
	*queue.Receiver
	queues *queue.Queues
	at     entity.Address
	path   string
}

func (all *receiverSet) add(r *receiverHandle) (id string) {
	id = rand.Text()
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open == nil {
		all.open = make(map[string]*receiverHandle)
	}
	all.open[id] = r
	return id
}

func (all *receiverSet) remove(id string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, id)
}

func (all *receiverSet) find(id string) *receiverHandle {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.open[id]
}

// holding returns the open receiver that holds the lock of a session, or nil if there is none.
func (all *receiverSet) holding(at entity.Address, session string) *receiverHandle {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, r := range all.open {
		if id, _, ok := r.Session(); ok && id == session && r.at == at {
			return r
		}
	}
	return nil
}
