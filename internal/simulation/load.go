package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/simulation/database"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

// LoadMeasurementConfig describes a measurement. Its clients create documents; each sends the next one as
// soon as it has the response.
type LoadMeasurementConfig struct {
	Seed     uint64
	Servers  int
	Ranges   int // of the container
	Clients  int // of each server
	Delay    time.Duration
	Load     database.OperationDurations
	Duration time.Duration // simulated
}

// LoadMeasurementResult is the result of a measurement, in simulated time.
type LoadMeasurementResult struct {
	PerSecond float64       // creates
	Group     float64       // average number of creates in a commit
	Rows      float64       // average number of rows that a create writes
	Median    time.Duration // median time of a create
	P99       time.Duration
	// Expected is the expected throughput in creates per second by the formula: ranges · Group / (round trip
	// + commit + Group · processor time of a create), and at most cores / processor time of a create. Group
	// is the average number of creates in a commit.
	Expected float64
	Failed   int
}

// Measure runs simulated servers whose clients create documents, as c describes, and returns the throughput
// and the duration of the creates in simulated time. It must be called in a bubble of testing/synctest.
func Measure(c LoadMeasurementConfig) (LoadMeasurementResult, error) {
	m := &loadMeasurementRun{c: c}
	network := database.NetworkConditions{MinDelay: c.Delay, MaxDelay: c.Delay + c.Delay/50}
	w := &RunningSimulation{config: Config{Seed: c.Seed, Ranges: c.Ranges}, clock: ttl.SystemClock{}}
	w.begin, w.held.issued = w.clock.Now(), make(map[string]uint64)
	w.data = database.New(database.Options{Clock: w.clock, Seed: c.Seed, Network: network, Load: c.Load})
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	err := w.grow(ctx, c.Servers, rng)
	if err == nil {
		err = m.prepare(ctx, w.servers.all())
	}
	var r LoadMeasurementResult
	if err == nil {
		r = m.run(ctx, w)
	}
	for _, s := range w.servers.all() {
		w.end(s, false)
	}
	w.servers.jobs.Wait()
	w.servers.lives.Wait()
	w.data.Wait()
	return r, err
}

// loadMeasurementRun is one run of a load measurement: it records how long the creates of all clients take,
// and how many fail.
type loadMeasurementRun struct {
	c          LoadMeasurementConfig
	containers []*store.Container

	mu     sync.Mutex
	took   []time.Duration
	failed int
}

// prepare creates the container and opens it at each server.
func (m *loadMeasurementRun) prepare(ctx context.Context, servers []*simulatedMayflyServer) error {
	db, err := servers[0].db.CreateDatabase(ctx, databaseName, definition.Throughput{})
	if err != nil {
		return err
	}
	spec, _, err := definition.ParseContainerSpec([]byte(
		`{"id":"load","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`), true)
	if err != nil {
		return err
	}
	if _, err = db.CreateContainerWith(ctx, spec, store.ContainerOptions{Ranges: m.c.Ranges}); err != nil {
		return err
	}
	for _, s := range servers {
		con, err := s.container(ctx, "load")
		if err != nil {
			return err
		}
		m.containers = append(m.containers, con)
	}
	return nil
}

func (m *loadMeasurementRun) run(ctx context.Context, w *RunningSimulation) LoadMeasurementResult {
	work, stop := context.WithTimeout(ctx, m.c.Duration)
	defer stop()
	before, began := w.data.Stats(), w.now()
	var clients sync.WaitGroup
	for n, con := range m.containers {
		for i := range m.c.Clients {
			clients.Go(func() { m.create(work, w, con, n*m.c.Clients+i) })
		}
	}
	clients.Wait()
	passed, after := w.now().Sub(began).Seconds(), w.data.Stats()
	done := float64(max(len(m.took), 1))
	slices.Sort(m.took)
	r := LoadMeasurementResult{PerSecond: done / passed, Failed: m.failed}
	r.Group = done / float64(max(after.Commits-before.Commits, 1))
	r.Rows = float64(after.Rows-before.Rows) / done
	if len(m.took) > 0 {
		r.Median, r.P99 = m.took[len(m.took)/2], m.took[len(m.took)*99/100]
	}
	cpu := m.c.Load.Row.Seconds() * r.Rows
	held := (2*m.c.Delay + m.c.Load.Commit).Seconds() + r.Group*cpu
	r.Expected = float64(m.c.Ranges) * r.Group / held
	if cpu > 0 && m.c.Load.Cores > 0 {
		r.Expected = min(r.Expected, float64(m.c.Load.Cores)/cpu)
	}
	return r
}

// create creates documents until ctx ends.
func (m *loadMeasurementRun) create(ctx context.Context, w *RunningSimulation, con *store.Container,
	client int) {
	for n := 0; ctx.Err() == nil; n++ {
		pk := fmt.Sprintf("p%d", (client*7919+n*104729)%100003)
		body := fmt.Appendf(nil,
			`{"id":"%d-%d","pk":%q,"a":1,"b":"two","c":[3,4],"d":{"e":5,"f":6},"g":true,"h":7.5}`,
			client, n, pk)
		began := w.now()
		_, _, err := con.Create(context.Background(), partitionKey(pk), body, store.WriteOptions{})
		m.mu.Lock()
		if err == nil {
			m.took = append(m.took, w.now().Sub(began))
		} else {
			m.failed++
		}
		m.mu.Unlock()
	}
}
