package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
)

// Limits of a chunk: the adjacent keys of the source that are read together and written in one transaction of
// the target.
const (
	chunkKeys  = 2000
	chunkBytes = 1 << 20
)

// workers is the number of chunks that are written at a time.
const workers = 4

// maxPasses is the maximum number of passes over all keys. Copy fails if the last of them still finds a
// difference.
const maxPasses = 3

// ErrDiffers is returned by Copy if source and target still differ after several passes although nobody
// writes to them.
var ErrDiffers = errors.New("migrate: source and target differ")

// WatchableSource is a source engine that reports its changes, so that it may be in use during the
// migration.
type WatchableSource interface {
	// Watch makes the source call fn with each change that becomes visible from now on, until stop is called.
	// r is the changed key, if single is set, or a range of keys that has been deleted.
	Watch(fn func(r engine.Range, single bool)) (stop func())
}

// Options say what is copied, and how progress is reported.
type Options struct {
	// Source is the engine to copy from, and Target the engine to copy to. The migration does not close
	// them.
	Source, Target engine.Engine
	// SourceName and TargetName describe the engines in messages, without passwords.
	SourceName, TargetName string
	// Watched means that the source may be in use. It must then be a WatchableSource.
	Watched bool
	// Report, unless nil, is called with the progress after each round, a number of chunks that are copied
	// in parallel. Calls do not overlap.
	Report func(Progress)
}

// Progress says how much of the source one pass of the migration has copied.
type Progress struct {
	Pass    int    // from 1 on
	Keys    uint64 // keys of the source that this pass has read
	Bytes   uint64 // of these keys and their values
	Written uint64 // keys that this pass has set or deleted in the target
	At      []byte // every key of the source below At has been read
}

// percent estimates how many percent of the source's data have keys below at. It returns -1 if the engine
// cannot estimate it.
func percent(source engine.Engine, at []byte) int {
	sized, ok := source.(interface {
		DiskUsage(engine.Range) (uint64, error)
	})
	if !ok {
		return -1
	}
	whole, err := sized.DiskUsage(engine.Range{})
	done, err2 := sized.DiskUsage(engine.Range{End: at})
	if err != nil || err2 != nil || whole == 0 {
		return -1
	}
	return int(100 * done / whole)
}

// EngineMigration is a running migration. Its methods must not be called concurrently. The source may be
// written to at any time.
type EngineMigration struct {
	o       Options
	noted   changedKeys
	at      Progress // of the running pass; At is nil when the pass has ended
	stop    func()   // of Watch
	scopes  [][]byte
	written atomic.Uint64 // by all passes and CatchUps
}

// Start marks the target as the target of this migration; if Watched is set, it also begins to watch the
// changes of the source. A migration that was interrupted is started again in the same way.
func Start(ctx context.Context, o Options) (*EngineMigration, error) {
	if err := host.OpenSource(ctx, o.Source, o.TargetName); err != nil {
		return nil, err
	}
	if err := host.BeginMigration(ctx, o.Target, o.SourceName); err != nil {
		return nil, err
	}
	m := &EngineMigration{o: o, stop: func() {}}
	for i := range workers {
		m.scopes = append(m.scopes, []byte{0xFF, 'm', byte(i)}) // holds no keys; it orders transactions
	}
	if o.Watched {
		w, ok := o.Source.(WatchableSource)
		if !ok {
			return nil, errors.New("migrate: the source cannot be watched")
		}
		m.stop = w.Watch(m.noted.add)
	}
	return m, nil
}

// Stop ends the watching of the source.
func (m *EngineMigration) Stop() { m.stop() }

// Written returns how many keys of the target have been set or deleted.
func (m *EngineMigration) Written() uint64 { return m.written.Load() }

// Copy copies the source to the target in passes over all keys, until a pass finds no difference. It fails if
// the last of maxPasses passes finds one. If the source may change meanwhile (Options.Watched), two passes
// are enough, since changes are recorded for CatchUp. After an error Copy may be called again, and continues.
func (m *EngineMigration) Copy(ctx context.Context) error {
	for {
		err := m.pass(ctx)
		switch {
		case err != nil:
			return err
		case m.at.Written == 0, m.o.Watched && m.at.Pass > 1:
			return nil
		case m.at.Pass == maxPasses:
			return fmt.Errorf("%w: pass %d has found %d keys", ErrDiffers, m.at.Pass, m.at.Written)
		}
	}
}

