package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/sharedengine"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// began is the Unix time of second 0 of every history.
const began = 1_700_000_000

// OpenStore returns a TestSubject over package store, with a database and one container. It calls openEngine
// once, and again for each Reopen after the store has been closed; openEngine must then return an engine
// with the same data.
func OpenStore(c TestedContainerConfig, openEngine func() (engine.Engine, error)) (TestSubject, error) {
	s := &testedStore{config: c, openEngine: openEngine, clock: ttl.NewManual(time.Unix(began, 0)),
		ctx: as(context.Background(), checking), op: as(context.Background(), operating),
		issuedETagsRIDsAndLSNs: issuedETagsRIDsAndLSNs{etags: map[string]*itemVersion{},
			rids: map[string]int{},
			lsns: map[string]uint64{}, exact: map[string]bool{}, several: c.Handles > 1},
		last: map[ItemKey][2]string{}, cursors: map[string]*listCursorPosition{}, ranges: map[string]int{},
		def: c.Default, policy: c.Policy}
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	return s, nil
}

// storeInstance is one of several stores over one engine, with its handle of the container. The handle is
// nil until the store is used.
type storeInstance struct {
	db *store.DB
	c  *store.Container
}

// turn switches to the next of several stores that share one engine: the following steps of the test use that
// store. It does nothing if there is only one store.
func (s *testedStore) turn() error {
	if len(s.doors) < 2 {
		return nil
	}
	s.doors = append(s.doors[1:], storeInstance{s.db, s.c})
	s.db, s.c = s.doors[0].db, s.doors[0].c
	if s.c != nil {
		return nil
	}
	if err := s.db.CatchUp(s.ctx); err != nil {
		return err
	}
	return s.find()
}

// find looks up the tested container in the open store, and sets it as the container of the following steps.
func (s *testedStore) find() error {
	d, err := s.db.Database("db")
	if err != nil {
		return err
	}
	s.c, err = d.Container("c")
	return err
}

// closeAll closes the stores.
func (s *testedStore) closeAll() error {
	var errs []error
	for _, d := range s.doors {
		errs = append(errs, d.db.Close())
	}
	return errors.Join(errs...)
}

// testedStore is a store with one container, and the etags, rids and LSNs that it has returned.
type testedStore struct {
	config     TestedContainerConfig
	openEngine func() (engine.Engine, error)
	ctx        context.Context
	clock      *ttl.VirtualClock
	db         *store.DB // the store that executes the steps; of several, the first of doors
	doors      []storeInstance
	op         context.Context     // of the operation of a step; ctx is for the test's own checks
	between    *interleavingEngine // nil: no acts run in gaps
	c          *store.Container

	issuedETagsRIDsAndLSNs
	last    map[ItemKey][2]string // the etags returned by the last two writes of a key
	cursors map[string]*listCursorPosition
	ranges  map[string]int // position of a partition's range
	def     string         // the default time to live in force
	policy  string         // the indexing policy in force
	path    string         // path from which times to live count; empty: _ts
	trace   []string       // where acts have run: see Trace
	cleared bool           // a partition was cleared since the last sweep: the sweep must change data
}

// listCursorPosition is how far a history has read one of its lists: the scope of the list, and the
// continuation of the last page that was read.
type listCursorPosition struct {
	scope        HistoryStep
	continuation string
}

func (s *testedStore) open() error {
	s.db, s.c, s.doors = nil, nil, nil
	e, err := s.openEngine()
	if err != nil {
		return err
	}
	if s.config.Between {
		getter, ok := e.(engine.Getter)
		if !ok {
			return errors.Join(errors.New("the engine reads no single keys"), e.Close())
		}
		s.between = newInterleaver(e, getter)
		e = s.between
	}
	shared, err := sharedengine.Share(e)
	if err != nil {
		return errors.Join(err, e.Close())
	}
	for range max(s.config.Handles, 1) {
		db, err := store.Open(s.ctx, shared.Handle(), store.Options{Clock: s.clock, Ranges: s.config.Ranges,
			Lenient: s.config.Lenient, ManualReaper: true})
		if err != nil {
			return errors.Join(err, s.closeAll())
		}
		s.doors = append(s.doors, storeInstance{db: db})
	}
	s.db = s.doors[0].db
	return nil
}

func (s *testedStore) create() error {
	d, err := s.db.CreateDatabase(s.ctx, "db", definition.Throughput{})
	if err != nil {
		return err
	}
	spec, err := s.spec(s.def, s.policy)
	if err != nil {
		return err
	}
	if s.c, err = d.CreateContainer(s.ctx, spec, definition.Throughput{}); err != nil {
		return err
	}
	if n := len(s.c.Ranges().Ranges); n != s.config.Ranges {
		return fmt.Errorf("the container has %d ranges, not %d", n, s.config.Ranges)
	}
	return nil
}

// spec returns the container's definition as a client would send it.
func (s *testedStore) spec(def, policy string) (definition.ContainerSpec, error) {
	kind := map[string]string{V1: `"kind":"Hash","version":1`, V2: `"kind":"Hash","version":2`,
		Hierarchical: `"kind":"MultiHash","version":2`}
	text := `{"id":"c","partitionKey":{"paths":["` + strings.Join(s.config.paths(), `","`) + `"],` +
		kind[s.config.Kind] + `}`
	if def != "off" {
		text += `,"defaultTtl":` + def
	}
	if s.path != "" {
		text += `,"ttlPropertyPath":"` + s.path + `"`
	}
	if s.config.Unique {
		text += `,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`
	}
	spec, _, err := definition.ParseContainerSpec([]byte(text+`,"indexingPolicy":`+PolicyJSON(policy)+"}"),
		true)
	return spec, err
}

