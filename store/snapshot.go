package store

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// A snapshot is the whole store at one moment, under a name, kept by the engine. Going back to it does not
// change the data of the open store: it opens the snapshot as a second store and puts that in the place of
// the first.
//
// Each of the two is a DB of its own, with its own engine, catalog, caches and loops; a Database or a
// Container belongs to one of them for ever. So no operation can ever read of both: one that runs while its
// store is replaced is refused with CodeUnavailable, at its next step into the engine at the latest, and its
// caller looks the container up again. The *DB that Open returned is the door to whichever is the live one:
// each of its methods goes to that first.
//
// The new store is a new incarnation of the old: etags differ, numbers of databases and containers go on from
// the higher of the two, and every range goes on above the highest LSN that any range of the old has issued.
// So nothing that a client still holds names something else than it did: an etag fails its condition, a
// session token is satisfied, a continuation of a change feed goes on with what is written from now on. (That
// documents went back is not in the feed.)

// lineage is what the stores that follow each other share.
type lineage struct {
	live atomic.Pointer[DB]
	work turn // one snapshot, restore or Close at a time
	turn gate // shut while a restore is under way; taken after work and before ddl

	heavy   *heavyWork
	memory  *Memory
	closing atomic.Pointer[string] // what Close waits for; nil: it has not begun

	life context.Context // ends when Close is called, and with it what takes long under work
	end  context.CancelFunc

	subscribers notifier // who ask for webhooks: see Subscriptions
}

