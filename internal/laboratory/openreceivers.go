package laboratory

import (
	"crypto/rand"
	"sync"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// A receiver in peek-lock lives for as long as the request that opened it, whose answer is a stream of
// events: the locks of a page or a program end with its connection. Other requests name it by its id. The
// handler of the stream owns the receiver and closes it.

// receivers are those that are open. Locks live in memory, and so do these.
type receivers struct {
	mu   sync.Mutex
	open map[string]*openReceiver // by id
}

// openReceiver is a receiver with what it receives from.
type openReceiver struct {
	*queue.Receiver
	queues *queue.Queues
	at     entity.Address
	path   string
}

func (all *receivers) add(r *openReceiver) (id string) {
	id = rand.Text()
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open == nil {
		all.open = make(map[string]*openReceiver)
	}
	all.open[id] = r
	return id
}

func (all *receivers) remove(id string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, id)
}

func (all *receivers) find(id string) *openReceiver {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.open[id]
}

// holding finds the receiver that holds the lock of a session; nil: none of these does.
func (all *receivers) holding(at entity.Address, session string) *openReceiver {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, r := range all.open {
		if id, _, ok := r.Session(); ok && id == session && r.at == at {
			return r
		}
	}
	return nil
}
