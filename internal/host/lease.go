package host

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// Servers that share their data divide the background work by leases. A lease is a record with its owner
// and the moment until which it is valid, by the database's time. One transaction renews all leases of a
// server, together with the record that says that the server is running. A server stops the work of a lease
// before the lease ends, even if the database does not respond.
//
// Hundreds of servers can share their data. So a renewal reads first, and locks the scope of the leases only
// if it has leases or can take one; the records of servers are divided among serverScopes scopes.
//
// A lease only prevents that several servers do the same work. It does not guarantee this: a server may be
// suspended in the middle of a transaction until its lease has ended. So all work under a lease must be
// correct even if two servers do it.
//
//	00 · l · 1 · server   a running server
//	00 · l · 2 · name     a lease
//
// The records of leases have the scope 00 l, so that renewals do not wait for changes of the catalog. The
// record of a server has the scope 00 · l · 3 · n, where n follows from the server's id.

const (
	// leaseTime is how long a lease is valid after its last renewal.
	leaseTime = 10 * time.Second
	// leaseRenew is the time between two renewals.
	leaseRenew = 3 * time.Second
	// leaseSafety is how long before the end of its lease a server stops the work for which it has the
	// lease.
	leaseSafety = time.Second
	// leaveTime is the maximum time for which a server that ends tries to give its leases back.
	leaveTime = 2 * time.Second
	// leaseKept is how long the record of a server that has ended without removing it is kept.
	leaseKept = time.Hour

	kindLease   = 'l'
	leaseServer = 1 // the parent of the records of servers
	leaseWork   = 2 // the parent of the records of leases
	leaseShard  = 3 // the parent of the scopes of the records of servers

	// serverScopes is the number of engine scopes (locked separately) among which the records of the
	// servers that share the data are distributed.
	serverScopes = 16
)

// leaseScope returns the engine scope (the key prefix to lock) of the records that say which server holds
// a lease.
func leaseScope() []byte { return []byte{0, kindLease} }

// serverScope returns the engine scope (the key prefix to lock) of the record by which a server tells the
// others that it is running. Several servers may have the same scope.
func serverScope(id string) []byte {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return shardScope(h.Sum32() % serverScopes)
}

func shardScope(n uint32) []byte {
	return append(AppendCatalogHead(nil, kindLease, leaseShard), byte(n))
}

// allServerScopes returns the engine scopes (key prefixes) in which the records of all running servers
// lie.
func allServerScopes() [][]byte {
	list := make([][]byte, serverScopes)
	for n := range list {
		list[n] = shardScope(uint32(n))
	}
	return list
}

// leaseKey returns the key of the record of a lease or of a server.
func leaseKey(parent uint32, name string) []byte {
	return append(append(AppendCatalogHead(nil, kindLease, parent), name...), 0, 1)
}

// leaseName returns the name of the lease whose record has a key.
func leaseName(key []byte) string { return string(key[CatalogHead : len(key)-2]) }

// leaseRecords returns the range of the keys of all records of servers (parent leaseServer) or of leases
// (leaseWork).
func leaseRecords(parent uint32) engine.Range {
	return engine.Prefix(AppendCatalogHead(nil, kindLease, parent))
}

// leaseRecord is a stored lease, or a running server. Times are in microseconds since 1970.
type leaseRecord struct {
	Owner      string `json:"owner"`
	Until      int64  `json:"until"`
	Since      int64  `json:"since"`
	ServerInfo        // of a server
}

// readLease reads the record of a lease, or of a running server, under a key; found is false if there is
// none.
func readLease(r engine.Reader, key []byte) (rec leaseRecord, found bool, err error) {
	v, err := r.Get(key)
	if errors.Is(err, engine.ErrNotFound) {
		return rec, false, nil
	}
	if err == nil {
		err = DecodeRecord(v, &rec)
	}
	return rec, err == nil, err
}

// BackgroundWorkLease is the right of a server to be the only one, of those that share the data, that does a
// kind of background work. The zero Lease is always held; it is used if no other process can have the data
// open.
type BackgroundWorkLease struct {
	of      *sharedEngineRegistration
	name    string
	users   int  // guarded by sharedEngineRegistration.mu
	held    bool // by the last renewal; guarded by sharedEngineRegistration.mu
	changed WaiterNotifier
}

