package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/ttl"
)

const (
	followEvery = time.Second // time between two CatchUps after everything has been copied once
	retryAfter  = 5 * time.Second
	reportEvery = 10 * time.Second
	// finishTime is the time limit of Close for finishing the migration. It is less than the time limit of
	// a server for its whole Close.
	finishTime  = 9 * time.Second
	finishTries = 3 // maximum number of tries without progress
)

// MigratingEngine is the engine of a folder that is migrated while a server uses it. It closes both the
// source and the target.
type MigratingEngine struct {
	*pebble.Engine
	m         *EngineMigration
	target    engine.Engine
	name      string
	clock     ttl.Clock
	log       *slog.Logger
	cancel    context.CancelFunc
	ended     chan struct{}
	following atomic.Bool
}

// Serve starts the migration of the data folder source, and returns the engine with which a server works on
// that folder meanwhile. It overwrites Source, Watched and Report of the options. If it fails, the caller
// must close source and target.
func Serve(ctx context.Context, source *pebble.Engine, o Options, clock ttl.Clock,
	log *slog.Logger) (*MigratingEngine,
	error) {
	l := &MigratingEngine{Engine: source, target: o.Target, name: o.TargetName, clock: clock, log: log,
		ended: make(chan struct{})}
	o.Source, o.Watched, o.Report = source, true, l.report()
	var err error
	if l.m, err = Start(ctx, o); err != nil {
		return nil, err
	}
	var running context.Context
	running, l.cancel = context.WithCancel(context.Background())
	go l.run(running)
	return l, nil
}

// Following reports whether everything has been copied once. From then on Close can finish the migration.
func (l *MigratingEngine) Following() bool { return l.following.Load() }

// report returns a function for Options.Report that logs the progress from time to time.
func (l *MigratingEngine) report() func(Progress) {
	last := l.clock.Now()
	return func(p Progress) {
		now := l.clock.Now()
		if now.Sub(last) < reportEvery {
			return
		}
		last = now
		l.log.Info("migrating", "pass", p.Pass, "percent", percent(l.Engine, p.At), "keys", p.Keys, "to",
			l.name)
	}
}

// run copies everything, and then copies what the source writes, until ctx ends.
func (l *MigratingEngine) run(ctx context.Context) {
	defer close(l.ended)
	for ctx.Err() == nil {
		if err := l.step(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("the migration is interrupted and will be tried again", "error", err)
			l.wait(ctx, retryAfter)
		} else {
			l.wait(ctx, followEvery)
		}
	}
}

// step copies everything, or, once that has been done, what the source has written since.
func (l *MigratingEngine) step(ctx context.Context) error {
	if l.following.Load() {
		_, err := l.m.CatchUp(ctx)
		return err
	}
	if err := l.m.Copy(ctx); err != nil {
		return err
	}
	l.following.Store(true)
	l.log.Info("everything is copied, and new writes are copied every second; the store changes over when "+
		"the server is stopped", "to", l.name)
	return nil
}

// Close finishes the migration, if everything has been copied at least once, and closes the source and the
// target. If the migration is not finished, the source still has the current data, and the next start of the
// server continues the migration. All transactions must have ended.
func (l *MigratingEngine) Close() error {
	following := l.following.Load()
	l.cancel()
	<-l.ended
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	err := errUnfinished
	for tries := 0; following && err != nil && tries < finishTries && ctx.Err() == nil; tries++ {
		left := l.m.noted.size()
		if err = l.m.Finish(ctx); l.m.noted.size() < left {
			tries = 0
		}
	}
	if err == nil {
		l.log.Info("migrated: the old folder will not be opened again; start the server at the new place",
			"to", l.name)
	} else {
		l.log.Warn("not migrated: the data are still in the folder; the next start continues", "error", err)
	}
	l.m.Stop()
	return errors.Join(l.Engine.Close(), l.target.Close())
}

var errUnfinished = errors.New("the server was stopped before everything was copied")

// Restore replaces the data by those of a snapshot in one step: see engine.Snapshotter. It always fails,
// since the migration would not copy the restored data.
func (l *MigratingEngine) Restore(context.Context, string, func(engine.Engine) error) (engine.Engine, error) {
	return nil, fmt.Errorf("%w: a migration is under way", host.ErrNoSnapshots)
}

// wait returns when d has passed or ctx ends.
func (l *MigratingEngine) wait(ctx context.Context, d time.Duration) {
	passed, stop := l.clock.After(d)
	defer stop()
	select {
	case <-passed:
	case <-ctx.Done():
	}
}
