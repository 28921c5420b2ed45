package bus

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
)

// conn is the state of one client connection: its grants, links and transactions. It implements
// amqp.ConnectionHandler.
type conn struct {
	bus           *ServiceBus
	number        uint64 // the number of the connection in log messages
	queues        *queue.Queues
	ctx           context.Context // ends with the connection
	namespace     string          // the server's host name, as the client sent it
	client        string          // the name that the client gives itself
	authenticated atomic.Bool     // the client has shown a valid key, or needs none

	mu        sync.Mutex // guards the following fields
	grants    []access.GrantedRights
	links     map[*amqp.Link]requiredRight // the right that each link needs
	stopTimer func()                       // stops the timer for the first grant to expire; nil: no timer
	replies   []*responseLinkSource
	// the last links to $cbs; the key is true for the link on which the client receives
	tokenLinks   map[bool]*amqp.Link
	sessions     map[*amqp.Link]*entityMessageSource // receivers
	transactions map[string]*declaredTransaction
	lastTxn      uint64
}

const cbsNode = "$cbs"

// Attach creates the node for a link that the client requests, or refuses the link. It implements
// amqp.ConnectionHandler.
func (c *conn) Attach(ctx context.Context, l *amqp.Link, a *frame.Attach) (amqp.AcceptedLink, error) {
	address, _ := addressOf(a)
	operation := "open receiver"
	if !a.Receiver {
		operation = "open sender"
	}
	e := c.recording(attachFrame, operation, pathOf(address))
	answer, err := c.makeNode(ctx, l, a)
	c.recordAttach(e, err)
	return answer, err
}

// makeNode creates the node that a link connects to: a transaction coordinator, $cbs, or an entity or its
// management node.
func (c *conn) makeNode(ctx context.Context, l *amqp.Link, a *frame.Attach) (amqp.AcceptedLink, error) {
	if _, ok := a.Target.(*frame.Coordinator); ok && !a.Receiver {
		return (&transactionCoordinator{c: c, link: l}).answer(), nil
	}
	address, ok := addressOf(a)
	if !ok {
		return amqp.AcceptedLink{}, c.asError(&entity.Error{Code: entity.CodeNotImplemented,
			Message: "A link needs an address: anonymous termini are not supported."}, "")
	}
	if isTokenNode(address) {
		if err := c.takeTokenNode(l, a.Receiver); err != nil {
			return amqp.AcceptedLink{}, c.asError(err, cbsNode)
		}
		if a.Receiver {
			return amqp.AcceptedLink{Source: c.newReplies(l, a, cbsNode)}, nil
		}
		return amqp.AcceptedLink{Sink: &cbsTokenNode{c: c, link: l}}, nil
	}
	at, management, err := entity.ParseAddress(address)
	if err != nil {
		return amqp.AcceptedLink{}, c.asError(err, address)
	}
	answer, err := c.attach(ctx, l, a, at, management)
	if err != nil {
		return amqp.AcceptedLink{}, c.asError(err, at.Entity)
	}
	return answer, nil
}

// takeTokenNode registers a link to $cbs; receiver says whether the client receives on it. A connection can
// have one such link in each direction, since Go's SDK relies on the refusal of a second one to detect that
// it has left a link open. A link that has ended does not count.
func (c *conn) takeTokenNode(l *amqp.Link, receiver bool) error {
	c.mu.Lock()
	last := c.tokenLinks[receiver]
	c.mu.Unlock()
	if last != nil && last.IsOpen() {
		return &entity.Error{Code: entity.CodeNotAllowed, Message: "A link to connection '" +
			strconv.FormatUint(c.number, 10) + "' $cbs node has already been opened."}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokenLinks[receiver] = l
	return nil
}

// isTokenNode reports whether an address names the node $cbs.
func isTokenNode(address string) bool {
	return strings.EqualFold(strings.Trim(pathOf(address), "/"), cbsNode)
}

// attach creates the node of an entity, or its management node if management is set.
func (c *conn) attach(ctx context.Context, l *amqp.Link, a *frame.Attach, at entity.Address,
	management bool) (answer amqp.AcceptedLink, err error) {
	if management {
		return c.manage(ctx, l, a, at)
	}
	need := requiredRight{path: at.String(), need: access.Listen}
	if !a.Receiver {
		need.need = access.Send
	}
	e, err := c.queues.Get(ctx, at.Entity)
	if err != nil {
		return answer, err // reported before missing rights, as in Service Bus
	}
	if err := c.admit(l, need); err != nil {
		return answer, err
	}
	defer func() {
		if err != nil {
			c.forget(l) // Detached is not called for a refused link
			c.leaveGroup(l)
		}
	}()
	if !a.Receiver {
		return c.send(ctx, l, a, at, e)
	}
	if err := c.joinGroup(l, at); err != nil {
		return answer, err
	}
	return c.receive(ctx, l, a, at, e)
}

// manage creates the node for a link to the $management node of an entity. It does not check rights, since
// some clients send their token while they attach. Each request checks the right that it needs.
func (c *conn) manage(ctx context.Context, l *amqp.Link, a *frame.Attach,
	at entity.Address) (amqp.AcceptedLink,
	error) {
	if _, err := c.queues.Get(ctx, at.Entity); err != nil {
		return amqp.AcceptedLink{}, err
	}
	if a.Receiver {
		return amqp.AcceptedLink{Source: c.newReplies(l, a, managementNode(at))}, nil
	}
	return amqp.AcceptedLink{Sink: &managementEndpoint{c: c, link: l, at: at}, MaxMessageSize: maxRequest},
		nil
}

// maxRequest is the maximal size in bytes of a management request. A request can contain messages to
// schedule.
const maxRequest = 4 << 20

// managementNode returns the name of an entity's $management node.
func managementNode(at entity.Address) string { return strings.ToLower(at.String()) + "/$management" }

// addressOf returns the address of the node that a link connects to: a sender's target, or a receiver's
// source. ok is false if there is none, or an empty one.
func addressOf(a *frame.Attach) (address string, ok bool) {
	if a.Receiver {
		if a.Source == nil || !a.Source.HasAddress {
			return "", false
		}
		return a.Source.Address, a.Source.Address != ""
	}
	t, ok := a.Target.(*frame.Target)
	if !ok || !t.HasAddress {
		return "", false
	}
	return t.Address, t.Address != ""
}

// pathOf returns an address without scheme and host.
func pathOf(address string) string {
	if _, rest, found := strings.Cut(address, "://"); found {
		_, rest, _ = strings.Cut(rest, "/")
		return rest
	}
	return address
}

// Authorized reports whether the client has authenticated, by SASL or by a token, or need not do so. It
// implements amqp.ConnectionHandler.
func (c *conn) Authorized() bool { return c.authenticated.Load() }

// MayWait reports whether there are fault rules, which can delay operations. It implements
// amqp.ConnectionHandler.
func (c *conn) MayWait() bool { return c.bus.o.Faults.Armed() }

// Closed is called when the connection has ended. It rolls back the connection's undischarged transactions
// and stops its timer. It implements amqp.ConnectionHandler.
func (c *conn) Closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopTimer != nil {
		c.stopTimer()
	}
	for _, t := range c.transactions {
		t.tx.Rollback()
	}
	clear(c.transactions)
}
