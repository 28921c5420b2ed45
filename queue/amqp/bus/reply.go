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

// maxReplies is the maximal number of responses that wait on a link without credit.
const maxReplies = 1000

const (
	// maxReplyBytes is the maximal size in bytes of the responses that wait on a link without credit. A
	// single response may be larger.
	maxReplyBytes = 4 << 20
	// earlyReplyBytes is the limit in bytes for the unsent responses of a client that is not authorized yet,
	// over all its links together.
	earlyReplyBytes = 16 << 10
)

// responseLinkSource is the source of a link on which a client receives the responses to its requests to $cbs
// or a $management node.
type responseLinkSource struct {
	c       *conn
	link    *amqp.Link
	node    string // the node to which the requests are sent
	target  string // the client's reply address; "" for none
	settled bool

	mu    sync.Mutex // guards the following fields
	list  [][]byte
	size  int           // bytes in list
	ready chan struct{} // one slot
	last  uint64        // the last delivery tag
}

// newReplies returns the source of the messages of a link on which a client receives the responses to its
// requests to node, which is $cbs or the management node of an entity.
func (c *conn) newReplies(l *amqp.Link, a *frame.Attach, node string) *responseLinkSource {
	r := &responseLinkSource{c: c, link: l, node: node, settled: a.SndSettleMode == frame.SenderSettled,
		ready: make(chan struct{}, 1)}
	if t, ok := a.Target.(*frame.Target); ok {
		r.target = t.Address
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies = append(c.replies, r)
	return r
}

// Detached is called when the link has ended, and removes the link from those that can get responses. It
// implements amqp.MessageSource.
func (r *responseLinkSource) Detached() {
	r.c.forget(r.link)
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.replies = slices.DeleteFunc(r.c.replies, func(o *responseLinkSource) bool { return o == r })
}

// Receive returns up to max responses that are waiting for the link. If there are none and wait is set, it
// waits for one until ctx ends. It implements amqp.MessageSource.
func (r *responseLinkSource) Receive(ctx context.Context, max int,
	wait bool) ([]amqp.OutgoingMessage, error) {
	for {
		r.mu.Lock()
		n := min(max, len(r.list))
		out := make([]amqp.OutgoingMessage, n)
		for i := range out {
			r.last++
			out[i] = amqp.OutgoingMessage{Tag: binary.BigEndian.AppendUint64(nil, r.last), Payload: r.list[i],
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

// push adds a response. It returns false if too many are waiting.
func (r *responseLinkSource) push(payload []byte) bool {
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

// waitingReplies returns how many bytes of responses are waiting on the connection.
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

// Release puts responses that were not sent to the client back to the front of those that are waiting. It
// implements amqp.MessageSource.
func (r *responseLinkSource) Release(list []amqp.OutgoingMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var again [][]byte
	for _, m := range list {
		again = append(again, m.Payload)
		r.size += len(m.Payload)
	}
	r.list = append(again, r.list...)
}

// Settle implements amqp.MessageSource. Every settlement of a response is accepted.
func (r *responseLinkSource) Settle(_ context.Context, list []amqp.Settlement) []frame.DeliveryState {
	states := make([]frame.DeliveryState, len(list))
	for i := range list {
		states[i] = &frame.Accepted{}
	}
	return states
}

// replyTo returns the link for the response to a request. It considers the links that receive from the node
// of the request. It chooses the link whose target is the reply address, in the session of the request if
// there is one there; else, of the links in that session, the one whose name is the address, or the only one.
func (c *conn) replyTo(request *amqp.Link, node, address string) (*responseLinkSource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var elsewhere, byName, only *responseLinkSource
	count := 0
	for _, r := range c.replies {
		if r.node != node {
			continue
		}
		isTarget := address != "" && r.target == address
		if r.link.Session() != request.Session() {
			if isTarget {
				elsewhere = r
			}
			continue
		}
		if isTarget {
			return r, nil
		}
		if address != "" && r.link.Name() == address {
			byName = r
		}
		only = r
		count++
	}
	switch {
	case elsewhere != nil:
		return elsewhere, nil
	case byName != nil:
		return byName, nil
	case count == 1:
		return only, nil
	}
	return nil, &entity.Error{Code: entity.CodeNotAllowed,
		Message: "There is no link to which the answer to the request could go."}
}

// answer encodes the response to a request. Its correlation id is the request's message id, with the same
// type.
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

// sectionValue is the AMQP descriptor of an amqp-value section, a message body that consists of one value.
const sectionValue = 0x77
