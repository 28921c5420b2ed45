package bus

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// maxReplies is how many answers may wait for a client that gives no credit for them.
const maxReplies = 1000

const (
	// maxReplyBytes is how many bytes they may have together, but for one.
	maxReplyBytes = 4 << 20
	// earlyReplyBytes is the same of a client that has shown no token yet.
	earlyReplyBytes = 16 << 10
)

// replies is the source of the answers to requests.
type replies struct {
	c       *conn
	link    *amqp.Link
	node    string // that the requests go to
	target  string // address to which the client wants the answers; "" for none
	settled bool

	mu    sync.Mutex // guards what follows
	list  [][]byte
	size  int           // bytes of the list
	ready chan struct{} // one slot
	last  uint64        // tag
}

// newReplies makes the node of a link on which a client receives answers.
func (c *conn) newReplies(l *amqp.Link, a *frame.Attach, node string) *replies {
	r := &replies{c: c, link: l, node: node, settled: a.SndSettleMode == frame.SenderSettled,
		ready: make(chan struct{}, 1)}
	if t, ok := a.Target.(*frame.Target); ok {
		r.target = t.Address
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies = append(c.replies, r)
	return r
}

// Detached implements amqp.Source.
func (r *replies) Detached() {
	r.c.forget(r.link)
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.replies = slices.DeleteFunc(r.c.replies, func(o *replies) bool { return o == r })
}

// Receive implements amqp.Source.
func (r *replies) Receive(ctx context.Context, max int, wait bool) ([]amqp.Outgoing, error) {
	for {
		r.mu.Lock()
		n := min(max, len(r.list))
		out := make([]amqp.Outgoing, n)
		for i := range out {
			r.last++
			out[i] = amqp.Outgoing{Tag: binary.BigEndian.AppendUint64(nil, r.last), Payload: r.list[i],
				Settled: r.settled}
		}
		for _, b := range r.list[:n] {
			r.size -= len(b)
		}
		r.list = r.list[n:]
		r.mu.Unlock()
		if n > 0 || !wait {
			return out, nil
		}
		select {
		case <-r.ready:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// push adds an answer; false where too many wait.
func (r *replies) push(payload []byte) bool {
	if !r.c.Authorized() && r.c.waitingReplies() > earlyReplyBytes {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) >= maxReplies || len(r.list) > 0 && r.size+len(payload) > maxReplyBytes {
		return false
	}
	r.list = append(r.list, payload)
	r.size += len(payload)
	select {
	case r.ready <- struct{}{}:
	default:
	}
	return true
}

// waitingReplies is how many bytes of answers wait for the connection's client.
func (c *conn) waitingReplies() (size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.replies {
		r.mu.Lock()
		size += r.size
		r.mu.Unlock()
	}
	return size
}

// GiveBack implements amqp.Source.
func (r *replies) GiveBack(list []amqp.Outgoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var again [][]byte
	for _, m := range list {
		again = append(again, m.Payload)
		r.size += len(m.Payload)
	}
	r.list = append(again, r.list...)
}

// Settle implements amqp.Source: whatever the client says of an answer is fine.
func (r *replies) Settle(_ context.Context, list []amqp.Settlement) []frame.State {
	states := make([]frame.State, len(list))
	for i := range list {
		states[i] = &frame.Accepted{}
	}
	return states
}

// replyTo finds the link for an answer to a request that came to a node by another link: one of the same
// session whose target, or else whose name, is the address to reply to; or else the only one that receives
// from that node.
func (c *conn) replyTo(request *amqp.Link, node, address string) (*replies, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var byName, only *replies
	count := 0
	for _, r := range c.replies {
		if r.node != node || r.link.Session() != request.Session() {
			continue
		}
		if address != "" && r.target == address {
			return r, nil
		}
		if address != "" && r.link.Name() == address {
			byName = r
		}
		only = r
		count++
	}
	switch {
	case byName != nil:
		return byName, nil
	case count == 1:
		return only, nil
	}
	return nil, &entity.Error{Code: entity.CodeNotAllowed,
		Message: "There is no link on this session to which the answer to the request could go."}
}

// answer is a message that answers a request: it has the id of the request, in the type that it had.
func answer(request *message.Message, properties wire.Map, body any) ([]byte, error) {
	m := message.New(nil)
	m.SetRaw(message.CorrelationID, request.Raw(message.MessageID))
	for _, p := range properties {
		value, err := wire.Append(nil, p.Value)
		if err != nil {
			return nil, err
		}
		m.Set(p.Key.(string), value)
	}
	value, err := wire.Append(wire.AppendDescriptor(nil, sectionValue), body)
	m.Body = value
	return m.AppendBare(nil), err
}

// sectionValue describes a body that is one value.
const sectionValue = 0x77
