package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
)

const (
	defaultPage = 100
	maxPage     = 1000
	maxPageSize = 4 << 20
)

// List returns one page of the items in a scope, in insertion order inside a partition range, ranges one after
// the other. A page that is full carries a continuation, even if nothing follows; one that is not carries none.
// A continuation stays valid through writes and restarts. CodeBadRequest: a malformed continuation or scope.
func (c *Container) List(ctx context.Context, o ListOptions) (Page, Receipt, error) {
	c.db.enter()
	defer c.db.leave()
	p := pager{c: c, limit: pageLimit(o.MaxItems)}
	err := c.withSources(ctx, o.Scope, func(sp span, sources []*source) error {
		at, after, err := parseContinuation(o.Continuation, sp)
		for ; err == nil && at < len(sources) && !p.full; at++ {
			p.served = sources[at].s
			if err = c.checkSession(p.served, o.Session); err == nil {
				err = p.fill(sources[at], after)
			}
			after = 0
		}
		if err == nil && p.full {
			p.page.Continuation = formatContinuation(sp, p.served, p.last)
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
	c      *Container
	limit  int
	page   Page
	bytes  int
	last   uint64 // rid of the last item
	full   bool
	served *slot
}

// fill goes on behind a rid in one range.
func (p *pager) fill(src *source, after uint64) error {
	docs := src.Scan(after)
	for !p.full && docs.Next() {
		r := docs.Document().(*row)
		head := r.head
		head.epk = bytes.Clone(head.epk)
		p.page.Items = append(p.page.Items, Item{c: p.c, rid: r.rid, head: head, body: bytes.Clone(r.body)})
		p.bytes += len(r.body)
		p.last = r.rid
		p.full = len(p.page.Items) >= p.limit || p.bytes >= maxPageSize
	}
	return docs.Close()
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

// span is a resolved scope: the ranges to visit, and what of them.
type span struct {
	ranges   []*slot
	prefix   []byte // of the family k, where one logical partition or a prefix of a hierarchical key is asked for
	epk, pk  []byte // what that is made of
	levels   int    // components of that key
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
		sp.epk, sp.pk, sp.levels = epk, pk.appendOrdered(nil), pk.Len()
		sp.prefix = appendPartitionPrefix(nil, c.cid, famPartition, epk, sp.pk)
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

// name names the scope: a continuation is good for one.
func (sp *span) name() string { return strconv.FormatUint(uint64(sp.hash), 36) }

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
