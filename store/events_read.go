package store

import (
	"context"
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Expiration is one entry of a container's log of expiries.
type Expiration struct {
	Key Key
	// ExpiredAt is the second from which on the item was expired, since 1970. Where the container's default
	// was changed between its death and the look of the reaper that found it, it may be the second of that
	// change.
	ExpiredAt int64
	Range     string // id of the partition range
	LSN       uint64 // of the transaction that made the entry, in its range
	Sequence  uint64 // of the entry: it rises from one to the next in its range, and names no other there
	Item      Item   // as its last write left it
	Position  string // behind this entry: for the next call of Expirations
}

// AppendJSON appends the expiration as {"id", "partitionKey": [...], "expiredAt", "lsn", "sequence", "range",
// "document"}.
func (e *Expiration) AppendJSON(dst []byte) []byte {
	dst = jsondoc.AppendString(append(dst, `{"id":`...), e.Key.ID)
	dst = append(dst, `,"partitionKey":[`...)
	for i, v := range e.Key.Partition.Values() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind() == jsondoc.Undefined {
			dst = append(dst, "{}"...) // as in the header that clients send for a key that has no value
		} else {
			dst = append(dst, v.Raw()...)
		}
	}
	dst = strconv.AppendInt(append(dst, `],"expiredAt":`...), e.ExpiredAt, 10)
	dst = strconv.AppendUint(append(dst, `,"lsn":`...), e.LSN, 10)
	dst = strconv.AppendUint(append(dst, `,"sequence":`...), e.Sequence, 10)
	dst = jsondoc.AppendString(append(dst, `,"range":`...), e.Range)
	return append(e.Item.AppendJSON(append(dst, `,"document":`...)), '}')
}

// ExpirationsPage is a part of the log of expiries: entries in the order of their sequences inside a
// partition range.
type ExpirationsPage struct {
	Expirations []Expiration // none: nothing has expired behind the position
	Position    string       // where the next page begins
	// Lost reports whether entries behind the position which was asked for are not kept any more: it was
	// older than the log's retention, or than the log.
	Lost bool
}

