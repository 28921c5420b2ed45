package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// measureQueries compares queries over sets of different sizes that have the same answer, scans with those of
// the bare library, and writes under an indexing policy with writes under none.
func (b *Bench) measureQueries(ctx context.Context) error {
	sets, err := b.makeQuerySets(ctx)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range sets {
			drop(s.dir)
		}
	}()
	for _, part := range []func(context.Context, []querySet) error{
		b.measureSizes, b.measureScans, b.measurePlaces, b.measureIndexing, b.measureHeap,
	} {
		if err := part(ctx, sets); err != nil {
			return err
		}
	}
	return nil
}

// querySet is a closed store of documents to query.
type querySet struct {
	layout
	dir string
}

func (s querySet) String() string { return thousands(int64(s.docs)) + " documents" }

// layouts are the layouts of the sets of --docs-sizes.
func (b *Bench) layouts() []layout {
	all := make([]layout, len(b.Sizes))
	for i, n := range b.Sizes {
		all[i] = layout{docs: n, list: min(b.Sizes[0], maxQueryList)}
	}
	return all
}

// validateSizes checks --docs-sizes: each set must be divisible as a layout does.
func (b *Bench) validateSizes() error {
	refuse := func(why string) error {
		return &OptionError{"docs-sizes", fmt.Sprintf(" %s: %s", strings.Trim(fmt.Sprint(b.Sizes), "[]"),
			why)}
	}
	if len(b.Sizes) < 2 || !slices.IsSorted(b.Sizes) ||
		len(slices.Compact(slices.Clone(b.Sizes))) < len(b.Sizes) {
		return refuse("two sizes or more are needed, each larger than the one before")
	}
	if b.Sizes[0] < minQueryDocs || b.Sizes[len(b.Sizes)-1] > maxQueryDocs {
		return refuse(fmt.Sprintf("a size must be between %d and %d", minQueryDocs, maxQueryDocs))
	}
	for _, l := range b.layouts() {
		if l.list%perGroup != 0 || l.docs%l.list != 0 {
			return refuse(fmt.Sprintf("%d must be a multiple of %d, and the smallest one of %d", l.docs,
				l.list, perGroup))
		}
	}
	return nil
}

const (
	minQueryDocs = 1000
	maxQueryDocs = 100_000_000
)

