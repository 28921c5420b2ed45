package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/progress"
	"github.com/mayflydb/mayfly/ttl"
)

// MeasurementGroup is a group of measurements. Sections run in the order of the function Sections, since
// later ones modify the data set that they share.
type MeasurementGroup struct {
	Name string
	What string // description for users
	run  func(*BenchmarkRun, context.Context) error
}

// Sections returns all sections (groups of measurements) of the benchmark, in the order in which they run.
func Sections() []MeasurementGroup {
	return []MeasurementGroup{
		{"read", "embedded point reads, against raw Gets", (*BenchmarkRun).measureReads},
		{"create", "durable creates, against raw durable batches", (*BenchmarkRun).measureCreates},
		{"import", "imports of files, against raw durable batches", (*BenchmarkRun).measureImports},
		{"query", "queries of every shape, scans, and what an index costs a write",
			(*BenchmarkRun).measureQueries},
		{"ycsb", "YCSB's workloads A to F with a ttl, against the same raw operations",
			(*BenchmarkRun).measureYCSB},
		{"feed", "a change feed with several readers, against raw scans", (*BenchmarkRun).measureFeed},
		{"queue", "messages: send, receive, complete, against raw durable batches",
			(*BenchmarkRun).measureQueue},
		{"http", "point reads over HTTP, against an empty handler", (*BenchmarkRun).measureHTTP},
		{"direct", "point reads in direct mode, against HTTPS", (*BenchmarkRun).measureDirect},
		{"start", "start-up, memory when idle and bytes on disk", (*BenchmarkRun).measureStart},
		{"ttl", "changes of a default TTL", (*BenchmarkRun).measureChanges},
		{"purge", "purging, against raw deletes, and a minute in which everything expires",
			(*BenchmarkRun).measurePurge},
	}
}

// Options are the options of a run. Each is a flag of the command.
type Options struct {
	// Docs are the sizes of the data sets in documents, ascending. The section query uses a set of each size,
	// the other sections use the last one. Default: 10,000 for query, 1,000,000 for the others.
	Docs    []int
	Shapes  string   // a regular expression that selects the queries of the section query; "": all
	Only    []string // names of sections; empty: all
	Dir     string   // the working folder, empty or not existing yet; "": a temporary folder
	Seconds float64  // duration of each measurement
	Version string   // version of the program
	Compare string   // a file with an older result, as JSON; "": none
	// MaxDrop is the largest loss of a figure against the result in the file Compare that is not an error,
	// as a fraction of 1. With 0 no loss is an error. Only statistically significant losses count.
	MaxDrop float64
	SVG     string // a folder for a picture of each section; "": none
}

// BenchmarkRun is one run of the benchmark: its options, and the results so far.
type BenchmarkRun struct {
	Options
	clock    ttl.Clock
	progress *progress.Bar
	report   *reportWriter
	shared   *expiringDataset // created when a section first needs it
	older    RunResult        // to compare with
	changes  []MeasurementChange
}

// New returns a run that writes its table to report, and shows its progress on a terminal.
func New(o Options, report io.Writer, terminal io.Writer) *BenchmarkRun {
	return &BenchmarkRun{Options: o, clock: ttl.SystemClock{},
		progress: progress.New(terminal, ttl.SystemClock{}), report: newReport(report)}
}

// RunResult contains the figures of a run, as they are written to JSON files.
type RunResult struct {
	About   RunConditions       `json:"about"`
	Figures []Measurement       `json:"figures"`
	Shapes  []QueryMeasurement  `json:"shapes,omitempty"`
	Changes []MeasurementChange `json:"changes,omitempty"`
}

// RunResult returns the figures that Run has measured.
func (b *BenchmarkRun) Result() RunResult {
	return RunResult{b.report.about, b.report.figures, b.report.shapes, b.changes}
}

// OptionError reports a flag with an invalid value.
type OptionError struct{ Flag, Reason string }

// Error returns the message, with the flag's name.
func (e *OptionError) Error() string { return "--" + e.Flag + e.Reason }

// minBenchDocs is the smallest number of documents with which the sections of the benchmark can run, since
// they divide the documents among partitions, write times and parts of the measurement.
const minBenchDocs = 100

// docs returns the size of the data set of the sections start, ttl and purge.
func (b *BenchmarkRun) docs() int {
	if len(b.Docs) == 0 {
		return 1_000_000
	}
	return b.Docs[len(b.Docs)-1]
}

// runs reports whether a section is selected.
func (b *BenchmarkRun) runs(section string) bool {
	return len(b.Only) == 0 || slices.Contains(b.Only, section)
}

