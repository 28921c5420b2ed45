package main

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

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/ttl"
)

// benchSection is one family of figures. Sections run in the order of benchSections, since the later ones use
// up the data set that they share.
type benchSection struct {
	name string
	what string // for the help text
	run  func(*bench, context.Context) error
}

func benchSections() []benchSection {
	return []benchSection{
		{"read", "embedded point reads, against raw Gets", (*bench).measureReads},
		{"create", "durable creates, against raw durable batches", (*bench).measureCreates},
		{"query", "queries over sets of different sizes, scans, and what an index costs a write", (*bench).measureQueries},
		{"http", "point reads over HTTP, against an empty handler", (*bench).measureHTTP},
		{"start", "start-up, memory when idle and bytes on disk", (*bench).measureStart},
		{"ttl", "changes of a default TTL", (*bench).measureChanges},
		{"purge", "purging, against raw deletes, and a minute in which everything expires", (*bench).measurePurge},
	}
}

func benchCommand() *cobra.Command {
	b := &bench{clock: ttl.Real{}}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this build on this machine, side by side with the bare engine and an empty server",
		Args:  cobra.NoArgs,
	}
	var help strings.Builder
	help.WriteString("Measure this build on this machine. Each figure stands beside what the bare engine, or an empty server, takes for\n" +
		"the same bytes in the same run, in slices that take turns, so that what disturbs one disturbs the other. The ratio\n" +
		"is what counts. A figure that is over its budget is marked; the exit code is 0 all the same.\n\nSections:\n")
	for _, s := range benchSections() {
		fmt.Fprintf(&help, "  %-8s %s\n", s.name, s.what)
	}
	help.WriteString("\nIt takes up to 6 KB of disk a document, in a temporary folder that is removed at the end.")
	cmd.Long = help.String()
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&b.docs, "docs", 1_000_000, "documents in the data set of the sections start, ttl and purge")
	flags.IntSliceVar(&b.sizes, "docs-sizes", []int{10_000, 100_000, 1_000_000}, "documents in the data sets of the section query, rising")
	flags.StringSliceVar(&b.only, "only", nil, "sections to run, separated by commas (default all)")
	flags.StringVar(&b.dir, "dir", "", "folder to work in; it must be empty, and its content stays (default a temporary folder)")
	flags.Float64Var(&b.seconds, "seconds", 5, "seconds for each measurement")
	flags.BoolVar(&b.json, "json", false, "print the figures as JSON, for programs; the table goes to the standard error output")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, _ []string) error {
		b.progress = newProgress(cmd.ErrOrStderr())
		if b.report = newReport(cmd.OutOrStdout()); b.json {
			b.report.out = cmd.ErrOrStderr()
		}
		if err := b.run(cmd.Context()); err != nil || !b.json {
			return err
		}
		return printResult(cmd.OutOrStdout(), true, "", struct {
			About   about    `json:"about"`
			Figures []figure `json:"figures"`
		}{b.report.about, b.report.figures})
	})
	cmd.AddCommand(benchServerCommand())
	return cmd
}

// bench is one run of the command.
type bench struct {
	docs    int
	sizes   []int // of the sets to query
	only    []string
	dir     string
	seconds float64
	json    bool

	clock    ttl.Clock
	progress *progress
	report   *report
	shared   *dataset // made when the first section asks for it
}

// minBenchDocs is the smallest data set that can be divided as the sections do.
const minBenchDocs = 100

func (b *bench) validate() error {
	if b.docs < minBenchDocs {
		return &usageError{fmt.Sprintf("--docs %d: must be at least %d", b.docs, minBenchDocs)}
	}
	if !(b.seconds > 0 && b.seconds <= 3600) {
		return &usageError{fmt.Sprintf("--seconds %g: must be above 0 and at most 3600", b.seconds)}
	}
	if err := b.validateSizes(); err != nil {
		return err
	}
	var names []string
	for _, s := range benchSections() {
		names = append(names, s.name)
	}
	for _, name := range b.only {
		if !slices.Contains(names, name) {
			return &usageError{fmt.Sprintf("--only %s: there is no such section; there are %s", name, strings.Join(names, ", "))}
		}
	}
	return nil
}

func (b *bench) run(ctx context.Context) (err error) {
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
	for _, s := range benchSections() {
		if len(b.only) > 0 && !slices.Contains(b.only, s.name) {
			continue
		}
		err := s.run(b, ctx)
		b.progress.stop()
		if err != nil {
			return fmt.Errorf("section %s: %w", s.name, err)
		}
	}
	return b.report.end()
}

// makeFolder makes the folder to work in and returns what removes it.
func (b *bench) makeFolder() (remove func() error, err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "mayfly-bench-"); err != nil {
			return nil, fmt.Errorf("cannot make a temporary folder: %w", err)
		}
		return func() error { return os.RemoveAll(b.dir) }, nil
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder: %w", err)
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, &usageError{"--dir " + b.dir + ": the folder is not empty"}
	}
	return func() error { return nil }, nil
}

// describe says what the figures hold for.
func (b *bench) describe() error {
	sync, err := b.timeSync()
	if err != nil {
		return err
	}
	b.report.about = about{
		Version: version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Documents: b.docs, DocumentBytes: benchDocBytes, Seconds: b.seconds, SyncSeconds: sync.Seconds(), At: b.clock.Now().UTC(),
	}
	return b.report.head(b.dir)
}

// timeSync is the median time of making 4 KB durable in the folder. On a file system in memory it is next to
// nothing, and all that is said about durable writes means little.
func (b *bench) timeSync() (time.Duration, error) {
	f, err := os.CreateTemp(b.dir, "sync")
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

// path is a new folder's name in the folder to work in.
func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// drop removes a folder that is not needed any more. Failing to is no reason to stop: the whole goes at the
// end.
func drop(dirs ...string) {
	for _, dir := range dirs {
		_ = os.RemoveAll(dir)
	}
}

// closing joins the error of closing c to the one that is about to be returned.
func closing(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }
