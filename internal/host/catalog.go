package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// The catalog holds the definitions of all tenants: databases and containers, queues and topics. It is small,
// its records are JSON, and each tenant keeps its own in memory. It is one scope of the engine, and a change
// of it is made under one lock: on disk first, in memory when it is durable.
//
//	+----+------+--------+------+
//	| 00 | kind | parent | name |   a record
//	+----+------+--------+------+
//	  1     1       4
//
// A kind is a letter that one tenant has claimed. What parent and name are is the tenant's affair; a name is
// encoded so that none is a prefix of another. The kind m is the host's, and s and M are the engine's, which
// keeps the ceiling of the scope's LSNs and its mark there.
//
// The mark of the catalog's scope counts its changes. Several hosts may be open over one engine, each with
// the records in memory: who finds another mark than the one that it knows reads them anew (Follow).

const (
	kindHost    = 'm'
	kindCeiling = 's'
	kindMark    = 'M'
)

// CatalogHead is the length of what stands before the name in the key of a record.
const CatalogHead = 6

// CatalogScope is the scope of every change of the catalog.
func CatalogScope() []byte { return []byte{0} }

// AppendCatalogHead appends what the key of a record begins with; a name follows.
func AppendCatalogHead(dst []byte, kind byte, parent uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0, kind), parent)
}

// CatalogKind is the range of all records of one kind.
func CatalogKind(kind byte) engine.Range { return engine.Prefix([]byte{0, kind}) }

// ownKey is the key of one of the host's records. Names end with 00 01.
func ownKey(number uint32, name string) []byte {
	return append(append(AppendCatalogHead(nil, kindHost, number), name...), 0, 1)
}

func headKey() []byte { return ownKey(0, "store") }

// head is the catalog's first record.
type head struct {
	Format      int    `json:"format"`
	Incarnation uint32 `json:"incarnation"` // random; a new one for each fresh data, restore and memory start
	Next        uint32 `json:"next"`        // the next number for whatever a tenant defines
	// Highest is the highest LSN of the scopes that have been dropped, and of all at the last restore.
	Highest uint64 `json:"highest,omitempty"`
	// First is the number that fresh data began with, where Options.FirstNumber asked for one.
	First uint32 `json:"first,omitempty"`
	// Floor is above every number that data which these have replaced may have used; 0: they replace none.
	Floor uint32 `json:"floor,omitempty"`
}

// Catalog is the catalog of an instance. Its lock orders all changes of definitions; it is taken before any
// lock of a tenant.
type Catalog struct {
	in      *Instance
	eng     engine.Engine
	turn    Mutex
	head    head          // guarded by turn
	version atomic.Uint64 // the mark of the scope that belongs to what is in memory; written under turn
}

// Lock takes the catalog's lock, and reads the records anew where another host over the same engine has
// changed them. Its error is that of ctx, or the engine's.
func (c *Catalog) Lock(ctx context.Context) error {
	if err := c.turn.Lock(ctx); err != nil {
		return err
	}
	err := c.Follow(ctx)
	if err != nil {
		c.turn.Unlock()
	}
	return err
}

// TryLock takes the lock if nobody has it. It does not look for changes of others: a Change finds out.
func (c *Catalog) TryLock() bool { return c.turn.TryLock() }

// Unlock ends Lock.
func (c *Catalog) Unlock() { c.turn.Unlock() }

// Highest is the highest LSN that a scope which is gone can have issued; 0: none has. What is made begins
// above it, since a client may know something by its name and take the new one for the old. The caller holds
// the lock.
func (c *Catalog) Highest() uint64 { return c.head.Highest }

// Floor is above every number that a tenant can have taken or noted in data which these have replaced: those
// of an earlier start in memory, or those that a restore has put away. 0: there were none. The caller holds
// the lock.
func (c *Catalog) Floor() uint32 { return c.head.Floor }

// BegunAbove reports whether the numbers of the data began above 1: Options.FirstNumber. The caller holds the
// lock.
func (c *Catalog) BegunAbove() bool { return c.head.First > 0 }

// Current reports whether what is in memory is what is stored. It is not while a change of this host is being
// made either.
func (c *Catalog) Current(ctx context.Context) (bool, error) {
	_, at, err := c.in.get(ctx, CatalogScope(), headKey())
	return at.Mark == c.version.Load(), err
}

// CatchUp makes what another host has changed known in memory, and reports whether there was something. Where
// this host makes a change it waits for that.
func (c *Catalog) CatchUp(ctx context.Context) (changed bool, err error) {
	before := c.version.Load()
	if current, err := c.Current(ctx); current || err != nil {
		return false, err
	}
	if err := c.Lock(ctx); err != nil {
		return false, err
	}
	defer c.Unlock()
	return c.version.Load() != before, nil
}

// Follow is CatchUp for who holds the lock.
func (c *Catalog) Follow(ctx context.Context) error {
	if current, err := c.Current(ctx); current || err != nil {
		return err
	}
	return c.eng.View(ctx, func(r engine.Reader) error {
		h, version, err := readHead(r)
		if err != nil {
			return err
		}
		if err := c.eng.Settle(ctx, CatalogScope(), 0); err != nil { // it may be told of
			return err
		}
		for _, resident := range c.in.residents {
			if resident.Reread == nil {
				continue
			}
			if err := resident.Reread(ctx, r); err != nil {
				return err
			}
		}
		c.head = h
		c.version.Store(version)
		return nil
	})
}

// readHead reads the first record, and the mark that goes with it.
func readHead(r engine.Reader) (h head, version uint64, err error) {
	raw, err := r.Get(headKey())
	if err == nil {
		err = DecodeRecord(raw, &h)
	}
	if err == nil {
		version, err = engine.Mark(r, CatalogScope())
	}
	return h, version, err
}

