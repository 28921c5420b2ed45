package store

import (
	"context"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// List returns one page of the items in a scope, in insertion order inside a partition range, one range
// after the other. In one logical partition a page has a continuation if an item follows it. In larger
// scopes a full page has a continuation even if nothing follows. A page that is not full has none, with two
// exceptions: pages by ListOptions.ByRange, and a page that has used up its time on expired items. A
// continuation stays valid through writes, restarts and splits; after a split it works for each of the
// range's children. CodeBadRequest: a malformed continuation or scope.
func (c *Container) List(ctx context.Context, o ListOptions) (ItemPage, OperationReceipt, error) {
	var all itemCopyingSink
	page, r, err := c.ListTo(ctx, o, &all)
	if err == nil {
		page.Items = all
	}
	return page, r, err
}

// PageItemReceiver receives the items of a page while the store reads them.
type PageItemReceiver interface {
	// Reset drops the items that have been added to the present page, because the page is read again from its
	// beginning.
	Reset()
	// Add takes the next item, which is valid only during the call.
	Add(Item)
}

// itemCopyingSink is a PageItemReceiver that copies items.
type itemCopyingSink []Item

func (l *itemCopyingSink) Reset()      { *l = nil }
func (l *itemCopyingSink) Add(it Item) { *l = append(*l, it.Clone()) }

// ListTo reads one page of the items in a scope, in the order of List, and passes the items to a sink instead
// of copying them. The sink must not call the store. If ListTo fails, the sink may have received some items.
func (c *Container) ListTo(ctx context.Context, o ListOptions,
	sink PageItemReceiver) (ItemPage, OperationReceipt, error) {
	c.beginUse()
	defer c.endUse()
	if err := c.checkPositions(ctx, o.Session); err != nil {
		return ItemPage{}, c.refused(), err
	}
	if !o.ByRange {
		return c.list(ctx, o, sink)
	}
	for {
		page, r, err := c.listByRange(ctx, o, sink)
		if o.Scope.Range != "" || fault.ErrorCode(err) != fault.CodeRangeGone { // else: the range was split
			return page, r, err
		}
	}
}

// listByRange returns one page of a list with the pages of Cosmos DB's gateway (ListOptions.ByRange): each
// page has only items of one partition range, and its continuation leads to the next range at the end of this
// one.
func (c *Container) listByRange(ctx context.Context, o ListOptions,
	sink PageItemReceiver) (ItemPage, OperationReceipt, error) {
	st := c.state.Load()
	state := c.viewState(st, 0)
	over, err := scan.SpansOver(state, o.Scope)
	if err != nil {
		return ItemPage{}, c.refused(), classify.ToFault(err)
	}
	if over == nil {
		return c.list(ctx, o, sink)
	}
	l, err := scan.StageOf(state, over, o.Continuation)
	if err != nil {
		return ItemPage{}, c.refused(), err
	}
	o.Scope.Range, o.Continuation = l.Range.ID, l.Token
	page, r, err := c.list(ctx, o, sink)
	if err != nil {
		return ItemPage{}, r, err
	}
	page.Continuation, err = l.NextToken(state, page.Continuation, func(next *view.PartitionRange) (string, error) {
		o.Scope.Range = next.ID
		sp, err := c.scope(st, o.Scope)
		return scan.FormatContinuation(&sp, query.Begin(sp.Spans())), err
	})
	return page, r, classify.ToFault(err)
}

func (c *Container) list(ctx context.Context, o ListOptions, sink PageItemReceiver) (ItemPage,
	OperationReceipt, error) {
	var p itemListPager
	err := c.withSources(ctx, o.Scope,
		func(sp *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			ranges []*container.Partition) error {
			sink.Reset()
			p = itemListPager{c: c, sink: sink, limit: PageLimit(o.MaxItems),
				certain: c.isFull(o.Scope.Partition)}
			spans := sp.Spans()
			from, err := scan.ParseContinuation(o.Continuation, sp, spans)
			for i, src := range sources {
				after, _, left := from.At(spans[i])
				if err != nil || !left {
					continue
				}
				p.served = ranges[i]
				if err = c.checkSession(p.served, o.Session); err == nil {
					err = p.fill(src, after)
				}
				if p.more {
					p.page.Continuation = scan.FormatContinuation(sp, from.Reach(spans, i, p.last, 0))
					break
				}
			}
			return err
		})
	r := c.refused()
	if p.served != nil {
		r = c.receipt(p.served, value.ChargeFailure)
	}
	if err != nil {
		return ItemPage{}, r, err
	}
	r.Charge = value.ChargeRead(p.bytes) + 0.1*float64(p.items)
	return p.page, r, nil
}

// itemListPager collects the items of one page of a list, from one partition range after the other.
type itemListPager struct {
	c       *Container
	sink    PageItemReceiver
	limit   int
	items   int
	certain bool // find out whether an item follows a full page
	page    ItemPage
	bytes   int
	last    uint64 // rid of the last item
	more    bool   // another page follows
	served  *container.Partition
}

// fill adds to the page the items of one range whose rids are greater than after, until the page is full.
func (p *itemListPager) fill(src *scan.DocumentSource, after uint64) error {
	docs := src.Documents(after)
	docs.Expect(p.limit + 1)
	docs.Skip(func(rid uint64) bool {
		p.last, p.more = rid, src.Watch.Late
		return !p.more
	})
	for !p.more && docs.Next() {
		if p.full() {
			p.more = true
			break
		}
		r := docs.Row()
		p.sink.Add(r.Borrow((*containerCallbacksAdapter)(p.c)))
		p.items++
		p.bytes += len(r.Body())
		p.last = r.RID()
		p.more = p.full() && !p.certain
	}
	return docs.Close()
}

func (p *itemListPager) full() bool { return p.items >= p.limit || p.bytes >= MaxPageBytes }

// ItemPage is one page of items in insertion order.
type ItemPage struct {
	Items        []Item
	Continuation string // empty on the last page
}

// isFull reports whether a key has all levels, so that it is the key of one logical partition.
func (c *Container) isFull(k definition.PartitionKey) bool {
	return !k.IsZero() && c.def.Plain(k).Len() == c.def.Levels()
}
