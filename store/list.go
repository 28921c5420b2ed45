package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

const (
	defaultPage = 100
	maxPage     = 1000
	maxPageSize = 4 << 20
)

// List returns one page of the items in a scope, in insertion order inside a partition range, ranges one
// after the other. In one logical partition a page has a continuation if an item follows it; elsewhere a page
// that is full has one, even if nothing follows. A page that is not full has none, but see
// ListOptions.ByRange; and one that has gone through what is dead for so long that its time is over has one,
// and goes on from there. A continuation stays valid through writes, restarts and splits; one that was made
// for a range goes on in each of its children. CodeBadRequest: a malformed continuation or scope.
func (c *Container) List(ctx context.Context, o ListOptions) (Page, Receipt, error) {
	c.beginUse()
	defer c.endUse()
	if err := c.checkPositions(ctx, o.Session); err != nil {
		return Page{}, c.refused(), err
	}
	if !o.ByRange {
		return c.list(ctx, o)
	}
	for {
		page, r, err := c.listByRange(ctx, o)
		if o.Scope.Range != "" || fault.ErrorCode(err) != fault.CodeRangeGone { // else it was split meanwhile
			return page, r, err
		}
	}
}

// listByRange is List by ranges.
func (c *Container) listByRange(ctx context.Context, o ListOptions) (Page, Receipt, error) {
	st := c.state.Load()
	over, err := c.spansOf(st, o.Scope)
	if err != nil {
		return Page{}, c.refused(), classify.ToFault(err)
	}
	if over == nil {
		return c.list(ctx, o)
	}
	l, err := st.stage(over, o.Continuation)
	if err != nil {
		return Page{}, c.refused(), err
	}
	o.Scope.Range, o.Continuation = l.s.id, l.token
	page, r, err := c.list(ctx, o)
	if err != nil {
		return Page{}, r, err
	}
	page.Continuation, err = st.onward(l, page.Continuation, func(next *partition) (string, error) {
		o.Scope.Range = next.id
		sp, err := c.scope(st, o.Scope)
		return formatContinuation(&sp, query.Begin(sp.spans())), err
	})
	return page, r, classify.ToFault(err)
}

func (c *Container) list(ctx context.Context, o ListOptions) (Page, Receipt, error) {
	p := pager{c: c, limit: pageLimit(o.MaxItems), certain: c.isFull(o.Scope.Partition)}
	err := c.withSources(ctx, o.Scope, func(sp span, sources []*source) error {
		spans := sp.spans()
		from, err := parseContinuation(o.Continuation, &sp, spans)
		for i, src := range sources {
			after, _, left := from.At(spans[i])
			if err != nil || !left {
				continue
			}
			p.served = src.s
			if err = c.checkSession(p.served, o.Session); err == nil {
				err = p.fill(src, after)
			}
			if p.more {
				p.page.Continuation = formatContinuation(&sp, from.Reach(spans, i, p.last, 0))
				break
			}
		}
		return err
	})
	r := c.refused()
	if p.served != nil {
		r = c.receipt(p.served, chargeFailure)
	}
	if err != nil {
		return Page{}, r, err
	}
	r.Charge = chargeRead(p.bytes) + 0.1*float64(len(p.page.Items))
	return p.page, r, nil
}

// pager fills one page of a list.
type pager struct {
	c       *Container
	limit   int
	certain bool // look whether an item follows a full page
	page    Page
	bytes   int
	last    uint64 // rid of the last item
	more    bool   // another page follows
	served  *partition
}

// fill goes on behind a rid in one range.
func (p *pager) fill(src *source, after uint64) error {
	docs := src.scan(after)
	if docs.items != nil && docs.posting == nil {
		engine.Expect(docs.items, p.limit+1)
	}
	docs.skip = func(rid uint64) bool {
		p.last, p.more = rid, src.watch.Late
		return !p.more
	}
	for !p.more && docs.Next() {
		if p.full() {
			p.more = true
			break
		}
		r := docs.Document().(*row)
		head := r.head
		head.EPK = bytes.Clone(head.EPK)
		p.page.Items = append(p.page.Items, Item{c: p.c, rid: r.rid, head: head, body: bytes.Clone(r.body)})
		p.bytes += len(r.body)
		p.last = r.rid
		p.more = p.full() && !p.certain
	}
	return docs.Close()
}

func (p *pager) full() bool { return len(p.page.Items) >= p.limit || p.bytes >= maxPageSize }

func pageLimit(asked int) int {
	switch {
	case asked == 0:
		return defaultPage
	case asked < 0:
		return maxPage
	default:
		return asked
	}
}

// span is a resolved scope: the ranges to visit, and what of them.
type span struct {
	ranges []*partition
	// of the family k, where one logical partition or a prefix of a hierarchical key is asked for
	prefix   []byte
	epk, pk  []byte // what that is made of
	key      definition.PartitionKey
	levels   int    // components of that key
	shared   bool   // prefix leads to documents of other ranges, too
	min, max []byte // EPK bounds; an empty max has no upper bound
	hash     uint32 // of what is asked for, but not of its bounds
}