// ErrCatalogMoved is returned by a Change where another host has changed the catalog since the lock was
// taken. Nothing was written; made again, the change goes by what is stored.
var ErrCatalogMoved = errors.New("host: another host has changed the catalog meanwhile")

// Change is a change of the catalog under way.
type Change struct {
	engine.Txn
	head    head
	changed bool
}

// Highest is Catalog.Highest.
func (t *Change) Highest() uint64 { return t.head.Highest }

// Number takes a number that nothing in the catalog has had before, of no tenant.
func (t *Change) Number() uint32 {
	n := t.head.Next
	t.head.Next++
	t.changed = true
	return n
}

// NoteHighest notes the highest LSN that scopes have issued which this change drops.
func (t *Change) NoteHighest(lsn uint64) {
	if lsn > t.head.Highest {
		t.head.Highest, t.changed = lsn, true
	}
}

// NoteNumber makes the numbers that are taken from now on be above n, which a tenant has chosen itself.
func (t *Change) NoteNumber(n uint32) {
	if n >= t.head.Next {
		t.head.Next, t.changed = n+1, true
	}
}

// Change runs fn in one transaction over the catalog's scope and the given ones. The caller holds the lock.
// fn may run more than once. Errors are the engine's, those of fn, and ErrCatalogMoved.
func (c *Catalog) Change(ctx context.Context, fn func(t *Change) error, scopes ...[]byte) error {
	var t Change
	version := c.version.Load()
	_, err := c.eng.Update(ctx, append([][]byte{CatalogScope()}, scopes...), func(txn engine.Txn) error {
		if txn.Mark(CatalogScope()) != version {
			return ErrCatalogMoved
		}
		txn.SetMark(CatalogScope(), version+1)
		t = Change{Txn: txn, head: c.head}
		if err := fn(&t); err != nil || !t.changed {
			return err
		}
		return SetRecord(txn, headKey(), t.head)
	})
	if err == nil {
		c.version.Store(version + 1)
		if t.changed {
			c.head = t.head
		}
	}
	return err
}

// NextNumber is the first number that the catalog has not handed out, for who checks the data.
func NextNumber(r engine.Reader) (uint32, error) {
	raw, err := r.Get(headKey())
	if err != nil {
		return 0, err
	}
	var h head
	err = DecodeRecord(raw, &h)
	return h.Next, err
}

// load reads the first record, or makes that of fresh data. It fails with
// engine.ErrNewerFormat or engine.ErrOlderFormat.
func (c *Catalog) load(ctx context.Context) error {
	err := c.eng.View(ctx, func(r engine.Reader) error {
		h, version, err := readHead(r)
		c.head = h
		c.version.Store(version)
		return err
	})
	if errors.Is(err, engine.ErrNotFound) {
		return c.begin(ctx)
	}
	if err != nil {
		return err
	}
	return c.head.readable()
}

// readable fails with engine.ErrNewerFormat or engine.ErrOlderFormat for data of another format.
func (h *head) readable() error {
	switch {
	case h.Format > formatVersion:
		return fmt.Errorf("%w: format %d, this program reads %d", engine.ErrNewerFormat, h.Format,
			formatVersion)
	case h.Format < formatVersion:
		return fmt.Errorf("%w: format %d, this program reads %d", engine.ErrOlderFormat, h.Format,
			formatVersion)
	}
	return nil
}

// begin writes the first record of fresh data.
func (c *Catalog) begin(ctx context.Context) error {
	incarnation, err := newIncarnation()
	if err != nil {
		return err
	}
	return c.Change(ctx, func(t *Change) error {
		t.head, t.changed = head{Format: formatVersion, Incarnation: incarnation, Next: 1}, true
		if first := c.in.opts.FirstNumber; first > 1 {
			t.head.Next, t.head.First, t.head.Floor = first, first, first
		}
		return nil
	})
}

// newIncarnation draws an incarnation.
func newIncarnation() (uint32, error) {
	var b [4]byte
	_, err := rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

// rewriteHead writes the first record as it is.
func rewriteHead(t engine.Txn) error {
	v, err := t.Get(headKey())
	if err == nil {
		t.Set(headKey(), bytes.Clone(v))
	}
	return err
}

// setClock writes the state of a clock: the server's for 0, else that of a group.
func setClock(t engine.Txn, number uint32, s ttl.State) error {
	return SetRecord(t, clockKey(number), s)
}

// dropClock deletes it.
func dropClock(t engine.Txn, number uint32) { t.Delete(clockKey(number)) }

// SetRecord writes a record of the catalog.
func SetRecord(t engine.Txn, key []byte, rec any) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	t.Set(key, raw)
	return nil
}

// DecodeRecord reads one: engine.ErrCorrupt where it is none.
func DecodeRecord(raw []byte, rec any) error {
	if err := json.Unmarshal(raw, rec); err != nil {
		return fmt.Errorf("%w: catalog record: %v", engine.ErrCorrupt, err)
	}
	return nil
}

// ScanRecords decodes all records of a kind in the order of their keys.
func ScanRecords[T any](r engine.Reader, kind byte, fn func(key []byte, rec T) error) (err error) {
	it := r.Scan(CatalogKind(kind), false)
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	for it.Next() {
		if len(it.Key()) < CatalogHead {
			return fmt.Errorf("%w: catalog key %x", engine.ErrCorrupt, it.Key())
		}
		var rec T
		if err := DecodeRecord(it.Value(), &rec); err != nil {
			return err
		}
		if err := fn(it.Key(), rec); err != nil {
			return err
		}
	}
	return nil
}