// Compare returns how many keys differ between source and target. It stops when it has found at least the
// given maximum (most). It writes nothing, and does not compare the first record of the catalog.
func Compare(ctx context.Context, o Options, most uint64) (p Progress, differ uint64, err error) {
	m := &EngineMigration{o: o}
	for from, more := []byte{}, true; more && differ < most; {
		var c *rowChunk
		if c, err = m.read(ctx, from); err != nil {
			return p, differ, err
		}
		if err = m.compare(ctx, c, equivalent); err != nil {
			return p, differ, err
		}
		p.count(c)
		differ += uint64(c.differences())
		if from, more = c.end, c.end != nil; o.Report != nil {
			o.Report(p)
		}
	}
	return p, differ, nil
}

func (p *Progress) count(c *rowChunk) {
	p.Keys += uint64(len(c.rows))
	p.Bytes += uint64(c.bytes)
	p.At = c.end
}

// pass compares all keys once and writes the differences. If the last pass was interrupted, it continues
// there.
func (m *EngineMigration) pass(ctx context.Context) error {
	if m.at.At == nil {
		m.at = Progress{Pass: m.at.Pass + 1, At: []byte{}}
	}
	for {
		if m.noted.size() > manyNoted {
			if _, err := m.CatchUp(ctx); err != nil {
				return err
			}
		}
		round, err := m.readRound(ctx, m.at.At)
		if err != nil {
			return err
		}
		written, err := m.writeRound(ctx, round)
		if err != nil {
			return err
		}
		m.at.Written += written
		for _, c := range round {
			m.at.count(c)
		}
		if m.o.Report != nil {
			m.o.Report(m.at)
		}
		if m.at.At == nil {
			return nil
		}
	}
}

// readRound reads the chunks that follow the key from, as many as there are workers; fewer at the end of the
// source.
func (m *EngineMigration) readRound(ctx context.Context, from []byte) (round []*rowChunk, err error) {
	for range workers {
		m.noted.reading()
		c, err := m.read(ctx, from)
		if err != nil {
			return nil, err
		}
		m.noted.read(c.end)
		if round = append(round, c); c.end == nil {
			break
		}
		from = c.end
	}
	return round, nil
}

// CatchUp copies the keys that the source has changed since they were copied, and returns their number.
// Changes that are made during a call are copied by the next call.
func (m *EngineMigration) CatchUp(ctx context.Context) (copied int, err error) {
	keys, ranges := m.noted.take()
	defer func() { m.noted.putBack(keys, ranges) }() // after an error, the keys that have not been copied
	for len(ranges) > 0 {
		if err := m.copyRange(ctx, ranges[0]); err != nil {
			return copied, err
		}
		ranges = ranges[1:]
	}
	for len(keys) > 0 {
		n := min(len(keys), chunkKeys/4)
		if err := m.copyKeys(ctx, keys[:n]); err != nil {
			return copied, err
		}
		copied += n
		keys = keys[n:]
	}
	return copied, nil
}

// copyRange compares a range of keys in the source and the target, and writes the differences to the target.
func (m *EngineMigration) copyRange(ctx context.Context, r engine.Range) error {
	for from := r.Start; ; {
		c, err := m.read(ctx, from)
		if err != nil {
			return err
		}
		if c.end == nil || bytes.Compare(c.end, r.End) > 0 {
			c.end = r.End
			for n := len(c.rows); n > 0 && bytes.Compare(c.rows[n-1].key, r.End) >= 0; n-- {
				c.rows = c.rows[:n-1]
			}
		}
		if _, err := m.writeRound(ctx, []*rowChunk{c}); err != nil {
			return err
		}
		if bytes.Compare(c.end, r.End) >= 0 {
			return nil
		}
		from = c.end
	}
}

// Finish copies the last changes and makes the target the current data. The caller must make sure that
// nobody writes to the source any more.
func (m *EngineMigration) Finish(ctx context.Context) error {
	for {
		n, err := m.CatchUp(ctx)
		if err != nil {
			return err
		}
		if n == 0 && m.noted.size() == 0 {
			break
		}
	}
	m.stop()
	return host.EndMigration(ctx, m.o.Source, m.o.Target, m.o.TargetName)
}
