package hook

import (
	"context"
	"strconv"

	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/store"
)

// The application properties of a message about a change. Messages about expired documents have
// PropertySource and PropertyID, too.
const (
	PropertySource = "Source"    // the database and the container, a string: "shop/carts"
	PropertyID     = "Id"        // of the document, a string
	PropertyLSN    = "Lsn"       // of the change, a long
	PropertyTime   = "ChangedAt" // the time of the change, a timestamp of whole seconds
)

// runChanges sends the container's changes to a queue until ctx ends.
func (w *deliveryWorker) runChanges(ctx context.Context) {
	c, position := w.sub.Container, w.confirmed(ctx)
	for ctx.Err() == nil {
		grown := c.Changed()
		var page store.ChangesPage
		w.untilDone(ctx, func() (err error) {
			page, _, err = c.Changes(ctx, store.ChangesRequest{MaxItems: w.o.Batch,
				Start: store.ChangesStart{After: position}})
			return err
		})
		if ctx.Err() != nil {
			return
		}
		if len(page.Changes) == 0 {
			position = page.Position // need not be stored: the skipped changes are not sent
			if page.More {
				continue
			}
			select {
			case <-grown:
			case <-ctx.Done():
			}
			continue
		}
		list := w.messages(&page)
		w.untilDone(ctx, func() error { return w.o.Queues.Put(ctx, w.sub.ChangesTo, list) })
		if w.confirm(ctx, page.Position, len(list)) {
			position = page.Position
		}
	}
}

// messages returns the messages for a page of changes. The message id consists of the document's _rid,
// which is unique among all containers, and the LSN. So a change that is sent again has the same message
// id.
func (w *deliveryWorker) messages(page *store.ChangesPage) []*message.Message {
	info := w.sub.Container.Info()
	list := make([]*message.Message, len(page.Changes))
	for i := range page.Changes {
		change := &page.Changes[i]
		m := message.New(change.Item.AppendJSON(nil))
		m.SetText(message.ContentType, "application/json")
		m.SetText(message.MessageID, change.Item.RID()+":"+strconv.FormatUint(change.LSN, 10))
		m.SetString(PropertySource, info.DatabaseID+"/"+info.ID)
		m.SetString(PropertyID, change.Item.ID())
		m.Set(PropertyLSN, wire.AppendInt64(nil, int64(change.LSN)))
		m.Set(PropertyTime, wire.AppendTimestamp(nil, change.Timestamp*1000))
		list[i] = m
	}
	return list
}