// Expirations returns up to limit entries (0: 100) of the container's log of expiries that come after a
// position; "" is the beginning of what is kept. What is answered is durable and will be answered again for
// the same position for as long as it is kept. Each death is in the log once; whether the item has been
// purged by then makes no difference. Positions survive splits of ranges. CodeBadRequest: the container keeps
// no log, or the position is malformed or ahead of the store.
func (c *Container) Expirations(ctx context.Context, after string, limit int) (ExpirationsPage, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	from, err := parsePositions(after, maxSequence)
	if err != nil {
		return ExpirationsPage{}, err
	}
	var r logReader
	err = c.withSources(ctx, Scope{}, func(sp span, sources []*source) error {
		r = logReader{c: c, ranges: sp.ranges, at: make([]uint64, len(sources)),
			share: max(1, pageLimit(limit)/len(sources))}
		for i, src := range sources {
			r.at[i] = from.of(src.s)
		}
		for i, src := range sources {
			if err := r.fill(src, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return ExpirationsPage{}, err
	}
	r.page.Position = formatPositions(r.ranges, r.at)
	return r.page, nil
}

// ExpirationsEnd is the position behind all that is in the log.
func (c *Container) ExpirationsEnd(ctx context.Context) (string, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	var ranges []*partition
	err := c.withSources(ctx, Scope{}, func(sp span, sources []*source) error {
		ranges = sp.ranges
		return keepsLog(sources[0].st)
	})
	if err != nil {
		return "", err
	}
	at := make([]uint64, len(ranges))
	for i, s := range ranges {
		at[i] = uint64(layout.LastOf(c.position(s)))
	}
	return formatPositions(ranges, at), nil
}

// ExpirationsChanged returns a channel that is closed when the log of expiries has grown, or the container
// has changed or gone. Who follows the log takes the channel, calls Expirations and waits where there are
// none.
func (c *Container) ExpirationsChanged() <-chan struct{} { return c.expirySubscribers.Changed() }

func keepsLog(st *containerState) error {
	if st.rec.Log == nil {
		return fault.New(fault.CodeBadRequest,
			"The container keeps no log of expiries: its settings have no 'expiryEvents'.")
	}
	return nil
}

// logReader fills one page.
type logReader struct {
	c      *Container
	ranges []*partition
	at     []uint64
	share  int // entries a range: none shall keep the others from being read
	bytes  int
	page   ExpirationsPage
}

// fill goes on in the i-th range.
func (r *logReader) fill(src *source, i int) error {
	if err := keepsLog(src.st); err != nil {
		return err
	}
	if layout.Sequence(r.at[i]).LSN() > src.at.LSN {
		return fault.New(fault.CodeBadRequest,
			"The position in the log of expiries is ahead of this store: it was given by another one, or before it was restored.")
	}
	asked := r.at[i]
	oldest := src.now - src.st.eventRetention()
	it := src.r.Scan(layout.Behind(src.s.scope, layout.FamilyExpired, layout.Sequence(asked)), false)
	var err error
	for n := 0; err == nil && n < r.share && r.bytes < maxPageSize && it.Next(); {
		seq := layout.KeySequence(it.Key())
		var e layout.Expiry
		if e, err = layout.DecodeExpiry(it.Value()); err != nil {
			break
		}
		r.at[i] = uint64(seq)
		if e.Kind == layout.Floor || e.TS <= oldest {
			r.page.Lost = r.page.Lost || asked > 0
			continue
		}
		n++
		err = r.add(src, seq, &e)
	}
	src.seen = layout.Sequence(r.at[i]).LSN() // so that the next page does not begin ahead of the horizon
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// add appends an entry. Its slices outlive the page's snapshot.
func (r *logReader) add(src *source, seq layout.Sequence, e *layout.Expiry) error {
	key, err := decodeKey(e.PK)
	if err != nil {
		return err
	}
	item := r.c.imageItem(&e.Version, e.Previous)
	r.bytes += len(item.body)
	r.page.Expirations = append(r.page.Expirations, Expiration{
		Key: Key{Partition: key, ID: e.ID}, ExpiredAt: e.At, Item: item,
		Range: src.s.id, LSN: e.Last.LSN(), Sequence: uint64(seq), Position: formatPositions(r.ranges, r.at),
	})
	return nil
}

// Subscription is a webhook of a container, which gets its log of expiries, or a queue or topic, which gets
// its change feed.
type Subscription struct {
	Container *Container
	definition.Webhook
	ChangesTo string // the path of the queue or topic; "" for a webhook
}

// Name tells it from the container's other ones, for Confirmed and Confirm: the URL of a webhook.
func (s Subscription) Name() string {
	if s.ChangesTo != "" {
		return changesPrefix + s.ChangesTo
	}
	return s.URL
}

// Subscriptions are the webhooks of all containers, and the queues and topics to which their changes go.
func (db *DB) Subscriptions() (list []Subscription) { return db.live().subscriptions() }

func (ds *dataset) subscriptions() (list []Subscription) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		if st := c.state.Load(); !st.dropped {
			for _, w := range st.webhooks() {
				list = append(list, Subscription{Container: c, Webhook: w})
			}
			if to := st.rec.Settings.ChangesTo; to != "" {
				list = append(list, Subscription{Container: c, ChangesTo: to})
			}
		}
	}
	return list
}

// SubscriptionsChanged returns a channel that is closed when Subscriptions may have others to return.
func (db *DB) SubscriptionsChanged() <-chan struct{} { return db.subscribers.Changed() }

// Confirmed is the position up to which a subscriber, by its Subscription.Name, has confirmed what it is
// sent; "" before its first confirmation, for which all is sent from its beginning. CodeNotFound: there is no
// such subscriber (any more).
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

// Confirm makes it durable that a subscriber has confirmed all before a position. CodeNotFound: there is no
// such subscriber (any more).
func (c *Container) Confirm(ctx context.Context, name, position string) error {
	if _, err := parsePositions(position, maxSequence); err != nil {
		return err
	}
	return c.again(ctx, func() error { return c.confirm(ctx, name, position) })
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
	_, err = c.ds.eng.Update(ctx, [][]byte{st.ranges[0].scope}, func(t engine.Txn) error {
		if err := st.current(t.Mark(st.ranges[0].scope)); err != nil {
			return err
		}
		setConfirmed(t, c.cid, name, position)
		return nil
	})
	return classify.ToFault(err)
}

func (c *Container) hasSubscriber(st *containerState, name string) error {
	if slices.Contains(st.subscribers(), name) {
		return nil
	}
	return fault.New(fault.CodeNotFound, "The container '"+c.name+"' has no webhook '"+name+"'.")
}