func (s *testedStore) replaceContainer(ctx context.Context, def, policy string) string {
	spec, err := s.spec(def, policy)
	if err != nil {
		return fault.ErrorCode(err).String()
	}
	d, err := s.db.Database("db")
	if err != nil {
		return err.Error()
	}
	c, err := d.ReplaceContainer(ctx, "c", spec, store.WriteOptions{})
	if err != nil {
		return fault.ErrorCode(err).String()
	}
	s.c, s.def, s.policy = c, def, policy
	return "ok"
}

// reindex changes the indexing policy. If histories must be deterministic, the documents are reindexed at
// once.
func (s *testedStore) reindex(policy string) (string, error) {
	got := s.replaceContainer(s.ctx, s.def, policy)
	if s.between == nil {
		return got, nil
	}
	return got, s.between.exclusive(func() error { return s.db.IndexNow(s.ctx) })
}

// count replaces the container's definition by one whose times to live count from the property at path
// instead of from the last write.
func (s *testedStore) count(path string) (string, error) {
	was := s.path
	s.path = path
	got := s.replaceContainer(s.ctx, s.def, s.policy)
	if got != "ok" {
		s.path = was
	}
	if s.between == nil {
		return got, nil
	}
	return got, s.between.exclusive(func() error { return s.db.IndexNow(s.ctx) })
}

// purge runs the reaper until it has nothing left to do.
func (s *testedStore) purge(ctx context.Context) error {
	_, err := s.db.SweepNow(ctx)
	if err == nil {
		s.cleared = false
	}
	return err
}

// sweep purges all expired items. In a history without concurrent operations it returns an empty result. In
// one with concurrent operations it returns how many documents are left, which must be the number of live
// documents, unless operations run during this sweep; then the result is empty as well.
func (s *testedStore) sweep(step HistoryStep) (string, error) {
	if err := s.purge(s.op); err != nil || s.between == nil || step.Between != "" {
		return "", err
	}
	usage, err := s.c.Usage(s.ctx)
	return fmt.Sprintf("%d left", usage.Documents), err
}

func (s *testedStore) reopen() error {
	if err := s.closeAll(); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	return s.find()
}

// Close runs the store's consistency check (DB.Check), before and after a sweep, and closes the store.
func (s *testedStore) Close() error {
	if s.db == nil {
		return nil // a reopen has failed, and the error has been reported
	}
	return errors.Join(s.check(), s.swept(), s.check(), s.closeAll())
}

func (s *testedStore) check() error {
	var found []error
	err := s.db.Check(s.ctx, func(err error) bool {
		found = append(found, fmt.Errorf("check: %w", err))
		return len(found) < 5
	})
	return errors.Join(append(found, err)...)
}

// swept purges the expired items twice. It returns an error if that changes the list of visible items, if the
// second purge finds more expired items, or if the reported number of documents is then wrong.
func (s *testedStore) swept() error {
	before, err := s.list(HistoryStep{})
	if err != nil {
		return err
	}
	if _, err := s.db.SweepNow(s.ctx); err != nil {
		return err
	}
	again, err1 := s.db.SweepNow(s.ctx)
	after, err2 := s.list(HistoryStep{})
	usage, err3 := s.c.Usage(s.ctx)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	switch live := int64(strings.Count(after, ":e")); {
	case again != 0:
		return fmt.Errorf("a second sweep purged %d items", again)
	case before != after:
		return fmt.Errorf("a sweep changed a list from %s to %s", before, after)
	case usage.Documents != live:
		return fmt.Errorf("after a sweep usage counts %d documents, %d are alive", usage.Documents, live)
	}
	return nil
}

// RangeOf returns the index of the partition key range to which a partition belongs, or -1.
func (s *testedStore) RangeOf(partition string) int {
	if at, ok := s.ranges[partition]; ok {
		return at
	}
	id := s.rangeID(partition)
	for i, r := range s.c.Ranges().Ranges {
		if r.ID == id {
			s.ranges[partition] = i
			return i
		}
	}
	return -1
}

func (s *testedStore) rangeID(partition string) string {
	_, receipt, _ := s.c.Read(s.ctx, s.partitionKey(partition), "an id that nobody uses", store.ReadOptions{})
	return receipt.Range
}

// split splits the range that holds a partition. It fails if the partition afterwards still is in a range
// with the old id.
func (s *testedStore) split(ctx context.Context, partition string) error {
	id := s.rangeID(partition)
	if _, err := s.c.Split(ctx, id, ""); err != nil {
		return err
	}
	s.ranges = map[string]int{}
	if now := s.rangeID(partition); now == id {
		return fmt.Errorf("range %s was split and still holds %s", id, partition)
	}
	return nil
}

func (s *testedStore) partitionKey(partition string) definition.PartitionKey {
	var values []jsondoc.Value
	for _, token := range s.config.components(partition) {
		values = append(values, jsondoc.Of([]byte(token)))
	}
	return definition.NewPartitionKey(values...)
}
