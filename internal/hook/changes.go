package hook

import (
	"context"
	"strconv"

	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/store"
)

// The application properties of a message that tells a change. PropertySource and PropertyID are those of
// what has expired into a queue, too.
const (
	PropertySource = "Source"    // the database and the container, a string: "shop/carts"
	PropertyID     = "Id"        // of the document, a string
	PropertyLSN    = "Lsn"       // of the change, a long
	PropertyTime   = "ChangedAt" // when it was made, a timestamp of whole seconds
)

// runChanges sends a queue what has changed, again and again, until ctx ends.
func (w *worker) runChanges(ctx context.Context) {
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
			position = page.Position // not worth a write: it passes over what nobody wants
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

// messages are what a queue is sent of a page. The message id is the same whenever a change is sent again:
// the document's _rid, which no other document of any container has, and the LSN.
func (w *worker) messages(page *store.ChangesPage) []*message.Message {
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
