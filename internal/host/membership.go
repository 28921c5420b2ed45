package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// sharedEngineRegistration is the registration of this server among the servers that share its data. It
// renews the server's record and leases until the instance is closed. It exists only if the engine is shared.
type sharedEngineRegistration struct {
	in    *EngineInstance
	id    string // random
	wall  ttl.Clock
	since int64 // when the server was started, by the database's time; written by the first renewal

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	nudge   chan struct{}   // capacity 1
	turn    CancelableMutex // one renewal at a time

	mu     sync.Mutex
	leases map[string]*BackgroundWorkLease
	count  int       // running servers, by the last renewal
	until  time.Time // by Options.Wall: the leases of this server are valid until then
	disarm func()    // stops the timer for until; guarded by turn
}

// ServerInfo describes a server for people and clients. Mayfly itself does not use it.
type ServerInfo struct {
	Name    string `json:"name,omitempty"`    // of its machine
	Address string `json:"address,omitempty"` // the endpoint for clients
	Version string `json:"version,omitempty"`
}

// RunningServerInfo describes one of the running servers that share the same data.
type RunningServerInfo struct {
	ServerInfo
	ID    string // random; empty if there cannot be others
	Since time.Time
	// Seen is when the server has last renewed its record.
	Seen   time.Time
	Leases []string // the names of the leases that it has, sorted
	Self   bool     // it is this server
}

// Shared reports whether other servers may have the data open at the same time.
func (in *EngineInstance) Shared() bool { return in.membership != nil }

// ServerCount returns how many servers share the data, as of the last renewal of this server's record; at
// least 1.
func (in *EngineInstance) ServerCount() int {
	if in.membership == nil {
		return 1
	}
	in.membership.mu.Lock()
	defer in.membership.mu.Unlock()
	return max(in.membership.count, 1)
}

// ServerID identifies this server among those that share its data; it is empty if there cannot be others.
func (in *EngineInstance) ServerID() string {
	if in.membership == nil {
		return ""
	}
	return in.membership.id
}

// join registers this server if the engine is shared.
func (in *EngineInstance) join(ctx context.Context) error {
	if !engine.IsShared(in.eng) {
		return nil
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	m := &sharedEngineRegistration{in: in, id: hex.EncodeToString(id[:]), wall: in.opts.Wall,
		nudge: make(chan struct{}, 1),
		turn:  NewCancelableMutex(), leases: make(map[string]*BackgroundWorkLease)}
	m.life, m.end = context.WithCancel(context.Background())
	if err := m.renew(ctx); err != nil {
		return err
	}
	in.membership = m
	in.follower = &remoteChangeWatcher{in: in, nudge: make(chan struct{}, 1), awaited: make(map[string]time.Time)}
	return m.forget(ctx)
}

// Renew makes sure that this server counts as running for leaseTime from now on. It must be called before
// work that other servers undo if this server has ended. A server that was suspended for longer does not
// count as running until its next renewal.
func (in *EngineInstance) Renew(ctx context.Context) error {
	if in.membership == nil {
		return nil
	}
	return in.membership.renew(ctx)
}

// now returns the database's time, in microseconds since 1970.
func (m *sharedEngineRegistration) now() int64 {
	if t, ok := m.in.eng.(engine.DatabaseTimeReporter); ok {
		return t.Told().UnixMicro()
	}
	return m.wall.Now().UnixMicro()
}

func (m *sharedEngineRegistration) wake() {
	select {
	case m.nudge <- struct{}{}:
	default:
	}
}

// start starts the goroutine that renews the record of this server and its leases, by which other servers
// know that it is running.
func (m *sharedEngineRegistration) start() {
	if m != nil {
		m.running.Go(m.loop)
	}
}

func (m *sharedEngineRegistration) loop() {
	for pause := leaseRenew; ; {
		alarm, stop := m.wall.After(pause)
		select {
		case <-alarm:
		case <-m.nudge:
		case <-m.life.Done():
		}
		stop()
		if m.life.Err() != nil {
			return
		}
		pause = leaseRenew
		if err := m.renew(m.life); err != nil && m.life.Err() == nil {
			pause = time.Second
			if !Classify(err).Gone() {
				m.in.opts.Logger.Error("the leases of this server could not be renewed", "error", err)
			}
		}
	}
}

// renewed records the result of a renewal of this server's leases: the names of those that it holds until the
// given time (held), and the number of running servers. Leases that are not renewed by then end. The caller
// holds m.turn.
func (m *sharedEngineRegistration) renewed(until time.Time, held map[string]bool, count int) {
	m.setLeases(until, held, count)
	// Not under m.mu: if the moment has passed on a virtual clock, AfterFunc calls lapsed itself.
	m.disarm = ttl.AfterFunc(m.wall, until.Sub(m.wall.Now()), m.lapsed)
}

func (m *sharedEngineRegistration) setLeases(until time.Time, held map[string]bool, count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until, m.count = until, count
	for _, name := range slices.Sorted(maps.Keys(m.leases)) { // the order in which their work begins
		l := m.leases[name]
		if l.held != held[name] {
			l.held = held[name]
			l.changed.Notify()
		}
		if l.users == 0 && !l.held {
			delete(m.leases, name)
		}
	}
	if m.disarm != nil {
		m.disarm()
	}
}

// lapsed is called when the leases of this server have not been renewed in time. It ends the work done
// under them.
func (m *sharedEngineRegistration) lapsed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wall.Now().Before(m.until) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.leases)) {
		if l := m.leases[name]; l.held {
			l.held = false
			l.changed.Notify()
		}
	}
}

