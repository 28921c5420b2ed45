package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// expiryBoundaryTestRead is one read by a test: what was known about the items before it, and which items it
// returned.
type expiryBoundaryTestRead struct {
	y      *expiryBoundaryFixture
	how    string
	before int64
	known  [plots]lifetimeKnownBeforeRead
	shown  [plots]bool
	open   int64 // shown items that nothing can be said of: leased ones that were just being written
}

// lifetimeKnownBeforeRead holds what is known of an item when a read begins: the number of writes begun and
// ended (odd during a write), the second before which the item is live, and the second from which it is
// expired.
type lifetimeKnownBeforeRead struct{ writes, until, dead int64 }

func (g *expiryBoundaryTestRead) begin() {
	g.open = 0
	for i := range g.known {
		p := &g.y.plots[i]
		g.known[i] = lifetimeKnownBeforeRead{p.writes.Load(), p.until.Load(), p.dead.Load()}
		g.shown[i] = false
	}
	g.before = g.y.now()
}

// settled reports whether the i-th expiryModelItem was not written between the beginning of the read and
// now, so that its known lifetime applies to what the read returned.
func (g *expiryBoundaryTestRead) settled(i int) bool {
	return g.known[i].writes%2 == 0 && g.known[i].writes == g.y.plots[i].writes.Load()
}

// show records that the read has returned an item, and fails the test if the item had expired before the
// read. Unless the item is leased, its expiry follows from its body and ts.
func (g *expiryBoundaryTestRead) show(body jsondoc.Value, ts int64) {
	i, err := strconv.Atoi(body.Member("id").Str())
	if err != nil || g.shown[i] {
		g.y.t.Errorf("%s: shown twice, or wrong: %s (%v)", g.how, body.Raw(), err)
		return
	}
	g.shown[i] = true
	due := ts + g.y.long
	if own := body.Member("ttl"); own.Kind() == jsondoc.Number {
		due = ts + int64(own.Num())
	}
	if g.y.plots[i].kind == leased {
		if !g.settled(i) {
			g.open++
			return
		}
		due = g.known[i].dead
	}
	if due <= g.before {
		g.y.t.Errorf("%s: %s expired at %d; a call that began at %d returned it", g.how, body.Raw(), due,
			g.before)
	}
}

// end checks that the read has returned all live items of a partition, or of all partitions if partition
// is negative.
func (g *expiryBoundaryTestRead) end(partition int) {
	after := g.y.now()
	var judged, shown int64
	for i := range g.known {
		if partition >= 0 && i%partitions != partition {
			continue
		}
		judged++
		if g.shown[i] {
			shown++
		} else if after < g.known[i].until {
			g.y.t.Errorf("%s: %d expires at %d; a call from %d to %d missed it", g.how, i, g.known[i].until,
				g.before, after)
		}
	}
	g.count(judged, shown, after)
}

// count adds a read to the statistics of the test. judged is the number of items that the read covered, and
// shown the number of those that it returned. after is the second at the end of the read.
func (g *expiryBoundaryTestRead) count(judged, shown, after int64) {
	judged, shown = judged-g.open, shown-g.open
	g.y.judged.Add(judged)
	g.y.shown.Add(shown)
	g.y.gone.Add(judged - shown)
	if g.before < after {
		g.y.crossed.Add(judged)
	}
}