func (b *BenchmarkRun) validate() error {
	if !slices.IsSorted(b.Docs) || len(slices.Compact(slices.Clone(b.Docs))) < len(b.Docs) {
		return &OptionError{"docs", ": each size must be larger than the one before"}
	}
	if n := b.docs(); n < minBenchDocs {
		return &OptionError{"docs", fmt.Sprintf(" %d: must be at least %d", n, minBenchDocs)}
	}
	if !(b.Seconds > 0 && b.Seconds <= 3600) {
		return &OptionError{"seconds", fmt.Sprintf(" %g: must be above 0 and at most 3600", b.Seconds)}
	}
	if b.runs("query") {
		if err := b.validateQueries(); err != nil {
			return err
		}
	}
	if b.MaxDrop < 0 || b.MaxDrop > 0 && b.Compare == "" {
		return &OptionError{"max-drop", fmt.Sprintf(" %g: must be above 0, with --compare", b.MaxDrop)}
	}
	if b.Compare != "" {
		var err error
		if b.older, err = readResult(b.Compare); err != nil {
			return err
		}
	}
	var names []string
	for _, s := range Sections() {
		names = append(names, s.Name)
	}
	for _, name := range b.Only {
		if !slices.Contains(names, name) {
			return &OptionError{"only", fmt.Sprintf(" %s: there is no such section; there are %s", name,
				strings.Join(names, ", "))}
		}
	}
	return nil
}

// Run runs the sections. It returns an *OptionError for invalid options.
func (b *BenchmarkRun) Run(ctx context.Context) (err error) {
	if err := b.validate(); err != nil {
		return err
	}
	remove, err := b.makeFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := b.describe(); err != nil {
		return err
	}
	for _, s := range Sections() {
		if !b.runs(s.Name) {
			continue
		}
		err := s.run(b, ctx)
		b.progress.Stop()
		if err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
	}
	return b.finish()
}

// finish draws the charts, compares the result with an older one if there is one, and ends the report.
func (b *BenchmarkRun) finish() error {
	if b.SVG != "" {
		if err := drawFigures(b.SVG, b.report.figures); err != nil {
			return err
		}
	}
	if b.Compare == "" {
		return b.report.end()
	}
	b.changes = changes(b.older.Figures, b.report.figures)
	b.report.addChanges(b.Compare, b.changes)
	if err := b.report.end(); err != nil {
		return err
	}
	if worse := dropped(b.changes, b.MaxDrop); b.MaxDrop > 0 && len(worse) > 0 {
		return &RegressionError{worse}
	}
	return nil
}

// makeFolder creates the working folder and returns a function that removes it.
func (b *BenchmarkRun) makeFolder() (remove func() error, err error) {
	if b.Dir == "" {
		if b.Dir, err = os.MkdirTemp("", "mayfly-bench-"); err != nil {
			return nil, fmt.Errorf("cannot make a temporary folder: %w", err)
		}
		return func() error { return os.RemoveAll(b.Dir) }, nil
	}
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder: %w", err)
	}
	entries, err := os.ReadDir(b.Dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, &OptionError{"dir", " " + b.Dir + ": the folder is not empty"}
	}
	return func() error { return nil }, nil
}

// describe prints the conditions of the run: version, machine, options, and the time of a sync.
func (b *BenchmarkRun) describe() error {
	sync, err := b.timeSync()
	if err != nil {
		return err
	}
	b.report.about = RunConditions{
		Version: b.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" +
			runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Documents: b.docs(), DocumentBytes: benchDocBytes, Seconds: b.Seconds, SyncSeconds: sync.Seconds(),
		At: b.clock.Now().UTC(),
	}
	return b.report.head(b.Dir)
}

// timeSync returns the median time of syncing 4 KB in the folder. On an in-memory file system it is close to
// zero, and the figures for durable writes mean little.
func (b *BenchmarkRun) timeSync() (time.Duration, error) {
	f, err := os.CreateTemp(b.Dir, "sync")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var all latencies
	for range 21 {
		began := b.clock.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		all = append(all, b.clock.Now().Sub(began))
	}
	return all.sorted().quantile(0.5), nil
}

// path returns the path of a new folder in the working folder.
func (b *BenchmarkRun) path(name string) string { return filepath.Join(b.Dir, name) }

// drop removes folders that are no longer needed. It ignores errors, since the working folder is removed at
// the end.
func drop(dirs ...string) {
	for _, dir := range dirs {
		_ = os.RemoveAll(dir)
	}
}

// closing closes c and joins its error to *err.
func closing(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }
