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

// RunOptions sets the bounds of one page. A zero field stands for its default.
type RunOptions struct {
	// MaxItems is the maximum number of rows of a page; 0 stands for 1,000. Queries that have to see all rows
	// before they return the first one ignore it.
	MaxItems int
	MaxBytes int                   // maximum size of all rows together; 0: 4 MB. A single row may be larger
	Budget   time.Duration         // time after which a resumable page ends early; 0: 5 s. See Run
	Cursor   string                // of the previous page; empty for the first
	Resume   *OrderByStartPosition // position at which the first page begins; nil: at the first row
	Scope    string                // identifies the sources: a cursor is valid for one scope
	// the span of partition keys of each source, so that a cursor stays valid when a source is divided; nil:
	// the i-th source has the span from i to i+1
	Spans []cursor.SourceKeyRange
	Trace bool // measure the time of each part, for Explain
	// Certain makes a query without conditions check whether any row follows a full page. Without it such a
	// page has a cursor even if it is the last one, as in Cosmos DB. All other queries always check.
	Certain bool
	Memory  PageStateStore // stores state for the next page; nil: no state is kept between pages

	Tune *AccessPathLimits // nil: the usual tuning
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

// Stats holds the statistics of one page.
type Stats struct {
	Loaded       int64 // documents read
	LoadedBytes  int64 // size of their text
	Matched      int64 // documents that match the conditions on the item itself
	Joined       int64 // rows made from the matched documents
	Output       int64 // rows returned
	OutputBytes  int64
	IndexEntries int64 // index entries read
	UDFCalls     int64
	Elapsed      time.Duration // of the run; 0 without Env.Elapsed
	// time spent on reading documents and on testing conditions; measured with Trace only
	Load, Filter time.Duration

	nodes   []planNodeStats // with Trace
	choices []accessPathChoice
}

// Add adds the statistics of another page.
func (s *Stats) Add(o Stats) {
	s.Loaded, s.LoadedBytes, s.Matched = s.Loaded+o.Loaded, s.LoadedBytes+o.LoadedBytes, s.Matched+o.Matched
	s.Joined, s.Output, s.OutputBytes = s.Joined+o.Joined, s.Output+o.Output, s.OutputBytes+o.OutputBytes
	s.IndexEntries, s.UDFCalls = s.IndexEntries+o.IndexEntries, s.UDFCalls+o.UDFCalls
	s.Elapsed, s.Load, s.Filter = s.Elapsed+o.Elapsed, s.Load+o.Load, s.Filter+o.Filter
}

// Execution is one run of a plan, which makes one page.
type Execution struct {
	Plan    *plan.Plan
	sources []source.DocumentSource
	Opts    RunOptions
	tune    *AccessPathLimits
	Run     *eval.QueryRunState
	f       *eval.Frame
	page    Page

	spans    []cursor.SourceKeyRange          // of the sources
	from     cursor.PagePosition              // beginning of this page
	done     cursor.PagePosition              // current position
	current  sortEntry                        // the document that the frame holds
	rowInDoc int                              // rows of the current document so far
	returned int                              // blocking: rows of the result so far
	resume   cursor.SourceWalkSectionProgress // streaming form: beginning of the page in the current source
	more     bool                             // there is another page
	last     []byte                           // DISTINCT in order: the previous row
	past     *eval.RowHashSet                 // DISTINCT in the order of rids: hashes of all previous rows
	// replay is set if the field past (the rows that earlier pages of a DISTINCT have returned) must be
	// computed again from the documents that these pages have read
	replay     bool
	caughtUp   bool                // past has been rebuilt
	spilled    *spilledRows        // rows stored by the previous page or by this one
	writer     *spill.Sorter       // blocking: writes the rows that this page stores
	after      cursor.PagePosition // blocking: beginning of the next page
	out        []byte              // text of the row, in arena or in memory of its own
	ownRow     bool                // out is in memory of its own
	value      jsondoc.Value       // the row as a value, if requested
	arena      []byte              // memory of the page's rows
	rowBytes   int                 // length of the previous row of the page
	ticks      int
	late       bool // the time of the page is over
	paused     bool // the page has ended between two documents, since its time was over
	leaps      int  // number of leaps of intersections
	scanning   bool // all documents are scanned although there are access paths
	sortedRows int  // documents that have been sorted and not yet returned
	single     bool // each document has one row
}

// Run runs a plan over sources and returns one page of the result, the first one or the one after
// o.Cursor: see Plan.Run of package query.
func Run(ctx context.Context, p *plan.Plan, sources []source.DocumentSource, env eval.Env,
	o RunOptions) (Page, error) {
	x := &Execution{Plan: p, sources: sources, Opts: o.WithDefaults(), tune: o.Tune}
	if x.tune == nil {
		x.tune = usual()
	}
	x.Run = eval.NewRun(ctx, p.FrameSettings, env)
	x.f = eval.NewFrame(x.Run, p.FrameSettings)
	x.single = len(p.Rows.Clauses) <= 1
	if o.Trace {
		x.page.Stats.nodes = make([]planNodeStats, len(p.Nodes))
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
			x.Opts.Memory.Keep(x.page.Cursor, &StateBetweenPages{hashes: x.past})
			x.past = nil
		}
		if x.spilled != nil {
			x.Opts.Memory.Keep(x.page.Cursor, &StateBetweenPages{spilled: x.spilled})
			x.spilled = nil
		}
	}
	return x.page, nil
}

// drop releases the DISTINCT set and the stored rows, unless the page has passed them on to the next page.
func (x *Execution) drop() {
	if x.past != nil {
		x.past.Close()
	}
	x.spilled.close()
}

// Hash returns the hash of the query and its scope. Every continuation token contains it, so that a token of
// another query is refused.
func (x *Execution) Hash() uint64 { return x.Plan.HashIn(x.Opts.Scope) }

