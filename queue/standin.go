package queue

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/host"
)

type entity struct {
	number     uint32
	kind       Kind
	path       string
	scope      []byte
	properties atomic.Pointer[Properties]
	generation atomic.Uint64
	stores     [3]*messageStore
	m          *resident
}

func (e *entity) touch(int64) {}

type resident struct {
	q       *Queues
	in      *host.Instance
	opts    *Options
	gate    host.Gate
	timers  *timers
	started int64

	mu     sync.RWMutex
	byPath map[string]*entity
}

type standRecord struct {
	Number     uint32
	Kind       Kind
	Path       string
	Properties Properties
}

func (m *resident) logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (m *resident) find(a Address) (*entity, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.byPath[strings.ToLower(a.Entity)]; e != nil {
		return e, nil
	}
	return nil, &Error{Code: CodeEntityNotFound, Message: "no " + a.Entity}
}
func (m *resident) list() (l []*entity) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, e := range m.byPath {
		l = append(l, e)
	}
	return l
}
func (m *resident) numbered(n uint32) *entity {
	for _, e := range m.list() {
		if e.number == n {
			return e
		}
	}
	return nil
}

type standTenant struct{ q *Queues }

func (t standTenant) Claim() host.Claim {
	return host.Claim{Name: "queues", Kinds: "q", First: 0x40, Last: 0x7F}
}
func (t standTenant) Scopes(r engine.Reader) (l [][]byte, err error) {
	err = host.ScanRecords(r, 'q', func(_ []byte, rec standRecord) error {
		l = append(l, entityPrefix(rec.Number))
		return nil
	})
	return l, err
}
func (t standTenant) MoveIn(ctx context.Context, in *host.Instance) (host.Resident, error) {
	m := &resident{q: t.q, in: in, opts: &t.q.opts, gate: host.NewGate(), byPath: map[string]*entity{}}
	m.timers = newTimers(m)
	err := in.Engine().View(ctx, func(r engine.Reader) error {
		return host.ScanRecords(r, 'q', func(_ []byte, rec standRecord) error {
			e := m.make(rec)
			for _, s := range e.stores {
				if s != nil {
					if err := s.load(r); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
	return host.Resident{Life: m, Sweep: sweeper{m}, Dated: dated{m}}, err
}
func (m *resident) make(rec standRecord) *entity {
	e := &entity{number: rec.Number, kind: rec.Kind, path: rec.Path, scope: entityPrefix(rec.Number), m: m}
	p := rec.Properties
	e.properties.Store(&p)
	for _, sub := range storesOf(rec.Kind) {
		e.stores[sub] = newMessageStore(e, sub)
	}
	m.mu.Lock()
	m.byPath[strings.ToLower(rec.Path)] = e
	m.mu.Unlock()
	return e
}
func (m *resident) Recover(context.Context) error { return nil }
func (m *resident) Start() {
	m.started = m.in.Clock().Millis()
	m.timers.start()
	m.q.live.Store(m)
}
func (m *resident) Stop() {
	m.timers.stop()
	for _, s := range m.allStores() {
		s.end(&Error{Code: CodeCancelled, Message: "stop"})
	}
}
func (m *resident) Leave(context.Context) error { return nil }
func (m *resident) Gone()                       {}

func standKey(path string) []byte {
	return append(append(host.AppendCatalogHead(nil, 'q', 0), strings.ToLower(path)...), 0, 1)
}
func (q *Queues) StandCreate(ctx context.Context, kind Kind, path string, p Properties) error {
	m := q.live.Load()
	if err := m.in.Catalog().Lock(ctx); err != nil {
		return err
	}
	defer m.in.Catalog().Unlock()
	var rec standRecord
	err := m.in.Catalog().Change(ctx, func(t *host.Change) error {
		rec = standRecord{t.Number(), kind, path, p}
		createStores(t, rec.Number, kind)
		return host.SetRecord(t, standKey(path), rec)
	})
	if err == nil {
		m.make(rec)
	}
	return err
}
func (q *Queues) StandUpdate(ctx context.Context, path string, p Properties) error {
	m := q.live.Load()
	e, err := m.find(Address{Entity: path})
	if err != nil {
		return err
	}
	for _, s := range e.stores {
		if s != nil {
			if err := s.catchUp(ctx); err != nil {
				return err
			}
		}
	}
	if err := m.in.Catalog().Lock(ctx); err != nil {
		return err
	}
	defer m.in.Catalog().Unlock()
	err = m.in.Catalog().Change(ctx, func(t *host.Change) error {
		return host.SetRecord(t, standKey(path), standRecord{e.number, e.kind, path, p})
	})
	if err == nil {
		e.properties.Store(&p)
		e.generation.Add(1)
		for _, s := range e.stores {
			if s != nil {
				s.changed()
			}
		}
	}
	return err
}
func (q *Queues) StandDelete(ctx context.Context, path string) error {
	m := q.live.Load()
	e, err := m.find(Address{Entity: path})
	if err != nil {
		return err
	}
	if err := m.in.Catalog().Lock(ctx); err != nil {
		return err
	}
	defer m.in.Catalog().Unlock()
	err = m.in.Catalog().Change(ctx, func(t *host.Change) error {
		t.Delete(standKey(path))
		dropStores(t, e.number)
		return nil
	}, e.scope)
	if err == nil {
		m.mu.Lock()
		delete(m.byPath, strings.ToLower(path))
		m.mu.Unlock()
		for _, s := range e.stores {
			if s != nil {
				s.end(s.notFound())
			}
		}
	}
	return err
}
func (q *Queues) resident() (*resident, error) {
	if m := q.live.Load(); m != nil {
		return m, nil
	}
	return nil, &Error{Code: CodeCancelled, Message: "closed"}
}
