package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/query"
)

const (
	defaultPage = 100
	maxPage     = 1000
	maxPageSize = 4 << 20
	// maxLooked bounds the work of one page whose filter lets little through: it ends early, with a
	// continuation.
	maxLooked = 64 << 20
)

// List returns one page of the items in a scope, in insertion order inside a partition range, ranges one after
// the other. A page that is full carries a continuation, even if nothing follows; one that is not carries none.
// A continuation stays valid through writes and restarts. CodeBadRequest: a malformed continuation or scope.
func (c *Container) List(ctx context.Context, o ListOptions) (Page, Receipt, error) {
	return c.page(ctx, o, 0, func([]byte) bool { return true })
}

// Query returns one page of the items for which a query of the form SELECT * FROM c WHERE c.a = 1 AND ... holds. Any
// other query is refused with CodeBadRequest.
func (c *Container) Query(ctx context.Context, q QueryRequest) (Page, Receipt, error) {
	params := make(map[string]doc.Value, len(q.Parameters))
	for _, p := range q.Parameters {
		params[p.Name] = p.Value
	}
	filter, err := query.ParseSimple(q.Text, params)
	if err != nil {
		return Page{}, c.refused(), &Error{Code: CodeBadRequest, Message: err.Error(), Err: err}
	}
	h := fnv.New32a()
	h.Write([]byte(q.Text))
	return c.page(ctx, q.ListOptions, h.Sum32(), filter.Match)
}

// span is a resolved scope: the ranges to visit, and what of them.
type span struct {
	ranges   []*slot
	prefix   []byte // of the family k, where one logical partition or a prefix of a hierarchical key is asked for
	min, max []byte // EPK bounds; an empty max has no upper bound
	hash     uint32 // of all this: a continuation is good for one scope
}

// scope resolves a Scope against a state.
func (c *Container) scope(st *containerState, s Scope) (span, error) {
	sp := span{ranges: st.ranges}
	h := fnv.New32a()
	switch {
	case !s.Partition.IsZero():
		pk, err := c.def.scopeKey(s.Partition)
		if err != nil {
			return span{}, err
		}
		epk := appendEPK(nil, &c.def, pk)
		sp.prefix = appendPartitionPrefix(nil, c.cid, famPartition, epk, pk.appendOrdered(nil))
		h.Write(sp.prefix)
		if sp.ranges = []*slot{st.rangeOf(epk)}; pk.Len() < c.def.levels() {
			sp.ranges = st.rangesOver(epk, append(bytes.Clone(epk), 0xFF))
		}
		return sp.withHash(h.Sum32()), nil
	case s.Range != "":
		r := st.rangeByID(s.Range)
		if r == nil {
			return span{}, fail(CodeRangeGone, "The partition key range '"+s.Range+"' does not exist.")
		}
		sp.ranges = []*slot{r}
		h.Write([]byte(s.Range))
	}
	var err error
	if sp.min, err = epkBound(s.MinEPK); err != nil {
		return span{}, err
	}
	if s.MaxEPK != maxEPK {
		if sp.max, err = epkBound(s.MaxEPK); err != nil {
			return span{}, err
		}
	}
	if s.Range == "" {
		sp.ranges = st.rangesOver(sp.min, sp.max)
	}
	h.Write([]byte(s.MinEPK + "-" + s.MaxEPK))
	return sp.withHash(h.Sum32()), nil
}

func (sp span) withHash(h uint32) span {
	sp.hash = h
	return sp
}