// read reads the items again and again until the test ends, by each kind of read in turn, and checks each
// result.
func (y *expiryBoundaryFixture) read(seed uint64) {
	g := &expiryBoundaryTestRead{y: y}
	r := rand.New(rand.NewPCG(seed, 6))
	latest, versions := store.ChangesStart{}, store.ChangesStart{Now: true}
	ways := []struct {
		name string
		ask  func(partition int) error
	}{
		{"point read", func(int) error { return g.point(&y.plots[r.IntN(plots)]) }},
		{"read of many", g.many},
		{"list", g.list},
		{"query", func(p int) error { return g.query("SELECT * FROM c", p) }},
		{"query by key", func(p int) error {
			return g.query("SELECT * FROM c WHERE c.pk = '"+strconv.Itoa(max(p, 0))+"'", max(p, 0))
		}},
		{"query in order", func(p int) error { return g.query("SELECT * FROM c ORDER BY c.id", p) }},
		{"query by index", func(p int) error {
			return g.query("SELECT c.id, c.ttl, c._ts FROM c WHERE c.id >= '0'", p)
		}},
		{"count", g.total},
		{"feed", g.feed},
		{"new in the feed", func(int) error { return g.follow(&latest, store.LatestVersions) }},
		{"all versions", func(int) error { return g.follow(&versions, store.AllVersions) }},
		{"batch read", func(p int) error { return g.batch(max(p, 0), true) }},
		{"bulk read", func(p int) error { return g.batch(p, false) }},
	}
	for !y.over() {
		way := ways[r.IntN(len(ways))]
		g.how = way.name
		if err := way.ask(r.IntN(partitions+1) - 1); err != nil {
			y.t.Errorf("%s: %v", g.how, err)
		}
	}
}

// scope returns the scope of a partition, or that of the whole container if partition is negative.
func scope(partition int) store.KeyOrRange {
	if partition < 0 {
		return store.KeyOrRange{}
	}
	return store.KeyOrRange{Partition: pk(strconv.Itoa(partition))}
}

func (g *expiryBoundaryTestRead) point(p *expiryModelItem) error {
	dead, writes, until, before := p.dead.Load(), p.writes.Load(), p.until.Load(), g.y.now()
	it, _, err := g.y.c.Read(g.y.ctx, pk(p.partition), p.id, store.ReadOptions{})
	after := g.y.now()
	switch {
	case err == nil && (p.kind != leased || writes%2 != 0 || writes != p.writes.Load()):
		g.before, g.shown, g.known, g.open = before, [plots]bool{}, [plots]lifetimeKnownBeforeRead{}, 0
		g.show(jsondoc.Of(it.Body()), it.Timestamp())
		g.count(1, 1, after)
		return nil
	case err != nil && !is(err, fault.CodeNotFound):
		return err
	}
	g.y.check(g.how, p, err == nil, dead, until, before, after)
	return nil
}

func (g *expiryBoundaryTestRead) many(partition int) error {
	var keys []store.ItemKey
	for i := range g.y.plots {
		if p := &g.y.plots[i]; partition < 0 || i%partitions == partition {
			keys = append(keys, store.ItemKey{Partition: pk(p.partition), ID: p.id})
		}
	}
	g.begin()
	items, _, err := g.y.c.ReadMany(g.y.ctx, keys, store.ReadOptions{})
	return g.items(items, partition, err)
}

func (g *expiryBoundaryTestRead) list(partition int) error {
	g.begin()
	page, _, err := g.y.c.List(g.y.ctx, store.ListOptions{Scope: scope(partition), MaxItems: -1})
	return g.items(page.Items, partition, err)
}

func (g *expiryBoundaryTestRead) items(items []store.Item, partition int, err error) error {
	if err != nil {
		return err
	}
	for _, it := range items {
		g.show(jsondoc.Of(it.Body()), it.Timestamp())
	}
	g.end(partition)
	return nil
}

func (g *expiryBoundaryTestRead) query(text string, partition int) error {
	g.begin()
	page, _, err := g.y.c.Query(g.y.ctx,
		store.QueryRequest{Text: text, ListOptions: store.ListOptions{Scope: scope(partition), MaxItems: -1}})
	if err == nil && page.Continuation != "" {
		err = errors.New("an answer of 64 rows goes on")
	}
	if err != nil {
		return err
	}
	for _, row := range page.Rows {
		body := jsondoc.Of(row)
		g.show(body, int64(body.Member("_ts").Num()))
	}
	g.end(partition)
	return nil
}