func (b *Bench) makeQuerySets(ctx context.Context) (sets []querySet, err error) {
	for _, l := range b.layouts() {
		s := querySet{l, b.path("query-" + strconv.Itoa(l.docs))}
		if err := b.makeQueryData(ctx, s.dir, querySpec(), l, l.json); err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// question is a query with what is known of its answer. It is asked with queryTurns values in turn.
type question struct {
	name   string
	text   string
	params func(l layout, k int) []store.Parameter
	rows   func(l layout) int           // of the answer
	first  func(l layout, k int) string // the first row, where it is known
	whole  bool                         // all documents are looked at: its Figure is time for a document
	plan   bool                         // the plan is shown
	limit  *budget
}

func questions() []question {
	group := func(l layout, k int) []store.Parameter {
		return []store.Parameter{parameter("@group", number(l.askedGroup(k)))}
	}
	sized := ratioAtMost(1.5)
	return []question{
		{
			name: "by id", text: `SELECT * FROM c WHERE c.id = @id`, limit: sized,
			params: func(l layout, k int) []store.Parameter {
				return []store.Parameter{parameter("@id", doc.StringValue(newDocument(l.asked(k)).id))}
			},
			rows: func(layout) int { return 1 },
		}, {
			name: "equality", text: `SELECT c.id, c.name FROM c WHERE c["group"] = @group`, limit: sized,
			params: group, rows: layout.rows,
		}, {
			name: "intersection of two equalities", text: `SELECT c.id, c.name FROM c WHERE c.picked = true AND c["group"] = @group`, limit: sized,
			params: group, rows: layout.rows,
		}, {
			name: "range, ORDER BY, LIMIT 20", text: `SELECT VALUE c.seq FROM c WHERE c.seq >= @from AND c.seq < @to ORDER BY c.seq OFFSET 0 LIMIT 20`, limit: sized,
			params: func(l layout, k int) []store.Parameter {
				return []store.Parameter{parameter("@from", number(l.asked(k))),
					parameter("@to", number(l.asked(k)+l.rows()))}
			},
			rows:  func(l layout) int { return min(20, l.rows()) },
			first: func(l layout, k int) string { return strconv.Itoa(l.asked(k)) },
		}, {
			name: "equality, ORDER BY (composite)", text: `SELECT c.id, c.seq FROM c WHERE c["group"] = @group ORDER BY c.seq`, limit: sized,
			params: group, rows: layout.rows,
		}, {
			name: "COUNT with an equality", text: `SELECT VALUE COUNT(1) FROM c WHERE c["group"] = @group`, limit: sized,
			params: group, rows: func(layout) int { return 1 }, first: func(l layout,
				_ int) string {
				return strconv.Itoa(l.rows())
			},
		}, {
			name: "GROUP BY, each document", text: `SELECT c.status, COUNT(1) AS n FROM c GROUP BY c.status`, whole: true,
			rows: func(layout) int { return 4 },
		}, {
			name: "scan with a filter, each document", text: `SELECT VALUE c.id FROM c WHERE c.weight = @weight`, whole: true,
			params: func(_ layout, k int) []store.Parameter {
				return []store.Parameter{parameter("@weight",
					number(k))}
			},
			rows: func(l layout) int { return l.docs / weights },
		},
	}
}

// asked is a question about a container, and what was seen of it.
type asked struct {
	question
	layout  layout
	c       *store.Container
	turn    int
	last    store.QueryPage // the last page; with its plan, where explain is set
	explain bool
	loaded  int64 // documents read for the last answer
	looked  int64 // entries of indexes looked at for it
}

// ask asks once, for all pages, and checks the answer.
func (a *asked) ask(ctx context.Context) error {
	r := store.QueryRequest{Text: a.text, ListOptions: store.ListOptions{MaxItems: -1}, Explain: a.explain}
	k := a.turn
	a.turn++
	if a.params != nil {
		r.Parameters = a.params(a.layout, k)
	}
	rows := 0
	a.loaded, a.looked = 0, 0
	for more := true; more; more = r.Continuation != "" {
		page, _, err := a.c.Query(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if rows == 0 && len(page.Rows) > 0 && a.first != nil && string(page.Rows[0]) != a.first(a.layout, k) {
			return fmt.Errorf("%s: the first row is %s, not %s", a.name, page.Rows[0], a.first(a.layout, k))
		}
		rows += len(page.Rows)
		a.loaded += page.Stats.Loaded
		a.looked += page.Stats.IndexEntries
		a.last, r.Continuation = page, page.Continuation
	}
	if want := a.rows(a.layout); rows != want {
		return fmt.Errorf("%s: %d rows, not %d", a.name, rows, want)
	}
	return nil
}

// stretch asks over and over.
func (a *asked) stretch(ctx context.Context, b *Bench) stretch {
	return func() (ops int, took time.Duration, err error) {
		began := b.clock.Now()
		for took < b.sliceTime() {
			if err := a.ask(ctx); err != nil {
				return ops, took, err
			}
			if ops++; a.whole {
				ops += a.layout.docs - 1
			}
			took = b.clock.Now().Sub(began)
		}
		return ops, took, nil
	}
}

// use says what the plan has made of the indexes.
func (a *asked) use() string {
	u := a.last.Indexes
	names := slices.Clone(u.Single)
	for _, keys := range u.Composite {
		names = append(names, "("+strings.Join(keys, ", ")+")")
	}
	if len(names) == 0 {
		names = []string{"no range or composite index"}
	}
	return fmt.Sprintf("%s: documents read %s, index entries %s; %s", a.name, thousands(a.loaded),
		thousands(a.looked), strings.Join(names, ", "))
}

// openSets opens the stores of sets, to be closed by the caller even if there is an error.
func (b *Bench) openSets(ctx context.Context, sets []querySet,
	spec definition.ContainerSpec) (open []io.Closer, containers []*store.Container, err error) {
	for _, s := range sets {
		db, c, err := b.queryContainer(ctx,
			opening{engine: pebble.Options{Dir: s.dir, CacheBytes: queryCache}}, spec)
		if err != nil {
			return open, nil, err
		}
		open, containers = append(open, db), append(containers, c)
	}
	return open, containers, nil
}

func closeAll(open []io.Closer, err *error) {
	for _, c := range open {
		*err = errors.Join(*err, c.Close())
	}
}

// compareSizes compares each larger set with the smallest one and reports what the largest one has made of
// the indexes.
func (b *Bench) compareSizes(ctx context.Context, q question, sets []querySet,
	containers []*store.Container) error {
	side := func(i int) *asked { return &asked{question: q, layout: sets[i].layout, c: containers[i]} }
	var a *asked
	for i := 1; i < len(sets); i++ {
		a = side(i)
		d, err := b.fight(ctx, fmt.Sprintf("querying %s: %s", sets[i], q.name), a.stretch(ctx, b),
			side(0).stretch(ctx, b))
		if err != nil {
			return err
		}
		var limit *budget
		if i == len(sets)-1 {
			limit = q.limit
		}
		b.report.add(d.growth(q.name+", "+thousands(int64(sets[i].docs)), limit))
	}
	b.report.note("%s", a.use())
	if !q.plan {
		return nil
	}
	a.explain = true
	if err := a.ask(ctx); err != nil {
		return err
	}
	for line := range strings.Lines(a.last.Plan) {
		b.report.note("    %s", strings.TrimRight(line, "\n"))
	}
	return nil
}

// growth is the Figure of a duel of two sizes: the ratio is how many times longer the larger one takes.
func (d duel) growth(name string, limit *budget) Figure {
	f := d.speed(name, limit)
	*f.Ratio = d.ratio(func(ours, theirs float64) float64 { return ours / theirs })
	return f
}

// measureSizes compares queries over the sets, and intersects posting lists.
func (b *Bench) measureSizes(ctx context.Context, sets []querySet) (err error) {
	open, containers, err := b.openSets(ctx, sets, querySpec())
	defer closeAll(open, &err)
	if err != nil {
		return err
	}
	l := sets[0].layout
	b.report.begin("query", fmt.Sprintf(
		"one page of the same answer from sets of different sizes, in this process, one reader, planning included; %d documents match, the intersection's lists have %s and %d; caches of %s warm",
		l.rows(), thousands(int64(l.list)), l.rows(), byteCount.text(queryCache)), thousands(int64(l.docs)))
	for _, q := range questions() {
		if err := b.compareSizes(ctx, q, sets, containers); err != nil {
			return err
		}
	}
	return b.measureLeapfrog(ctx, sets, containers)
}

// measureLeapfrog intersects two posting lists that have nothing in common, and each document in one of them,
// in no order: what that takes is the cost of going through them.
func (b *Bench) measureLeapfrog(ctx context.Context, sets []querySet, containers []*store.Container) error {
	for i, s := range sets {
		a := &asked{c: containers[i], layout: s.layout, question: question{
			name: "leapfrog", text: `SELECT VALUE c.id FROM c WHERE c.heads = true AND c.tails = true`, whole: true,
			rows: func(layout) int { return 0 },
		}}
		each := a.stretch(ctx, b)
		var took []float64
		b.progress.Start(fmt.Sprintf("intersecting: %s entries", thousands(int64(s.docs))), benchSlices)
		for range benchSlices + 1 {
			ops, t, err := each()
			if err != nil {
				return err
			}
			took = append(took, t.Seconds()/float64(ops))
			b.progress.Step(1)
		}
		b.report.add(Figure{Name: fmt.Sprintf("leapfrog, each of %s entries", thousands(int64(s.docs))),
			Value: median(took[1:]), Unit: seconds,
			Budget: valueAtMost(0.15e-6)})
	}
	return nil
}