// Held reports whether this server has the lease.
func (l *BackgroundWorkLease) Held() bool {
	if l.of == nil {
		return true
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return l.held && l.of.wall.Now().Before(l.of.until)
}

// Release gives the lease back. The Lease must not be used after it.
func (l *BackgroundWorkLease) Release() {
	if l.of == nil {
		return
	}
	l.of.mu.Lock()
	l.users--
	l.of.mu.Unlock()
	l.of.wake()
}

// Lease requests the lease with a name. It does not wait: the server gets the lease soon, or when its current
// owner has ended. Several callers of one server may have the same lease.
func (in *EngineInstance) Lease(name string) *BackgroundWorkLease {
	m := in.membership
	if m == nil {
		return &BackgroundWorkLease{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.leases[name]
	if l == nil {
		l = &BackgroundWorkLease{of: m, name: name}
		m.leases[name] = l
	}
	l.users++
	m.wake()
	return l
}

// WhileLeased runs fn each time this server gets the lease, until ctx ends. The context of fn ends with the
// lease. If no other process has the data open, it runs fn once. It returns when ctx has ended and fn has
// returned.
func (in *EngineInstance) WhileLeased(ctx context.Context, name string, fn func(context.Context)) {
	if in.membership == nil {
		fn(ctx)
		return
	}
	l := in.Lease(name)
	defer l.Release()
	for ctx.Err() == nil {
		changed := l.changed.Changed()
		if l.Held() {
			l.run(ctx, fn)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// run calls fn with a context that ends with the lease, and waits until the lease or ctx has ended.
func (l *BackgroundWorkLease) run(ctx context.Context, fn func(context.Context)) {
	own, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		for own.Err() == nil {
			changed := l.changed.Changed()
			if !l.Held() {
				return
			}
			select {
			case <-changed:
			case <-own.Done():
			}
		}
	}()
	fn(own)
	<-ended
	cancel()
}

// names returns the names of the leases on shared work that this server wants because a caller uses them, and
// of those that it must give back because no caller does any more. Both are sorted. The caller holds mu.
func (m *sharedEngineRegistration) names() (wanted, given []string) {
	for name, l := range m.leases {
		if l.users > 0 {
			wanted = append(wanted, name)
		} else {
			given = append(given, name)
		}
	}
	slices.Sort(wanted)
	slices.Sort(given)
	return wanted, given
}

// renew renews the record of this server and its leases, takes the wanted ones that are free, and gives
// back those that it no longer wants.
func (m *sharedEngineRegistration) renew(ctx context.Context) error {
	if err := m.turn.Lock(ctx); err != nil {
		return err
	}
	defer m.turn.Unlock()
	m.mu.Lock()
	wanted, given := m.names()
	m.mu.Unlock()
	count, wanted, err := m.survey(ctx, wanted)
	if err != nil {
		return err
	}
	scopes, ahead := [][]byte{serverScope(m.id)}, [][]byte{leaseKey(leaseServer, m.id)}
	if len(wanted)+len(given) > 0 {
		scopes = append(scopes, leaseScope())
	}
	for _, name := range slices.Concat(wanted, given) {
		ahead = append(ahead, leaseKey(leaseWork, name))
	}
	sent := m.wall.Now()
	var held map[string]bool
	_, err = m.in.eng.Update(ctx, scopes, func(t engine.Txn) (err error) {
		for _, scope := range scopes {
			t.NextLSN(scope)
		}
		held, err = m.write(t, wanted, given)
		return err
	}, ahead...)
	if err != nil {
		return err
	}
	m.renewed(sent.Add(leaseTime-leaseSafety), held, count)
	return nil
}

// survey returns the number of running servers, including this one, and those of the wanted leases that no
// other running server has.
func (m *sharedEngineRegistration) survey(ctx context.Context,
	wanted []string) (count int, free []string, err error) {
	err = m.in.eng.View(ctx, func(r engine.Reader) error {
		running, err := m.read(r)
		if err != nil {
			return err
		}
		count = 1
		for _, s := range running {
			if !s.Self {
				count++
			}
		}
		free = slices.Clone(wanted)
		if len(free) == 0 {
			return nil
		}
		now := m.now()
		return scanRecords(r, leaseRecords(leaseWork), func(key []byte, rec leaseRecord) error {
			i, found := slices.BinarySearch(free, leaseName(key))
			if found && rec.Owner != m.id && rec.Until > now {
				free = slices.Delete(free, i, i+1)
			}
			return nil
		})
	})
	return count, free, err
}