// total counts the items by a query. The count must be at least the number of items that were alive during
// the whole query, and at most that of items that were alive at some time of it.
func (g *expiryBoundaryTestRead) total(partition int) error {
	g.begin()
	page, _, err := g.y.c.Query(g.y.ctx, store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c",
		ListOptions: store.ListOptions{Scope: scope(partition)}})
	if err != nil {
		return err
	}
	after := g.y.now()
	least, most := 0, 0
	for i, k := range g.known {
		if partition >= 0 && i%partitions != partition {
			continue
		}
		if after < k.until {
			least++
		}
		if !g.settled(i) || k.dead > g.before {
			most++
		}
	}
	if n, err := strconv.Atoi(string(page.Rows[0])); err != nil || n < least || n > most {
		return fmt.Errorf("%s from %d to %d: at least %d are alive, at most %d (%v)", page.Rows[0], g.before,
			after, least, most, err)
	}
	g.count(1, 1, after)
	return nil
}

func (g *expiryBoundaryTestRead) feed(partition int) error {
	g.begin()
	page, _, err := g.y.c.Changes(g.y.ctx, store.ChangesRequest{Scope: scope(partition), MaxItems: -1})
	if err != nil {
		return err
	}
	for _, ch := range page.Changes {
		g.show(jsondoc.Of(ch.Item.Body()), ch.Item.Timestamp())
	}
	g.end(partition)
	return nil
}

// follow reads the next page of a change feed and advances the position at. The feed of latest versions
// must contain live items only, and that of all versions no expiry before its time.
func (g *expiryBoundaryTestRead) follow(at *store.ChangesStart, mode store.ChangeFeedMode) error {
	g.begin()
	page, _, err := g.y.c.Changes(g.y.ctx, store.ChangesRequest{Mode: mode, Start: *at, MaxItems: -1})
	if mode == store.AllVersions && is(err, fault.CodeBadRequest) { // it fell behind the retention
		*at = store.ChangesStart{Now: true}
		return nil
	}
	if err != nil {
		return err
	}
	after := g.y.now()
	*at = store.ChangesStart{After: page.Position}
	n := int64(0)
	for _, ch := range page.Changes {
		switch {
		case ch.Kind == store.ChangeLatest:
			g.show(jsondoc.Of(ch.Item.Body()), ch.Item.Timestamp())
		case ch.Kind != store.ChangeExpire:
			continue
		case ch.Previous == nil:
			return fmt.Errorf("%v has expired, as nobody knows what", ch.Key)
		default:
			due := ch.Previous.Timestamp() + g.y.short
			if own := jsondoc.Of(ch.Previous.Body()).Member("ttl"); own.Kind() == jsondoc.Number {
				due = ch.Previous.Timestamp() + int64(own.Num())
			}
			if due > ch.Timestamp || due > after {
				return fmt.Errorf("%s expires at %d, and was purged at %d", ch.Previous.Body(), due,
					ch.Timestamp)
			}
		}
		n++
	}
	g.count(n, n, after)
	return nil
}

// batch reads items of a partition, or of all partitions if partition is negative, by a batch request and
// checks the results. An atomic batch reads one item.
func (g *expiryBoundaryTestRead) batch(partition int, atomic bool) error {
	var ops []store.ItemOperation
	for i := range g.y.plots {
		if p := &g.y.plots[i]; partition < 0 || i%partitions == partition {
			ops = append(ops, store.ItemOperation{Kind: store.OperationRead, ID: p.id,
				Partition: pk(p.partition)})
		}
	}
	if atomic { // the first missing item ends an atomic batch
		ops = ops[:1]
	}
	g.begin()
	out, _, err := g.y.c.Batch(g.y.ctx, ops[0].Partition, ops,
		store.BatchOptions{Atomic: atomic, ContinueOnError: !atomic})
	if err != nil {
		return err
	}
	for _, r := range out.Results {
		if r.Err == nil {
			g.show(jsondoc.Of(r.Item.Body()), r.Item.Timestamp())
		} else if !is(r.Err, fault.CodeNotFound) {
			return r.Err
		}
	}
	if !atomic {
		g.end(partition)
		return nil
	}
	after := g.y.now()
	if i, _ := strconv.Atoi(ops[0].ID); !g.shown[i] && after < g.known[i].until {
		return fmt.Errorf("%d expires at %d; a call from %d to %d missed it", i, g.known[i].until, g.before,
			after)
	}
	g.count(1, 1, after)
	return nil
}