func newLineage(memory *Memory, heavy *heavyWork) *lineage {
	l := &lineage{work: newTurn(), turn: newGate(), memory: memory, heavy: heavy}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// live is the store that db's methods act on.
func (db *DB) live() *DB { return db.line.live.Load() }

// Incarnation tells the stores that Restore puts in each other's place apart, and stores from each other. It
// waits while a restore is under way: CodeCanceled where ctx ends before. A call that failed with
// CodeUnavailable, where this has changed since before the call, has met a restore: nothing that it did is
// left, and it may be made again.
func (db *DB) Incarnation(ctx context.Context) (uint32, error) {
	if db.line == nil { // it was never opened
		return 0, nil
	}
	if _, err := db.line.turn.look(ctx); err != nil {
		return 0, err
	}
	return db.live().incarnation, nil
}

// Snapshot describes one snapshot.
type Snapshot struct {
	Name      string
	Time      time.Time // of the server's clock, when it was made
	Databases []string
	// Bytes on disk. Files that it shares with the data, or with other snapshots, count in full.
	Bytes int64
}

// snapshotNote is what the engine keeps with a snapshot.
type snapshotNote struct {
	Time      time.Time `json:"time"`
	Databases []string  `json:"databases"`
}

// Snapshot keeps the present state of the whole store under a name: all that has been acknowledged, and the
// state of virtual clocks. It takes a few milliseconds and little room, whatever the size. It fails with
// CodeConflict where the name is taken, CodeBadRequest for a name that is not 1 to 64 lower-case letters,
// digits, '-', '_' and '.', CodeDiskFull, and CodeForbidden where the engine keeps no snapshots.
func (db *DB) Snapshot(ctx context.Context, name string) (Snapshot, error) {
	if err := db.line.work.take(ctx); err != nil {
		return Snapshot{}, err
	}
	defer db.line.work.release()
	db = db.live()
	keeper, err := db.snapshotter()
	if err != nil {
		return Snapshot{}, err
	}
	if err := db.ddl.take(ctx); err != nil {
		return Snapshot{}, err
	}
	defer db.ddl.release()
	if err := db.saveClock(ctx); err != nil {
		return Snapshot{}, err
	}
	note := snapshotNote{Time: db.Now().UTC(), Databases: []string{}}
	for _, d := range db.Databases() {
		note.Databases = append(note.Databases, d.ID())
	}
	raw, err := json.Marshal(note)
	if err != nil {
		return Snapshot{}, wrap(err)
	}
	if err := keeper.Snapshot(ctx, name, raw); err != nil {
		return Snapshot{}, wrap(err)
	}
	list, err := snapshots(ctx, keeper)
	for _, s := range list {
		if s.Name == name {
			return s, nil
		}
	}
	return Snapshot{}, err
}

// Snapshots are all snapshots by name.
func (db *DB) Snapshots(ctx context.Context) ([]Snapshot, error) {
	if err := db.line.work.take(ctx); err != nil {
		return nil, err
	}
	defer db.line.work.release()
	keeper, err := db.live().snapshotter()
	if err != nil {
		return nil, err
	}
	return snapshots(ctx, keeper)
}

func snapshots(ctx context.Context, keeper engine.Snapshotter) ([]Snapshot, error) {
	kept, err := keeper.Snapshots(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	list := make([]Snapshot, len(kept))
	for i, k := range kept {
		var note snapshotNote
		if err := decodeRecord(k.Note, &note); err != nil {
			return nil, wrap(err)
		}
		list[i] = Snapshot{Name: k.Name, Time: note.Time, Databases: note.Databases, Bytes: k.Bytes}
	}
	return list, nil
}

// DeleteSnapshot frees a snapshot: CodeNotFound where there is none. What was restored from it stays.
func (db *DB) DeleteSnapshot(ctx context.Context, name string) error {
	if err := db.line.work.take(ctx); err != nil {
		return err
	}
	defer db.line.work.release()
	keeper, err := db.live().snapshotter()
	if err != nil {
		return err
	}
	return wrap(keeper.DropSnapshot(ctx, name))
}

// Restore puts the whole store back to a snapshot, at once and in one step: a crash leaves the one or the
// other. What was written since the snapshot is gone; virtual clocks go back too. Operations that run
// meanwhile, and all that is done with a Database or Container looked up before, fail with CodeUnavailable;
// see Incarnation. It fails with CodeNotFound where there is no such snapshot and CodeDiskFull; where it
// fails the store goes on as it was.
func (db *DB) Restore(ctx context.Context, name string) error {
	line := db.line
	if err := line.work.take(ctx); err != nil {
		return err
	}
	defer line.work.release()
	if err := line.turn.shut(ctx); err != nil {
		return err
	}
	defer line.turn.open()
	old := line.live.Load()
	keeper, err := old.snapshotter()
	if err != nil {
		return err
	}
	next := &DB{opts: old.opts, line: line, ddl: newTurn(), given: newGivenRows(line.memory)}
	if next.eng, err = old.replace(ctx, keeper, name, next); err != nil {
		return wrap(err)
	}
	next.reapingHeld.Store(old.reapingHeld.Load())
	next.start() // before anybody can ask it for its reaper
	line.live.Store(next)
	line.subscribers.notify()
	// Nobody waits for what the old one has to say: its data is gone.
	if err := old.end(); err != nil && ErrorCode(err) != CodeUnavailable {
		old.opts.Logger.Warn("closing the data that a restore has replaced", "error", err)
	}
	return nil
}

// replace makes next of a snapshot while the catalog stands still.
func (db *DB) replace(ctx context.Context, keeper engine.Snapshotter, name string, next *DB) (engine.Engine, error) {
	if err := db.ddl.take(ctx); err != nil {
		return nil, err
	}
	defer db.ddl.release()
	db.highest() // so that each range knows its position when the engine has stopped
	virtual := db.virtual()
	clock := db.Clock()
	eng, err := keeper.Restore(ctx, name, func(e engine.Engine) error {
		next.eng = e
		ctx := context.WithoutCancel(ctx)
		if err := adopt(ctx, e, db.meta.Next, db.highest()); err != nil {
			return err
		}
		return next.load(ctx)
	})
	if err != nil && virtual != nil {
		err = errors.Join(err, virtual.Restore(clock))
	}
	return eng, err
}

// highest is the highest LSN that a client can have seen of any range, those of dropped containers included,
// or of the catalog. The caller holds ddl.
func (db *DB) highest() uint64 {
	high := max(db.meta.Highest, db.eng.Horizon(layout.CatalogScope()))
	return max(high, highest(db.cat.containers))
}

func highest(containers []*Container) (high uint64) {
	for _, c := range containers {
		for _, s := range c.state.Load().ranges {
			high = max(high, c.db.eng.Horizon(s.scope))
		}
	}
	return high
}

func (db *DB) snapshotter() (engine.Snapshotter, error) {
	if s, ok := db.eng.(engine.Snapshotter); ok {
		return s, nil
	}
	return nil, fail(CodeForbidden, "The storage engine of this server keeps no snapshots.")
}
