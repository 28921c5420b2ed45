package queue

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// sinkKind is the word for queues and topics in the container setting that names the target of expired items.
const sinkKind = "queue"

// The application properties of a message that was made from an expired item. The body of the message is
// that of the item.
const (
	// PropertySource names the container that the item was in: a string such as "shop/carts".
	PropertySource = "Source"
	// PropertyID is the id of the item, a string.
	PropertyID = "Id"
	// PropertyDied is the name of the application property that holds the time at which the item expired, a
	// timestamp.
	PropertyDied = "DiedAt"
)

// expirySinkEntity is a queue or topic that is an expiry sink: it receives expired items as messages.
type expirySinkEntity struct {
	m    *loadedEntities
	path string
}

// expirySink returns the expiry sink with a name. Errors: CodeEntityNotFound, CodeArgument for an entity that
// cannot be one.
func (m *loadedEntities) expirySink(name string) (host.ExpiredItemSink, error) {
	e, err := m.findPath(name)
	if err != nil {
		return nil, err
	}
	if e.kind == entity.Subscription || e.stores[entity.Main].BySession {
		return nil, &entity.Error{Code: entity.CodeArgument, Entity: e.path,
			Message: "What dies can become a message of a " +
				"topic, or of a queue that requires no sessions: not of '" + e.path + "'."}
	}
	return expirySinkEntity{m, e.path}, nil
}

// Enter implements host.ExpiredItemSink: it begins a purge whose expired items are sent to the entity. It
// fails if the entity does not exist or does not accept messages.
func (h expirySinkEntity) Enter(ctx context.Context) (host.ExpiredItemSinkTx, error) {
	if err := h.m.gate.Share(ctx); err != nil {
		return nil, wrap(err)
	}
	e, err := h.m.find(entity.Address{Entity: h.path})
	if err == nil {
		if no := e.stores[entity.Main].sendError(); no != nil {
			err = no
		}
	}
	if err != nil {
		h.m.gate.Leave()
		return nil, err
	}
	return &expiredItemEnqueueTx{e: e}, nil
}

// expiredItemEnqueueTx implements host.ExpiredItemSinkTx: it stores the expired items of one purge as
// messages.
type expiredItemEnqueueTx struct {
	e *entityState
	w *messageTx // nil if no transaction has begun
}

// Scopes implements host.ExpiredItemSinkTx: the transaction needs the engine scope of the queue or topic.
func (i *expiredItemEnqueueTx) Scopes(engine.Reader, []host.ExpiredItem) ([][]byte, error) {
	return [][]byte{i.e.scope}, nil
}

// Begin implements host.ExpiredItemSinkTx: it begins the message operations in the transaction t, which
// purges the items.
func (i *expiredItemEnqueueTx) Begin(t engine.Txn) { i.w = i.e.m.begin(t) }

// Take implements host.ExpiredItemSinkTx: it sends the item as a message, which may be larger than the size
// limit for clients. It fails with CodeQuotaExceeded if the entity is full; the expired item then waits.
func (i *expiredItemEnqueueTx) Take(dead host.ExpiredItem) (taken bool, err error) {
	if i.w.moved > maxMoved {
		return false, nil // for another transaction
	}
	m := message.New(dead.Body)
	m.SetText(message.ContentType, "application/json")
	m.SetString(PropertySource, dead.From)
	m.SetString(PropertyID, dead.ID)
	m.Set(PropertyDied, wire.AppendTimestamp(nil, dead.ExpiredAt.UnixMilli()))
	a, err := i.e.stores[entity.Main].arrivalOf(m)
	if err == nil {
		_, err = i.w.enqueue(i.e, &a)
	}
	return err == nil, err
}

// Finish implements host.ExpiredItemSinkTx: it writes the counters of the message stores that Take has
// changed to the transaction.
func (i *expiredItemEnqueueTx) Finish() { i.w.finish() }

// Leave implements host.ExpiredItemSinkTx: it ends the purge. After a commit it updates the state in memory,
// which wakes receivers.
func (i *expiredItemEnqueueTx) Leave(committed bool) {
	if committed && i.w != nil {
		i.w.tell()
		i.e.recordUse(i.w.now)
		for _, s := range i.w.sources() {
			s.forwardAt(i.w.now)
		}
	}
	i.e.m.gate.Leave()
}