// begin sets the position at which the page begins: that of the continuation token (Opts.Cursor), that of
// Resume, or the beginning of the result.
func (x *Execution) begin() (err error) {
	if x.spans = x.Opts.Spans; x.spans == nil {
		x.spans = cursor.NumberedSpans(len(x.sources))
	}
	x.from = cursor.PagePosition{Form: x.Plan.Form, At: cursor.Begin(x.spans), Source: -1,
		Offset: x.Plan.Top.Offset,
		Limit:  x.Plan.Top.Limit}
	if x.Opts.Cursor != "" {
		x.from, err = cursor.Decode(x.Opts.Cursor, x.Hash(), x.Plan.Form, x.spans)
	} else if x.Opts.Resume != nil {
		err = x.resumeAt(x.Opts.Resume)
	}
	x.done = x.from
	x.done.Key = bytes.Clone(x.from.Key) // it will be overwritten
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

// stop reports whether the page must end: with an error, or because its time is over (late). It looks at the
// clock only at some of its calls. Documents that have been sorted are returned first even if the time is
// over, since finding them again would take as long.
func (x *Execution) stop() (late bool, err error) {
	if err := x.pass(lang.RowWork); err != nil {
		return false, err
	}
	if x.ticks++; x.ticks%32 == 0 {
		err = x.checkTime()
	}
	return err == nil && x.late && x.sortedRows == 0, err
}

// checkTime returns the error that ends the run, such as a passed time limit or a canceled context, or nil.
// If the time of the page is over, it sets x.late, so that the page ends.
func (x *Execution) checkTime() error {
	if !x.Run.Look() {
		return x.Run.Err
	}
	elapsed := x.Run.Env.Elapsed
	x.late = x.late || elapsed != nil && elapsed() > x.Opts.Budget
	return nil
}

// scan iterates over the documents of a source whose rids are greater than after.
func (x *Execution) scan(src source.DocumentSource, after uint64) source.DocumentIterator {
	docs := src.Scan(after)
	if s, ok := docs.(source.SkippedRIDReporter); ok {
		s.Skip(x.skip)
	}
	return docs
}

// pass adds work, in the units of lang.EntryWork and lang.RowWork, to what the run has done. It returns an
// error if the run has to end.
func (x *Execution) pass(work int) error {
	if !x.Run.Spend(work) {
		return x.Run.Err
	}
	return nil
}

// passEntry counts an index entry that was read. It returns an error if the run must end, for example because
// it has used up its limit of work.
func (x *Execution) passEntry() error {
	x.page.Stats.IndexEntries++
	return x.pass(lang.EntryWork)
}

// passEntries adds n index entries to the statistics. The source has counted them without returning each.
func (x *Execution) passEntries(n int64) { x.page.Stats.IndexEntries += n }

// passCounted adds the work for n index entries that were only counted, and returns the error that ends the
// run.
func (x *Execution) passCounted(n int) error { return x.pass(n * lang.EntryWork) }

// Next advances docs to the next document and returns false at the end. If the run is traced, it measures the
// time.
func (x *Execution) Next(docs source.DocumentIterator) bool {
	if !x.Opts.Trace || x.Run.Env.Elapsed == nil {
		return docs.Next()
	}
	from := x.Run.Env.Elapsed()
	ok := docs.Next()
	x.page.Stats.Load += x.Run.Env.Elapsed() - from
	return ok
}

// enter makes a document the current one and reports whether it matches the conditions in the WHERE of a
// SELECT that use only the document.
func (x *Execution) enter(d source.Document, rs *eval.CompiledSelect) bool {
	x.load(d)
	return x.passes(rs)
}

// load makes a document the current one.
func (x *Execution) load(d source.Document) {
	x.f.Enter(d)
	x.rowInDoc = 0
	x.page.Stats.Loaded++
	x.page.Stats.LoadedBytes += int64(len(x.f.Body))
}

func (x *Execution) passes(rs *eval.CompiledSelect) bool {
	if !x.Opts.Trace || x.Run.Env.Elapsed == nil {
		return x.fulfils(rs)
	}
	from := x.Run.Env.Elapsed()
	ok := x.fulfils(rs)
	x.page.Stats.Filter += x.Run.Env.Elapsed() - from
	return ok
}

func (x *Execution) fulfils(rs *eval.CompiledSelect) bool {
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

// rows calls fn for each row of the current document, which has matched the conditions. It returns false if
// fn has returned false or the run has ended.
func (x *Execution) rows(rs *eval.CompiledSelect, fn func() bool) bool {
	x.rowInDoc = 0
	if rs.OfItem() {
		return rs.Each(x.f, 1, fn)
	}
	return rs.Each(x.f, 0, fn)
}

// passed records that all rows of the current document have been returned: the next page begins after the
// document.
func (x *Execution) passed() {
	rows := 0
	if x.distinct() > 0 && !x.repeated() {
		rows = noneReturned
	}
	x.consumed()
	x.done.Rows = rows
}

// consumed records that the current row has been returned: the next page begins after it, within the same
// document.
func (x *Execution) consumed() {
	x.done.Source, x.done.Rid = x.current.source, x.current.rid
	x.done.Key = append(x.done.Key[:0], x.current.key...)
	if x.done.Rows = x.rowInDoc; x.single || x.distinct() > 0 {
		x.done.Rows = 0
	}
}

// resumed returns how many rows of the current document have been returned by earlier pages.
func (x *Execution) resumed() int {
	if x.current.rid == x.resume.Rid {
		return x.resume.Rows
	}
	return 0
}

// wasReturned reports whether an earlier page has returned the current row of the current document.
func (x *Execution) wasReturned() bool { return x.rowInDoc <= x.resumed() }
