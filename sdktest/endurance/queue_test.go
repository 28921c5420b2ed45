//go:build long

package endurance

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// queueModel is the model of the messages in a queue, shared by all senders and receivers.
type queueModel struct {
	mu        sync.Mutex
	next      int
	sent      map[string]bool // acknowledged and not yet completed
	done      map[string]bool // its completion was acknowledged
	unsure    map[string]bool // its completion may have been done
	completed int
	wrong     deviations
}

func newQueueModel() *queueModel {
	return &queueModel{sent: map[string]bool{}, done: map[string]bool{}, unsure: map[string]bool{}}
}

// maxBacklog is the number of messages in the queue from which on the senders wait, so that the data does
// not grow. Messages whose completion has an unknown result do not count.
const maxBacklog = 2000

// send sends a message with a new id, and records it in the model if the server acknowledges it.
func (l *queueModel) send(ctx context.Context, c *client) error {
	l.mu.Lock()
	if len(l.sent)-len(l.unsure) >= maxBacklog {
		l.mu.Unlock()
		pause(ctx, 10*time.Millisecond)
		return ctx.Err()
	}
	l.next++
	id := fmt.Sprint("m", l.next)
	l.mu.Unlock()
	a, err := c.do(ctx, "POST", "q/messages", id, "BrokerProperties", `{"MessageId":"`+id+`"}`)
	if err != nil || a.status != http.StatusCreated {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done[id] { // else a receiver was faster
		l.sent[id] = true
	}
	return nil
}

// receive receives a message, completes it and records that in the model. more is false if there was no
// message.
func (l *queueModel) receive(ctx context.Context, c *client) (more bool, err error) {
	a, err := c.do(ctx, "POST", "q/messages/head?timeout=1", "")
	if err != nil || a.status != http.StatusCreated {
		return false, err
	}
	id := string(a.body)
	l.mu.Lock()
	if l.done[id] {
		l.wrong.add("queue", "%s comes back after it was completed", id)
	}
	l.unsure[id] = true
	l.mu.Unlock()
	at, err := a.location()
	if err != nil {
		return true, err
	}
	a, err = c.do(ctx, "DELETE", at, "")
	if err != nil || a.status != http.StatusOK {
		return true, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.completed++
	l.done[id] = true
	delete(l.sent, id)
	delete(l.unsure, id)
	return true, nil
}

// lost returns the ids of the messages that the server has acknowledged but that no receiver can have
// completed.
func (l *queueModel) lost() (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.sent {
		if !l.unsure[id] {
			ids = append(ids, id)
		}
	}
	return ids
}