// rangesOver are the ranges that overlap [min, max).
func (st *containerState) rangesOver(min, max []byte) []*slot {
	var over []*slot
	for _, s := range st.ranges {
		if (len(s.max) == 0 || bytes.Compare(min, s.max) < 0) && (len(max) == 0 || bytes.Compare(s.min, max) < 0) {
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
		return nil, &Error{Code: CodeBadRequest, Message: "'" + s + "' is not an effective partition key.", Err: err}
	}
	return b, nil
}

func (sp *span) wants(epk []byte) bool {
	return bytes.Compare(sp.min, epk) <= 0 && (len(sp.max) == 0 || bytes.Compare(epk, sp.max) < 0)
}

// pager fills one page.
type pager struct {
	c     *Container
	st    *containerState
	sp    span
	now   int64
	limit int
	match func([]byte) bool

	page          Page
	bytes, looked int
	last          uint64 // rid of the last item looked at
	full          bool
}

func (c *Container) page(ctx context.Context, o ListOptions, hash uint32, match func([]byte) bool) (Page, Receipt, error) {
	defer c.db.enter()()
	st, now, err := c.enter()
	if err != nil {
		return Page{}, Receipt{}, err
	}
	c.gate.RUnlock()
	sp, err := c.scope(st, o.Scope)
	if err != nil {
		return Page{}, c.refused(), err
	}
	sp.hash ^= hash
	at, after, err := parseContinuation(o.Continuation, sp)
	if err != nil {
		return Page{}, c.refused(), err
	}
	if len(sp.ranges) == 0 { // bounds with nothing between them
		return Page{}, c.refused(), nil
	}
	p := pager{c: c, st: st, sp: sp, now: now, limit: pageLimit(o.MaxItems), match: match}
	s := sp.ranges[at]
	for ; at < len(sp.ranges); at++ {
		s = sp.ranges[at]
		if err := c.checkSession(s, o.Session); err != nil {
			return Page{}, c.receipt(s, chargeFailure), err
		}
		p.last = after
		if err := p.fill(ctx, s); err != nil {
			return Page{}, c.receipt(s, chargeFailure), wrap(err)
		}
		if p.full {
			p.page.Continuation = formatContinuation(sp, s, p.last)
			break
		}
		after = 0
	}
	return p.page, c.receipt(s, chargePage(len(p.page.Items), p.looked)), nil
}

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

// fill goes on behind p.last in one range. What it has seen is durable when it returns.
func (p *pager) fill(ctx context.Context, s *slot) error {
	err := p.c.db.eng.View(ctx, func(r engine.Reader) error {
		if p.sp.prefix != nil {
			return p.walkPartition(r, s)
		}
		return p.walkItems(r, s)
	})
	if err != nil {
		return err
	}
	return p.c.db.settle(ctx, s.scope)
}

// walkItems scans a range in rid order.
func (p *pager) walkItems(r engine.Reader, s *slot) error {
	rg := slotFamily(s.scope, famItem)
	rg.Start = appendSlotKey(nil, s.scope, famItem, p.last+1)
	it := r.Scan(rg, false)
	for !p.full && it.Next() {
		rid, ok := slotKeyNumber(it.Key())
		if !ok {
			break
		}
		if err := p.take(rid, it.Value()); err != nil {
			it.Close()
			return err
		}
	}
	return it.Close()
}

// walkPartition scans the posting of a partition key, or of a prefix of a hierarchical one, in rid order. The
// postings of a prefix that lies in several ranges are shared by them: an item that is not in this one is
// left to its own.
func (p *pager) walkPartition(r engine.Reader, s *slot) error {
	rg := engine.Prefix(p.sp.prefix)
	rg.Start = binary.BigEndian.AppendUint64(bytes.Clone(p.sp.prefix), p.last+1)
	it := r.Scan(rg, false)
	var key []byte
	for !p.full && it.Next() {
		rid := binary.BigEndian.Uint64(it.Key()[len(it.Key())-ridLen:])
		key = appendSlotKey(key[:0], s.scope, famItem, rid)
		v, err := r.Get(key)
		if isAbsent(err) {
			continue
		}
		if err == nil {
			err = p.take(rid, v)
		}
		if err != nil {
			it.Close()
			return err
		}
	}
	return it.Close()
}

// take looks at one item.
func (p *pager) take(rid uint64, value []byte) error {
	h, body, err := decodeItem(value)
	if err != nil {
		return err
	}
	p.looked += len(value)
	p.last = rid
	p.full = p.looked >= maxLooked
	if !p.live(h, body) || p.sp.prefix == nil && !p.sp.wants(h.epk) || !p.match(body) {
		return nil
	}
	h.epk = bytes.Clone(h.epk)
	p.page.Items = append(p.page.Items, Item{c: p.c, rid: rid, head: h, body: bytes.Clone(body)})
	p.bytes += len(body)
	p.full = p.full || len(p.page.Items) >= p.limit || p.bytes >= maxPageSize
	return nil
}

func (p *pager) live(h header, body []byte) bool {
	return !p.st.policy().Expired(h.life, p.now) &&
		!p.st.fenced(h, func() []byte { return p.c.def.Extract(body).appendOrdered(nil) })
}

// A continuation says behind which item of which range the next page begins.
//
//	+---------+------------+----------+-------------+
//	| version | scope hash | last rid |  range id   |   base64url
//	+---------+------------+----------+-------------+
//	    1          4           8          text
const continuationVersion = 1

func formatContinuation(sp span, s *slot, last uint64) string {
	b := []byte{continuationVersion}
	b = binary.BigEndian.AppendUint32(b, sp.hash)
	b = binary.BigEndian.AppendUint64(b, last)
	return base64.RawURLEncoding.EncodeToString(append(b, s.id...))
}

func parseContinuation(token string, sp span) (at int, after uint64, err error) {
	if token == "" {
		return 0, 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(token))
	if err != nil || len(b) < 14 || b[0] != continuationVersion || binary.BigEndian.Uint32(b[1:]) != sp.hash {
		return 0, 0, fail(CodeBadRequest, "Invalid Continuation Token")
	}
	if after = binary.BigEndian.Uint64(b[5:]); after == math.MaxUint64 {
		return 0, 0, fail(CodeBadRequest, "Invalid Continuation Token")
	}
	for i, s := range sp.ranges {
		if s.id == string(b[13:]) {
			return i, after, nil
		}
	}
	return 0, 0, fail(CodeBadRequest, "Invalid Continuation Token")
}
