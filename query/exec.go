package query

import (
	"bytes"
	"context"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/spill"
)

// RunOptions bound one page. A field that is zero stands for its default.
type RunOptions struct {
	// rows of a page; default and most 1,000. Forms that must see all rows first ignore it
	MaxItems int
	MaxBytes int           // of the rows' text; 4 MB. One row may be longer
	Budget   time.Duration // after which a page ends early, where it can be gone on from; 5 s. See Run
	Cursor   string        // of the page before; empty for the first
	Resume   *Resume       // where the first page begins; nil: at the beginning
	Scope    string        // names what the sources are: a cursor is good for one scope
	// what each source covers, so that a cursor outlives the division of a source; nil: sources are numbered
	Spans []Span
	Trace bool // measure the time of each part, for Explain
	// Certain looks whether a row follows a full page of a query without conditions, too. Else such a page
	// has a cursor even if it is the last, as Cosmos DB has it; all other queries look.
	Certain bool
	Memory  Memory // nil: nothing is kept from page to page

	tune *tuning // nil: usual
}

// The defaults of RunOptions, which are those of Cosmos DB.
const (
	DefaultMaxItems = 1000
	DefaultMaxBytes = 4 << 20
	DefaultBudget   = 5 * time.Second
)

func (o RunOptions) withDefaults() RunOptions {
	if o.MaxItems <= 0 {
		o.MaxItems = DefaultMaxItems
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	return o
}

// Page is one page of a result.
type Page struct {
	Rows   [][]byte // JSON values
	Cursor string   // of the next page; empty on the last one
	Stats  Stats
}

// Stats are figures of one page.
type Stats struct {
	Loaded       int64 // documents read
	LoadedBytes  int64 // of their text
	Matched      int64 // documents that fulfil the conditions on the item alone
	Joined       int64 // rows made of them
	Output       int64 // rows given out
	OutputBytes  int64
	IndexEntries int64 // entries of indexes looked at
	UDFCalls     int64
	Elapsed      time.Duration // of the run; 0 without Env.Elapsed
	Load, Filter time.Duration // of reading documents and of conditions, with Trace

	nodes   []nodeFigures // with Trace
	choices []choice
}

// Add adds the figures of another page.
func (s *Stats) Add(o Stats) {
	s.Loaded, s.LoadedBytes, s.Matched = s.Loaded+o.Loaded, s.LoadedBytes+o.LoadedBytes, s.Matched+o.Matched
	s.Joined, s.Output, s.OutputBytes = s.Joined+o.Joined, s.Output+o.Output, s.OutputBytes+o.OutputBytes
	s.IndexEntries, s.UDFCalls = s.IndexEntries+o.IndexEntries, s.UDFCalls+o.UDFCalls
	s.Elapsed, s.Load, s.Filter = s.Elapsed+o.Elapsed, s.Load+o.Load, s.Filter+o.Filter
}

// execution is one run of a plan.
type execution struct {
	plan    *planned
	sources []source.Source
	opts    RunOptions
	tune    *tuning
	run     *run
	f       *frame
	page    Page

	spans      []Span        // of the sources
	from       bookmark      // where this page begins
	done       bookmark      // where it has got to
	current    entry         // the document that the frame is at
	rowInDoc   int           // rows of the current document so far
	given      int           // blocking: rows of the result so far
	resume     mark          // streaming: where the page begins in the current source
	more       bool          // there is another page
	last       []byte        // DISTINCT in order: the row before
	past       *rowHashes    // DISTINCT in the order of rids: all rows before
	replay     bool          // past is to be made of what earlier pages have passed
	caughtUp   bool          // that is done
	spilled    *spilledRows  // what the page before has left, or this one leaves
	writer     *spill.Sorter // blocking: of the rows that this page leaves
	after      bookmark      // blocking: where the next page begins
	out        []byte        // the text of the row
	value      doc.Value     // the same as a value, where that is asked for
	scratch    []byte
	arena      []byte
	ticks      int
	late       bool // the page has taken its time
	paused     bool // it has ended for that between two documents
	leaps      int  // of intersections
	scanning   bool // all documents are looked at although there are ways to those that are wanted
	sortedRows int  // documents that have been sorted and wait to be given out
	single     bool // a document has one row
}

// runPlanned makes one page: see Plan.Run of package query.
func runPlanned(ctx context.Context, p *planned, sources []source.Source, env Env, o RunOptions) (Page, error) {
	x := &execution{plan: p, sources: sources, opts: o.withDefaults(), tune: o.tune}
	if x.tune == nil {
		x.tune = usual()
	}
	x.run = newRun(ctx, p.layout, env)
	x.f = newFrame(x.run, p.layout)
	x.single = len(p.rows.clauses) <= 1
	if o.Trace {
		x.page.Stats.nodes = make([]nodeFigures, len(p.nodes))
	}
	if err := x.begin(); err != nil {
		return Page{}, err
	}
	defer x.drop()
	err := x.execute()
	x.page.Stats.UDFCalls = int64(x.run.udfs)
	if env.Elapsed != nil {
		x.page.Stats.Elapsed = env.Elapsed()
	}
	if err != nil {
		return Page{Stats: x.page.Stats}, err
	}
	if x.more && x.done.limit != 0 {
		x.page.Cursor = x.done.encode(x.hash(), x.spans)
		if x.past != nil && x.opts.Memory != nil {
			x.opts.Memory.Keep(x.page.Cursor, &PageState{hashes: x.past})
			x.past = nil
		}
		if x.spilled != nil {
			x.opts.Memory.Keep(x.page.Cursor, &PageState{spilled: x.spilled})
			x.spilled = nil
		}
	}
	return x.page, nil
}

// drop removes what no page after this one reads.
func (x *execution) drop() {
	if x.past != nil {
		x.past.close()
	}
	x.spilled.close()
}

func (x *execution) hash() uint64 { return x.plan.hashIn(x.opts.Scope) }

// begin reads the cursor.
func (x *execution) begin() (err error) {
	if x.spans = x.opts.Spans; x.spans == nil {
		x.spans = numberedSpans(len(x.sources))
	}
	x.from = bookmark{form: x.plan.form, at: Begin(x.spans), source: -1, offset: x.plan.top.offset,
		limit: x.plan.top.limit}
	if x.opts.Cursor != "" {
		x.from, err = decodeCursor(x.opts.Cursor, x.hash(), x.plan.form, x.spans)
	} else if x.opts.Resume != nil {
		err = x.resumeAt(x.opts.Resume)
	}
	x.done = x.from
	x.done.key = bytes.Clone(x.from.key) // it is written over
	return err
}

func (x *execution) execute() error {
	if x.done.limit == 0 {
		return nil
	}
	if x.plan.form != streaming {
		x.takeSpilled()
	}
	if x.run.Err == nil {
		x.rowsOf(0, func() bool { return true })
	}
	return x.run.Err
}

// stop tells whether the page must end: by an error, or, where late may be set, by the time it has taken. It
// looks now and then. Documents that have been sorted are given out first, since to find them again takes as
// long as it took to find them.
func (x *execution) stop() (late bool, err error) {
	if err := x.pass(lang.RowWork); err != nil {
		return false, err
	}
	if x.ticks++; x.ticks%32 == 0 {
		err = x.look()
	}
	return err == nil && x.late && x.sortedRows == 0, err
}

// Look notes whether the page has taken its time, and returns what ends the run.
func (x *execution) look() error {
	if !x.run.Look() {
		return x.run.Err
	}
	elapsed := x.run.env.Elapsed
	x.late = x.late || elapsed != nil && elapsed() > x.opts.Budget
	return nil
}

// scan walks the documents of a source behind a rid.
func (x *execution) scan(src source.Source, after uint64) source.Documents {
	docs := src.Scan(after)
	if s, ok := docs.(source.Skipping); ok {
		s.Skip(x.skip)
	}
	return docs
}

// pass notes work that is done between documents, and returns what ends the run.
func (x *execution) pass(work int) error {
	if !x.run.Spend(work) {
		return x.run.Err
	}
	return nil
}

// passEntry notes an entry of an index that was looked at, and returns what ends the run.
func (x *execution) passEntry() error {
	x.page.Stats.IndexEntries++
	return x.pass(lang.EntryWork)
}

// next goes to the next document.
func (x *execution) next(docs source.Documents) bool {
	if !x.opts.Trace || x.run.env.Elapsed == nil {
		return docs.Next()
	}
	from := x.run.env.Elapsed()
	ok := docs.Next()
	x.page.Stats.Load += x.run.env.Elapsed() - from
	return ok
}

// enter makes a document that was read the current one and tells whether it fulfils the conditions that a
// block makes on the item alone.
func (x *execution) enter(d source.Document, rs *rowset) bool {
	x.load(d)
	return x.passes(rs)
}

// load makes a document that was read the current one.
func (x *execution) load(d source.Document) {
	x.f.enter(d)
	x.rowInDoc = 0
	x.page.Stats.Loaded++
	x.page.Stats.LoadedBytes += int64(len(x.f.body))
}

func (x *execution) passes(rs *rowset) bool {
	if !x.opts.Trace || x.run.env.Elapsed == nil {
		return x.fulfils(rs)
	}
	from := x.run.env.Elapsed()
	ok := x.fulfils(rs)
	x.page.Stats.Filter += x.run.env.Elapsed() - from
	return ok
}

func (x *execution) fulfils(rs *rowset) bool {
	for _, d := range rs.first {
		if d(x.f) != yes {
			return false
		}
	}
	if rs.ofItem() {
		for _, d := range rs.clauses[0].filter {
			if d(x.f) != yes {
				return false
			}
		}
	}
	x.page.Stats.Matched++
	return true
}

// rows calls fn for each row of the current document, which has passed.
func (x *execution) rows(rs *rowset, fn func() bool) bool {
	x.rowInDoc = 0
	if rs.ofItem() {
		return rs.each(x.f, 1, fn)
	}
	return rs.each(x.f, 0, fn)
}

// passed moves the position behind the current document.
func (x *execution) passed() {
	rows := 0
	if x.distinct() > 0 && !x.repeated() {
		rows = notGiven
	}
	x.consumed()
	x.done.rows = rows
}

// consumed moves the position behind the current row.
func (x *execution) consumed() {
	x.done.source, x.done.rid = x.current.source, x.current.rid
	x.done.key = append(x.done.key[:0], x.current.key...)
	if x.done.rows = x.rowInDoc; x.single || x.distinct() > 0 {
		x.done.rows = 0
	}
}

// resumed tells how many rows of the current document earlier pages have given out.
func (x *execution) resumed() int {
	if x.current.rid == x.resume.rid {
		return x.resume.rows
	}
	return 0
}

// isGiven tells whether an earlier page has given out the row.
func (x *execution) isGiven() bool { return x.rowInDoc <= x.resumed() }