// leave ends the renewals and removes the records of this server.
func (m *sharedEngineRegistration) leave(ctx context.Context) error {
	if m == nil {
		return nil
	}
	m.end()
	m.running.Wait()
	m.mu.Lock()
	if m.disarm != nil {
		m.disarm()
	}
	wanted, given := m.names()
	m.mu.Unlock()
	return m.remove(ctx, append(wanted, given...))
}

// Servers returns the running servers that share the data, the oldest first. If there cannot be others it
// returns none.
func (in *EngineInstance) Servers(ctx context.Context) (list []RunningServerInfo, err error) {
	if in.membership == nil {
		return nil, nil
	}
	err = in.eng.View(ctx, func(r engine.Reader) (err error) {
		list, err = in.membership.read(r)
		return err
	})
	return list, err
}

// read returns the servers that are running in the state that r reads.
func (m *sharedEngineRegistration) read(r engine.Reader) (list []RunningServerInfo, err error) {
	if _, err := r.Positions([][]byte{serverScope(m.id)}); err != nil { // for the time of the database
		return nil, err
	}
	now := m.now()
	err = scanRecords(r, leaseRecords(leaseServer), func(_ []byte, rec leaseRecord) error {
		if rec.Until > now {
			list = append(list, RunningServerInfo{ServerInfo: rec.ServerInfo, ID: rec.Owner,
				Since: time.UnixMicro(rec.Since).UTC(), Seen: time.UnixMicro(rec.Until).Add(-leaseTime).UTC(),
				Self: rec.Owner == m.id})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b RunningServerInfo) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}

// ListServers returns the running servers that share the data, each with its leases, the oldest first. If
// there cannot be other servers it returns this one, without an id.
func (in *EngineInstance) ListServers(ctx context.Context) (list []RunningServerInfo, err error) {
	if in.membership == nil {
		return []RunningServerInfo{{ServerInfo: in.opts.Server, Since: in.host.started.UTC(),
			Seen: in.opts.Wall.Now().UTC(), Self: true}}, nil
	}
	err = in.eng.View(ctx, func(r engine.Reader) (err error) {
		if list, err = in.membership.read(r); err != nil {
			return err
		}
		now := in.membership.now()
		return scanRecords(r, leaseRecords(leaseWork), func(key []byte, rec leaseRecord) error {
			for i := range list {
				if s := &list[i]; s.ID == rec.Owner && rec.Until > now {
					s.Leases = append(s.Leases, leaseName(key))
				}
			}
			return nil
		})
	})
	return list, err
}

// Running reports whether a server with an id, this one or another, is running and shares the data. It may
// have stopped since its last renewal. If the data are not shared, Running returns false for every id:
// work that is stored as unfinished was then begun by an earlier process.
func (in *EngineInstance) Running(ctx context.Context, id string) (bool, error) {
	if in.membership == nil {
		return false, nil
	}
	list, err := in.Servers(ctx)
	return slices.ContainsFunc(list, func(s RunningServerInfo) bool { return s.ID == id }), err
}
