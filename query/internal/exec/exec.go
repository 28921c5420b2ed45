package exec

import (
	"bytes"
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
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
	Spans []cursor.Span
	Trace bool // measure the time of each part, for Explain
	// Certain looks whether a row follows a full page of a query without conditions, too. Else such a page
	// has a cursor even if it is the last, as Cosmos DB has it; all other queries look.
	Certain bool
	Memory  Memory // nil: nothing is kept from page to page

	Tune *Tuning // nil: usual
}

// The defaults of RunOptions, which are those of Cosmos DB.
const (
	DefaultMaxItems = 1000
	DefaultMaxBytes = 4 << 20
	DefaultBudget   = 5 * time.Second
)

// WithDefaults fills in the defaults of fields that are zero.
func (o RunOptions) WithDefaults() RunOptions {
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

// Execution is one run of a plan.
type Execution struct {
	Plan    *plan.Plan
	sources []source.Source
	Opts    RunOptions
	tune    *Tuning
	Run     *eval.Run
	f       *eval.Frame
	page    Page

	spans      []cursor.Span   // of the sources
	from       cursor.Bookmark // where this page begins
	done       cursor.Bookmark // where it has got to
	current    entry           // the document that the frame is at
	rowInDoc   int             // rows of the current document so far
	given      int             // blocking: rows of the result so far
	resume     cursor.Mark     // streaming: where the page begins in the current source
	more       bool            // there is another page
	last       []byte          // DISTINCT in order: the row before
	past       *eval.RowHashes // DISTINCT in the order of rids: all rows before
	replay     bool            // past is to be made of what earlier pages have passed
	caughtUp   bool            // that is done
	spilled    *spilledRows    // what the page before has left, or this one leaves
	writer     *spill.Sorter   // blocking: of the rows that this page leaves
	after      cursor.Bookmark // blocking: where the next page begins
	out        []byte          // the text of the row
	value      jsondoc.Value   // the same as a value, where that is asked for
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

// Run makes one page: see Plan.Run of package query.
func Run(ctx context.Context, p *plan.Plan, sources []source.Source, env eval.Env, o RunOptions) (Page,
	error) {
	x := &Execution{Plan: p, sources: sources, Opts: o.WithDefaults(), tune: o.Tune}
	if x.tune == nil {
		x.tune = usual()
	}
	x.Run = eval.NewRun(ctx, p.Layout, env)
	x.f = eval.NewFrame(x.Run, p.Layout)
	x.single = len(p.Rows.Clauses) <= 1
	if o.Trace {
		x.page.Stats.nodes = make([]nodeFigures, len(p.Nodes))
	}
	if err := x.begin(); err != nil {
		return Page{}, err
	}
	defer x.drop()
	err := x.execute()
	x.page.Stats.UDFCalls = int64(x.Run.Udfs)
	if env.Elapsed != nil {
		x.page.Stats.Elapsed = env.Elapsed()
	}
	if err != nil {
		return Page{Stats: x.page.Stats}, err
	}
	if x.more && x.done.Limit != 0 {
		x.page.Cursor = x.done.Encode(x.Hash(), x.spans)
		if x.past != nil && x.Opts.Memory != nil {
			x.Opts.Memory.Keep(x.page.Cursor, &PageState{hashes: x.past})
			x.past = nil
		}
		if x.spilled != nil {
			x.Opts.Memory.Keep(x.page.Cursor, &PageState{spilled: x.spilled})
			x.spilled = nil
		}
	}
	return x.page, nil
}

// drop removes what no page after this one reads.
func (x *Execution) drop() {
	if x.past != nil {
		x.past.Close()
	}
	x.spilled.close()
}

// Hash returns the hash of the query and its scope that cursors carry.
func (x *Execution) Hash() uint64 { return x.Plan.HashIn(x.Opts.Scope) }

// begin reads the cursor.
func (x *Execution) begin() (err error) {
	if x.spans = x.Opts.Spans; x.spans == nil {
		x.spans = cursor.NumberedSpans(len(x.sources))
	}
	x.from = cursor.Bookmark{Form: x.Plan.Form, At: cursor.Begin(x.spans), Source: -1,
		Offset: x.Plan.Top.Offset,
		Limit:  x.Plan.Top.Limit}
	if x.Opts.Cursor != "" {
		x.from, err = cursor.Decode(x.Opts.Cursor, x.Hash(), x.Plan.Form, x.spans)
	} else if x.Opts.Resume != nil {
		err = x.resumeAt(x.Opts.Resume)
	}
	x.done = x.from
	x.done.Key = bytes.Clone(x.from.Key) // it is written over
	return err
}

func (x *Execution) execute() error {
	if x.done.Limit == 0 {
		return nil
	}
	if x.Plan.Form != cursor.Streaming {
		x.takeSpilled()
	}
	if x.Run.Err == nil {
		x.rowsOf(0, func() bool { return true })
	}
	return x.Run.Err
}

// stop reports whether the page must end: by an error, or, where late may be set, by the time it has taken.
// It looks now and then. Documents that have been sorted are given out first, since to find them again takes
// as long as it took to find them.
func (x *Execution) stop() (late bool, err error) {
	if err := x.pass(lang.RowWork); err != nil {
		return false, err
	}
	if x.ticks++; x.ticks%32 == 0 {
		err = x.look()
	}
	return err == nil && x.late && x.sortedRows == 0, err
}

// Look notes whether the page has taken its time, and returns what ends the run.
func (x *Execution) look() error {
	if !x.Run.Look() {
		return x.Run.Err
	}
	elapsed := x.Run.Env.Elapsed
	x.late = x.late || elapsed != nil && elapsed() > x.Opts.Budget
	return nil
}

// scan walks the documents of a source behind a rid.
func (x *Execution) scan(src source.Source, after uint64) source.Documents {
	docs := src.Scan(after)
	if s, ok := docs.(source.Skipping); ok {
		s.Skip(x.skip)
	}
	return docs
}

// Pass notes work that is done between documents, and returns what ends the run.
func (x *Execution) pass(work int) error {
	if !x.Run.Spend(work) {
		return x.Run.Err
	}
	return nil
}

// passEntry notes an entry of an index that was looked at, and returns what ends the run.
func (x *Execution) passEntry() error {
	x.page.Stats.IndexEntries++
	return x.pass(lang.EntryWork)
}

// Next goes to the next document.
func (x *Execution) Next(docs source.Documents) bool {
	if !x.Opts.Trace || x.Run.Env.Elapsed == nil {
		return docs.Next()
	}
	from := x.Run.Env.Elapsed()
	ok := docs.Next()
	x.page.Stats.Load += x.Run.Env.Elapsed() - from
	return ok
}

// Enter makes a document that was read the current one and reports whether it fulfils the conditions that a
// block makes on the item alone.
func (x *Execution) enter(d source.Document, rs *eval.Rowset) bool {
	x.load(d)
	return x.passes(rs)
}

// load makes a document that was read the current one.
func (x *Execution) load(d source.Document) {
	x.f.Enter(d)
	x.rowInDoc = 0
	x.page.Stats.Loaded++
	x.page.Stats.LoadedBytes += int64(len(x.f.Body))
}

func (x *Execution) passes(rs *eval.Rowset) bool {
	if !x.Opts.Trace || x.Run.Env.Elapsed == nil {
		return x.fulfils(rs)
	}
	from := x.Run.Env.Elapsed()
	ok := x.fulfils(rs)
	x.page.Stats.Filter += x.Run.Env.Elapsed() - from
	return ok
}

func (x *Execution) fulfils(rs *eval.Rowset) bool {
	for _, d := range rs.First {
		if d(x.f) != eval.Yes {
			return false
		}
	}
	if rs.OfItem() {
		for _, d := range rs.Clauses[0].Filter {
			if d(x.f) != eval.Yes {
				return false
			}
		}
	}
	x.page.Stats.Matched++
	return true
}

// Rows calls fn for each row of the current document, which has passed.
func (x *Execution) rows(rs *eval.Rowset, fn func() bool) bool {
	x.rowInDoc = 0
	if rs.OfItem() {
		return rs.Each(x.f, 1, fn)
	}
	return rs.Each(x.f, 0, fn)
}

// passed moves the position behind the current document.
func (x *Execution) passed() {
	rows := 0
	if x.distinct() > 0 && !x.repeated() {
		rows = notGiven
	}
	x.consumed()
	x.done.Rows = rows
}

// consumed moves the position behind the current row.
func (x *Execution) consumed() {
	x.done.Source, x.done.Rid = x.current.source, x.current.rid
	x.done.Key = append(x.done.Key[:0], x.current.key...)
	if x.done.Rows = x.rowInDoc; x.single || x.distinct() > 0 {
		x.done.Rows = 0
	}
}

// resumed reports how many rows of the current document earlier pages have given out.
func (x *Execution) resumed() int {
	if x.current.rid == x.resume.Rid {
		return x.resume.Rows
	}
	return 0
}

// isGiven reports whether an earlier page has given out the row.
func (x *Execution) isGiven() bool { return x.rowInDoc <= x.resumed() }
