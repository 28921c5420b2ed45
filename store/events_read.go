package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/feed"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// Expirations returns the entries of the container's log of expiries that follow a position, up to limit of
// them (100 if limit is 0). The position "" is the oldest entry that is kept. A returned page is durable,
// and the same position returns it again as long as its entries are kept. Each expiry is in the log once,
// whether or not the item has been purged. Positions survive splits of ranges. CodeBadRequest: the
// container keeps no log, or the position is malformed or ahead of the store.
func (c *Container) Expirations(ctx context.Context, after string, limit int) (ExpirationsPage, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	from, err := feed.ParsePositions(after, feed.MaxSequence)
	if err != nil {
		return ExpirationsPage{}, err
	}
	var r feed.ExpiryLogReader
	err = c.withSources(ctx, KeyOrRange{},
		func(sp *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			_ []*container.Partition) error {
			r = feed.ExpiryLogReader{Owner: (*containerCallbacksAdapter)(c), Ranges: sp.Ranges,
				At: make([]uint64,
					len(sources)),
				Share: max(1, PageLimit(limit)/len(sources))}
			for i, src := range sources {
				r.At[i] = from.Of(src.Range)
			}
			for i, src := range sources {
				if err := r.Fill(src, i); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return ExpirationsPage{}, err
	}
	r.Page.Position = feed.FormatPositions(r.Ranges, r.At)
	return r.Page, nil
}

// ExpirationsEnd returns the position after the last entry of the container's log of expiries.
func (c *Container) ExpirationsEnd(ctx context.Context) (string, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	var sp *scan.ResolvedKeyOrRange
	var ranges []*container.Partition
	err := c.withSources(ctx, KeyOrRange{},
		func(s *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			in []*container.Partition) error {
			sp, ranges = s, in
			return feed.KeepsLog(sources[0].State)
		})
	if err != nil {
		return "", err
	}
	at := make([]uint64, len(ranges))
	for i, s := range ranges {
		at[i] = uint64(layout.LastOf(c.position(s)))
	}
	return feed.FormatPositions(sp.Ranges, at), nil
}

// ExpirationsChanged returns a channel that is closed when the log of expiries has grown, or the container
// has changed or been dropped. To follow the log, take the channel, call Expirations, and wait for the
// channel if there are no entries.
func (c *Container) ExpirationsChanged() <-chan struct{} { return c.await(&c.expirySubscribers) }

// EventDestination is either a webhook of a container, which receives its log of expiries, or a queue or
// topic, which receives its change feed.
type EventDestination struct {
	Container *Container
	definition.Webhook
	ChangesTo string // the path of the queue or topic; "" for a webhook
}

// Name identifies the subscription among those of its container, for Confirmed and Confirm. For a webhook
// it is the URL.
func (s EventDestination) Name() string {
	if s.ChangesTo != "" {
		return container.ChangesPrefix + s.ChangesTo
	}
	return s.URL
}

// WhileDelivering runs deliver while this server is the one that sends the subscription's events, until ctx
// ends. Of several servers that share the data, one sends; if it stops, another one continues after the
// confirmed position. The context of deliver is canceled when this server must stop sending.
func (s EventDestination) WhileDelivering(ctx context.Context, deliver func(ctx context.Context)) {
	c := s.Container
	c.ds.in.WhileLeased(ctx, fmt.Sprintf("delivery/%x/%s", c.cid, s.Name()), deliver)
}

// Subscriptions returns the webhooks of all containers, and the queues and topics that receive their
// changes.
func (db *DB) Subscriptions() (list []EventDestination) { return db.live().subscriptions() }

func (ds *openDataset) subscriptions() (list []EventDestination) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		if st := c.state.Load(); !st.Dropped {
			for _, w := range st.Webhooks() {
				list = append(list, EventDestination{Container: c, Webhook: w})
			}
			if to := st.Rec.Settings.ChangesTo; to != "" {
				list = append(list, EventDestination{Container: c, ChangesTo: to})
			}
		}
	}
	return list
}

// CatalogChanged returns a channel that is closed when the result of Subscriptions or the set of databases
// and containers may have changed.
func (db *DB) CatalogChanged() <-chan struct{} { return db.catalogWatch.Changed() }

// Confirmed returns the position up to which a subscriber has confirmed its events; name is
// EventDestination.Name. The position is "" before the first confirmation; events are then sent from the
// oldest one on. CodeNotFound: there is no such subscriber (any more).
func (c *Container) Confirmed(ctx context.Context, name string) (string, error) {
	if err := c.hasSubscriber(c.state.Load(), name); err != nil {
		return "", err
	}
	v, _, err := c.ds.get(ctx, host.CatalogScope(), layout.ConfirmedKey(c.cid, name))
	if isAbsent(err) {
		return "", nil
	}
	return string(v), classify.ToFault(err)
}

// Confirm durably records that a subscriber has confirmed everything before a position. CodeNotFound: there
// is no such subscriber (any more).
func (c *Container) Confirm(ctx context.Context, name, position string) error {
	if _, err := feed.ParsePositions(position, feed.MaxSequence); err != nil {
		return err
	}
	return c.retryOutdated(ctx, func() error { return c.confirm(ctx, name, position) })
}

func (c *Container) confirm(ctx context.Context, name, position string) error {
	st, _, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer c.leave()
	if err := c.hasSubscriber(st, name); err != nil {
		return err
	}
	_, err = c.ds.eng.Update(ctx, [][]byte{st.Ranges[0].Scope}, func(t engine.Txn) error {
		if err := st.Current(t.Mark(st.Ranges[0].Scope)); err != nil {
			return err
		}
		transaction.SetConfirmed(t, c.cid, name, position)
		return nil
	})
	return classify.ToFault(err)
}

func (c *Container) hasSubscriber(st *container.State, name string) error {
	if slices.Contains(st.Subscribers(), name) {
		return nil
	}
	return fault.New(fault.CodeNotFound, "The container '"+c.name+"' has no webhook '"+name+"'.")
}
