package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// QueryMeasurement is the measurement of one kind of query on one set of documents. Times are medians, in
// seconds.
type QueryMeasurement struct {
	Name      string  `json:"name"`
	Query     string  `json:"query"`
	Documents int     `json:"documents"` // in the set
	CPU       float64 `json:"cpuSeconds"`
	Wall      float64 `json:"wallSeconds"`
	Loaded    int64   `json:"documentsRead"`
	Entries   int64   `json:"indexEntriesRead"`
	Rows      int64   `json:"rows"`
	Pages     int     `json:"pages"`
	Runs      int     `json:"runs"`
	// Cut reports whether reading stopped before the last page, because the pages took too long.
	Cut bool `json:"cut,omitempty"`
	// Failure is the reason if the query has failed.
	Failure string `json:"failure,omitempty"`
	// Growth is the CPU time of the query divided by its CPU time on the smallest of the measured sets of
	// documents. It is nil if there is only one set.
	Growth *float64              `json:"growth,omitempty"`
	Budget *measurementThreshold `json:"budget,omitempty"`
	Within *bool                 `json:"within,omitempty"`
}

const (
	// maxShapeRuns is the maximum number of runs of one query. minShapeRuns is the minimum, unless reading
	// stopped before the last page.
	maxShapeRuns = 200
	minShapeRuns = 2
	// shapeShare is the fraction of --seconds for one query on one set.
	shapeShare = 0.2
	// shapeCut is the maximum time for the pages of one result, as a multiple of --seconds.
	shapeCut = 2
)

// repeatedQuery is one kind of query that is run repeatedly on one set of documents.
type repeatedQuery struct {
	queryShape
	valueDistribution
	b         *BenchmarkRun
	c         *store.Container
	cpu, wall []float64 // of each counted run
	spent     time.Duration
	first     QueryMeasurement // the result of the first run
}

// measureShapes measures those queries of a list that the user has selected, each on all sets of documents,
// one set after the other.
func (b *BenchmarkRun) measureShapes(ctx context.Context, what string, list []queryShape,
	sets []queryBenchmarkDataSet) (err error) {
	if list = b.chosen(list); len(list) == 0 {
		return nil
	}
	open, containers, err := b.openSets(ctx, sets)
	defer closeAll(open, &err)
	if err != nil {
		return err
	}
	b.report.beginShapes(fmt.Sprintf(
		"%s, documents of %d bytes, one reader in this process", what,
		len(sets[0].text(0))), len(sets) > 1)
	b.progress.Start("querying", len(list))
	for _, s := range list {
		sides := make([]*repeatedQuery, len(sets))
		for i := range sets {
			sides[i] = &repeatedQuery{queryShape: s, valueDistribution: sets[i].valueDistribution, b: b,
				c: containers[i]}
		}
		found, err := runInterleaved(ctx, sides)
		if err != nil {
			return err
		}
		b.report.addShape(found)
		b.progress.Step(1)
	}
	b.progress.Stop()
	return nil
}

// runInterleaved runs a query on several sets of documents, the sides, in turn until it has run long
// enough on each, and returns the times for each.
func runInterleaved(ctx context.Context, sides []*repeatedQuery) (found []QueryMeasurement, err error) {
	runtime.GC() // earlier garbage must not be collected during the measurement
	for turn, going := 0, true; going; turn++ {
		going = false
		for _, a := range sides {
			if a.done() {
				continue
			}
			if err := a.run(ctx, turn); err != nil {
				return nil, err
			}
			going = true
		}
	}
	for _, a := range sides {
		found = append(found, a.result())
	}
	for i := range found[1:] {
		larger := &found[i+1]
		if larger.Failure != "" || found[0].Failure != "" {
			continue
		}
		growth := larger.CPU / max(found[0].CPU, 1e-9)
		larger.Growth = &growth
		if i == len(found)-2 && sides[0].growth != nil {
			within := growth <= sides[0].growth.Limit
			larger.Budget, larger.Within = sides[0].growth, &within
		}
	}
	return found, nil
}

// done reports whether the query has run often enough.
func (a *repeatedQuery) done() bool {
	share := time.Duration(shapeShare * a.b.Seconds * float64(time.Second))
	switch {
	case a.first.Failure != "" || a.first.Cut || len(a.cpu) >= maxShapeRuns:
		return true
	case len(a.cpu) < minShapeRuns:
		return a.spent > shapeCut*time.Duration(a.b.Seconds*float64(time.Second))
	}
	return a.spent > share
}

// run runs the query once. The first run is a warm-up: it counts only if it takes so long that there is no
// other run.
func (a *repeatedQuery) run(ctx context.Context, turn int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cpu, told := processCPU()
	began := a.b.clock.Now()
	seen := a.ask(ctx, turn)
	wall := a.b.clock.Now().Sub(began)
	spent, _ := processCPU()
	if spent -= cpu; !told {
		spent = wall
	}
	a.spent += wall
	if turn == 0 {
		a.first = seen
		if !a.done() {
			return nil
		}
	}
	a.cpu, a.wall = append(a.cpu, spent.Seconds()), append(a.wall, wall.Seconds())
	return nil
}

// ask runs the query once, with the parameters for its turn-th run. It reads all pages or, if the shape has a
// page size, only as many rows as one page has. If the query fails, the result has the reason.
func (a *repeatedQuery) ask(ctx context.Context, turn int) (seen QueryMeasurement) {
	began := a.b.clock.Now()
	r := a.request(turn)
	for {
		page, _, err := a.c.Query(ctx, r)
		if err != nil {
			seen.Failure = err.Error()
			return seen
		}
		seen.Pages++
		seen.Rows += int64(len(page.Rows))
		seen.Loaded += page.Stats.Loaded
		seen.Entries += page.Stats.IndexEntries
		enough := a.page > 0 && int(seen.Rows) >= a.page
		if r.Continuation = page.Continuation; r.Continuation == "" || enough {
			return seen
		}
		if a.b.clock.Now().Sub(began).Seconds() > shapeCut*a.b.Seconds {
			seen.Cut = true
			return seen
		}
	}
}

// request returns the query with the parameters of its turn-th run.
func (a *repeatedQuery) request(turn int) store.QueryRequest {
	r := store.QueryRequest{Text: a.text, ListOptions: store.ListOptions{MaxItems: -1}}
	if a.page > 0 {
		r.MaxItems = a.page
	}
	if a.with != nil {
		r.Parameters = a.with(a.valueDistribution, turn)
	}
	if a.queryShape.partition != nil {
		key := a.queryShape.partition(a.valueDistribution, turn)
		r.Scope.Partition = definition.NewPartitionKey(jsondoc.StringValue(key))
	}
	return r
}

// result returns the times of the runs, and what the first of them read.
func (a *repeatedQuery) result() QueryMeasurement {
	s := a.first
	s.Name, s.Query, s.Documents, s.Runs = a.name, a.queryShape.text, a.docs, len(a.cpu)
	s.CPU, s.Wall = median(a.cpu), median(a.wall)
	return s
}