// scope resolves a Scope against a state.
func (c *Container) scope(st *containerState, s Scope) (span, error) {
	s = st.inFormer(s)
	sp := span{ranges: st.ranges}
	h := fnv.New32a()
	// the rids and terms of another container say nothing here
	h.Write(binary.BigEndian.AppendUint32(nil, c.cid))
	switch {
	case !s.Partition.IsZero():
		pk, err := c.def.ScopeKey(s.Partition)
		if err != nil {
			return span{}, err
		}
		epk := definition.AppendEPK(nil, &c.def, pk)
		sp.epk, sp.pk, sp.levels, sp.key = epk, pk.AppendOrdered(nil), pk.Len(), pk
		sp.prefix = layout.AppendPartitionPrefix(nil, c.cid, layout.FamilyPartition, epk, sp.pk)
		h.Write([]byte(partOfContainer)) // which one, its bounds tell
		if sp.ranges = []*partition{st.rangeOf(epk)}; pk.Len() < c.def.Levels() {
			sp.ranges = st.rangesOver(epk, behindPrefix(epk))
		}
		sp.shared = len(sp.ranges) > 1
		// a client that goes range by range wants what each of them has of the partition, if anything
		if s.Range != "" {
			r := st.rangeByID(s.Range)
			if r == nil {
				return span{}, rangeGone(s.Range)
			}
			sp.shared = sp.shared || sp.ranges[0] != r
			sp.ranges = []*partition{r}
		}
		return sp.withHash(h.Sum32()), nil
	case s.Range != "":
		r := st.rangeByID(s.Range)
		if r == nil {
			return span{}, rangeGone(s.Range)
		}
		sp.ranges = []*partition{r}
	}
	var err error
	if sp.min, err = epkBound(s.MinEPK); err != nil {
		return span{}, err
	}
	if s.MaxEPK != definition.MaxEPK {
		if sp.max, err = epkBound(s.MaxEPK); err != nil {
			return span{}, err
		}
	}
	if s.Range == "" {
		sp.ranges = st.rangesOver(sp.min, sp.max)
	}
	if s.Range != "" || len(sp.min) > 0 || len(sp.max) > 0 {
		h.Write([]byte(partOfContainer))
	}
	return sp.withHash(h.Sum32()), nil
}

// partOfContainer is in the name of every scope that is not the whole container: a continuation of a range of
// EPKs is good for a partition key in it.
const partOfContainer = "a part"

// behindPrefix is an EPK above all that begin with epk, which is that of the beginning of a hierarchical key.
func behindPrefix(epk []byte) []byte { return append(bytes.Clone(epk), 0xFF) }

func rangeGone(id string) error {
	return fault.New(fault.CodeRangeGone, "The partition key range '"+id+"' does not exist any more.")
}

func (sp span) withHash(h uint32) span {
	sp.hash = h
	return sp
}

// rangesOver are the ranges that overlap [min, max).
func (st *containerState) rangesOver(min, max []byte) []*partition {
	var over []*partition
	for _, s := range st.ranges {
		if (len(s.max) == 0 || bytes.Compare(min, s.max) < 0) &&
			(len(max) == 0 || bytes.Compare(s.min, max) < 0) {
			over = append(over, s)
		}
	}
	return over
}

// epkBound decodes a bound given in hexadecimal; half a byte counts as its upper half.
func epkBound(s string) ([]byte, error) {
	if len(s)%2 == 1 {
		s += "0"
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeBadRequest,
			Message: "'" + s + "' is not an effective partition key.", Err: err}
	}
	return b, nil
}

func (sp *span) wants(epk []byte) bool {
	return bytes.Compare(sp.min, epk) <= 0 && (len(sp.max) == 0 || bytes.Compare(epk, sp.max) < 0)
}

// name names the scope, but not its bounds, which spans tells: a continuation is good for a scope of the same
// name within the same bounds.
func (sp *span) name() string { return strconv.FormatUint(uint64(sp.hash), 36) }

// spans are the bounds of the scope in each of its ranges. They follow one another without gaps.
func (sp *span) spans() []query.Span {
	from, to := sp.min, sp.max
	if sp.prefix != nil {
		from, to = sp.epk, behindPrefix(sp.epk)
	}
	list := make([]query.Span, len(sp.ranges))
	for i, s := range sp.ranges {
		list[i] = query.Span{From: s.min, To: s.max}
		if bytes.Compare(list[i].From, from) < 0 {
			list[i].From = from
		}
		if len(to) > 0 && (len(s.max) == 0 || bytes.Compare(to, s.max) < 0) {
			list[i].To = to
		}
	}
	return list
}

// A continuation says behind which item of which part of the scope the next page begins.
//
//	+---------+------------+----------+
//	| version | scope hash | progress |   base64url
//	+---------+------------+----------+
//	    1          4       query.Progress
const continuationVersion = 2

func formatContinuation(sp *span, at query.Progress) string {
	b := binary.BigEndian.AppendUint32([]byte{continuationVersion}, sp.hash)
	return base64.RawURLEncoding.EncodeToString(at.Append(b))
}

func parseContinuation(token string, sp *span, spans []query.Span) (query.Progress, error) {
	if token == "" {
		return query.Begin(spans), nil
	}
	bad := fault.New(fault.CodeBadRequest, "Invalid Continuation Token")
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(token))
	if err != nil || len(b) < 5 || b[0] != continuationVersion || binary.BigEndian.Uint32(b[1:]) != sp.hash {
		return query.Progress{}, bad
	}
	at, rest, ok := query.ParseProgress(b[5:])
	if !ok || len(rest) > 0 || !at.Covers(spans) {
		return query.Progress{}, bad
	}
	return at, nil
}

// Page is one page of items in insertion order.
type Page struct {
	Items        []Item
	Continuation string // empty on the last page
}

// isFull reports whether a key is that of one logical partition.
func (c *Container) isFull(k definition.PartitionKey) bool {
	return !k.IsZero() && c.def.Plain(k).Len() == c.def.Levels()
}
