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
// its records are JSON, and each tenant caches its own records in memory. The catalog is one scope of the
// engine. A change is made under one lock, first on disk and then, once it is durable, in memory.
//
//	+----+------+--------+------+
//	| 00 | kind | parent | name |   a record
//	+----+------+--------+------+
//	  1     1       4
//
// A kind is a letter that belongs to one tenant. The tenant decides what parent and name mean; a name is
// encoded so that no name is a prefix of another. The kind m belongs to the host. s and M belong to the
// engine, which stores the ceiling of the scope's LSNs and the scope's mark there.
//
// The mark of the catalog's scope counts its changes. Several hosts may be open over one engine, each with
// the records in memory. If the mark differs from the one that a host has read with its cached records, the
// host reads the records again (Follow).

const (
	kindHost    = 'm'
	kindCeiling = 's'
	kindMark    = 'M'
)

// CatalogHead is the length of what AppendCatalogHead appends: the part before the name in the key of a
// record.
const CatalogHead = 6

// CatalogScope returns the engine scope (the key prefix) that every change of the catalog locks.
func CatalogScope() []byte { return []byte{0} }

// AppendCatalogHead appends the beginning of the key of a catalog record: a zero byte, the kind of the
// record, and the number of its parent (4 bytes, big-endian). The name follows.
func AppendCatalogHead(dst []byte, kind byte, parent uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0, kind), parent)
}

// CatalogKind returns the range of the keys of all catalog records of one kind.
func CatalogKind(kind byte) engine.Range { return engine.Prefix([]byte{0, kind}) }

// ownKey returns the key of one of the host's records. Names end with 00 01.
func ownKey(number uint32, name string) []byte {
	return append(append(AppendCatalogHead(nil, kindHost, number), name...), 0, 1)
}

func headKey() []byte { return ownKey(0, "store") }

// catalogHeader is the catalog's first record. It holds the number of the data format, the next number to
// issue, and the values that must survive restores and migrations.
type catalogHeader struct {
	Format      int    `json:"format"`
	Incarnation uint32 `json:"incarnation"` // random; new after a restore and at each start in memory
	Next        uint32 `json:"next"`        // the next number to issue for a definition of a tenant
	// Highest is the highest LSN that a dropped scope, or any scope before the last restore, has issued.
	Highest uint64 `json:"highest,omitempty"`
	// First is the number that fresh data began with, if Options.FirstNumber is set.
	First uint32 `json:"first,omitempty"`
	// Floor is higher than every number that a database, container or queue may have had in earlier data that
	// a restore or a start in memory has replaced by these data; 0: there were no earlier data.
	Floor uint32 `json:"floor,omitempty"`
	// Incoming is the folder or database from which the data are being migrated, until the migration is
	// complete; "" otherwise.
	Incoming string `json:"incoming,omitempty"`
	// Moved is the folder or database to which the data have been migrated; "" if they have not been.
	Moved string `json:"moved,omitempty"`
}

// DefinitionCatalog is the catalog of an instance: the stored records of its databases, containers, queues
// and topics. Its lock orders all changes of definitions; it is taken before any lock of a tenant, that is,
// of the document store or of the message store.
type DefinitionCatalog struct {
	in      *EngineInstance
	eng     engine.Engine
	lock    CancelableMutex
	head    catalogHeader // guarded by lock
	version atomic.Uint64 // the mark of the scope for the records in memory; written under lock
}

// Lock takes the catalog's lock. If another host over the same engine has changed the records, Lock reads
// them again. It returns the error of ctx or of the engine.
func (c *DefinitionCatalog) Lock(ctx context.Context) error {
	if err := c.lock.Lock(ctx); err != nil {
		return err
	}
	err := c.Follow(ctx)
	if err != nil {
		c.lock.Unlock()
	}
	return err
}

// TryLock takes the lock if it is free. It does not check for changes by other hosts; a CatalogTxn detects
// them.
func (c *DefinitionCatalog) TryLock() bool { return c.lock.TryLock() }

// Unlock releases the catalog's lock, which Lock or TryLock has taken.
func (c *DefinitionCatalog) Unlock() { c.lock.Unlock() }

// Highest returns the highest LSN that a deleted scope can have issued, 0 if there is none. New scopes
// begin above it, since a client may have stored an LSN of the old scope, under the same name. The caller
// holds the lock.
func (c *DefinitionCatalog) Highest() uint64 { return c.head.Highest }

// Floor returns a number above the numbers of all databases, containers and queues in the data that these
// data have replaced: by a restore, or by a new start of a server whose data are in memory. It returns 0 if
// no data were replaced. The caller holds the lock.
func (c *DefinitionCatalog) Floor() uint32 { return c.head.Floor }

// BegunAbove reports whether the numbers that the catalog gives to databases, containers and queues began
// with Options.FirstNumber instead of 1. The caller holds the lock.
func (c *DefinitionCatalog) BegunAbove() bool { return c.head.First > 0 }

// Current reports whether the records in memory are those that are stored. It returns false while this host
// is making a change.
func (c *DefinitionCatalog) Current(ctx context.Context) (bool, error) {
	_, at, err := c.in.get(ctx, CatalogScope(), headKey())
	return at.Mark == c.version.Load(), err
}

// CatchUp loads into memory the changes that another host has made to the stored catalog. It waits for a
// change that this host is making. It does not report whether there were any, since another caller may have
// loaded them at the same time. So a caller that has not found something should look again after any call of
// CatchUp.
func (c *DefinitionCatalog) CatchUp(ctx context.Context) error {
	if current, err := c.Current(ctx); current || err != nil {
		return err
	}
	if err := c.Lock(ctx); err != nil {
		return err
	}
	c.Unlock()
	return nil
}

// Follow loads into memory the changes that another host has made to the stored catalog. The caller holds the
// catalog's lock.
func (c *DefinitionCatalog) Follow(ctx context.Context) error {
	if current, err := c.Current(ctx); current || err != nil {
		return err
	}
	return c.eng.View(ctx, func(r engine.Reader) error {
		h, version, err := readHead(r)
		if err != nil {
			return err
		}
		if err := c.eng.Settle(ctx, CatalogScope(), 0); err != nil { // clients may get the records
			return err
		}
		for _, resident := range c.in.tenants {
			if resident.Reload == nil {
				continue
			}
			if err := resident.Reload(ctx, r); err != nil {
				return err
			}
		}
		if err := errors.Join(c.in.followClocks(r), c.in.followPauses(r)); err != nil {
			return err
		}
		c.head = h
		c.version.Store(version)
		return nil
	})
}

// readHead reads the catalog's first record, and the mark of the catalog's scope, which changes with each
// change of the catalog.
func readHead(r engine.Reader) (h catalogHeader, version uint64, err error) {
	raw, err := r.Get(headKey())
	if err == nil {
		err = DecodeRecord(raw, &h)
	}
	if err == nil {
		version, err = engine.Mark(r, CatalogScope())
	}
	return h, version, err
}

// CatalogTxn is a transaction that changes the catalog: the records of databases, containers, queues
// and topics. It also issues the numbers that identify new ones.
type CatalogTxn struct {
	engine.Txn
	head    catalogHeader
	changed bool
}

// Highest returns the highest LSN that a deleted scope can have issued: see DefinitionCatalog.Highest.
func (t *CatalogTxn) Highest() uint64 { return t.head.Highest }

// Number returns a number that the catalog has never used, for a new database, container or queue.
func (t *CatalogTxn) Number() uint32 {
	n := t.head.Next
	t.head.Next++
	t.changed = true
	return n
}

// RecordHighest records the highest LSN that the partition ranges or queues dropped by this change have
// issued, so that those created later can begin above it.
func (t *CatalogTxn) RecordHighest(lsn uint64) {
	if lsn > t.head.Highest {
		t.head.Highest, t.changed = lsn, true
	}
}

// RecordNumber makes all numbers issued from now on higher than n, which the caller has chosen itself for
// a database, container or queue.
func (t *CatalogTxn) RecordNumber(n uint32) {
	if n >= t.head.Next {
		t.head.Next, t.changed = n+1, true
	}
}

// Change runs fn in one transaction over the catalog's scope and the given scopes. fn may run more than once.
// Change returns the error of the engine or of fn, or ErrCatalogMoved if another host has changed the catalog
// since the caller took the catalog's lock, which it still holds.
func (c *DefinitionCatalog) Change(ctx context.Context, fn func(t *CatalogTxn) error,
	scopes ...[]byte) error {
	var t CatalogTxn
	version := c.version.Load()
	_, err := c.eng.Update(ctx, append([][]byte{CatalogScope()}, scopes...), func(txn engine.Txn) error {
		if txn.Mark(CatalogScope()) != version {
			return ErrCatalogMoved
		}
		txn.SetMark(CatalogScope(), version+1)
		t = CatalogTxn{Txn: txn, head: c.head}
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

// NextNumber returns the first number that the catalog has not issued. It is for checks of the data.
func NextNumber(r engine.Reader) (uint32, error) {
	raw, err := r.Get(headKey())
	if err != nil {
		return 0, err
	}
	var h catalogHeader
	err = DecodeRecord(raw, &h)
	return h.Next, err
}

// load reads the catalog's first record, or creates it if the engine has no data. For data that this program
// must not open it fails with the error of catalogHeader.readable.
func (c *DefinitionCatalog) load(ctx context.Context) error {
	for {
		err := c.eng.View(ctx, func(r engine.Reader) error {
			h, version, err := readHead(r)
			c.head = h
			c.version.Store(version)
			return err
		})
		if errors.Is(err, engine.ErrNotFound) {
			err = c.begin(ctx)
			if errors.Is(err, ErrCatalogMoved) {
				continue // another server has begun at the same time
			}
		}
		if err != nil {
			return err
		}
		return c.head.readable()
	}
}

// readable fails with engine.ErrNewerFormat or engine.ErrOlderFormat for data of another format, with
// engine.ErrIncomplete for data whose migration is not complete, and with engine.ErrMoved for data that
// have been migrated elsewhere.
func (h *catalogHeader) readable() error {
	switch {
	case h.Incoming != "":
		return fmt.Errorf("%w: it comes from %s", engine.ErrIncomplete, h.Incoming)
	case h.Moved != "":
		return fmt.Errorf("%w: %s", engine.ErrMoved, h.Moved)
	case h.Format > formatVersion:
		return fmt.Errorf("%w: format %d, this program reads %d", engine.ErrNewerFormat, h.Format,
			formatVersion)
	case h.Format < formatVersion:
		return fmt.Errorf("%w: format %d, this program reads %d", engine.ErrOlderFormat, h.Format,
			formatVersion)
	}
	return nil
}

// begin writes the catalog's first record, catalogHeader, into an engine without data.
func (c *DefinitionCatalog) begin(ctx context.Context) error {
	incarnation, err := newIncarnation()
	if err != nil {
		return err
	}
	return c.Change(ctx, func(t *CatalogTxn) error {
		t.head, t.changed = catalogHeader{Format: formatVersion, Incarnation: incarnation, Next: 1}, true
		if first := c.in.opts.FirstNumber; first > 1 {
			t.head.Next, t.head.First, t.head.Floor = first, first, first
		}
		return nil
	})
}

// newIncarnation returns a random number that identifies the data of a new instance: see
// EngineInstance.Incarnation.
func newIncarnation() (uint32, error) {
	var b [4]byte
	_, err := rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

// rewriteHead writes the first record unchanged, to prove that the engine accepts writes.
func rewriteHead(t engine.Txn) error {
	v, err := t.Get(headKey())
	if err == nil {
		t.Set(headKey(), bytes.Clone(v))
	}
	return err
}

// setClock stores the state of a clock: the server's for number 0, otherwise that of the database (or
// other group of data) with this number in the catalog.
func setClock(t engine.Txn, number uint32, s ttl.VirtualClockState) error {
	return SetRecord(t, clockKey(number), s)
}

// dropClock deletes the stored state of the clock of the database (or other group of data) with this
// number in the catalog.
func dropClock(t engine.Txn, number uint32) { t.Delete(clockKey(number)) }

// SetRecord encodes rec, a record of the catalog, as JSON and sets it under key in the transaction.
func SetRecord(t engine.Txn, key []byte, rec any) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	t.Set(key, raw)
	return nil
}

// DecodeRecord decodes a record of the catalog. It returns engine.ErrCorrupt if raw is not a record.
func DecodeRecord(raw []byte, rec any) error {
	if err := json.Unmarshal(raw, rec); err != nil {
		return fmt.Errorf("%w: catalog record: %v", engine.ErrCorrupt, err)
	}
	return nil
}

// ScanRecords decodes all records of a kind in the order of their keys and passes each to fn. If fn fails,
// ScanRecords returns the error.
func ScanRecords[T any](r engine.Reader, kind byte, fn func(key []byte, rec T) error) error {
	return scanRecords(r, CatalogKind(kind), fn)
}

// scanRecords decodes all records in a range of keys, in order, and passes each to fn. If fn fails,
// scanRecords returns the error.
func scanRecords[T any](r engine.Reader, rg engine.Range, fn func(key []byte, rec T) error) (err error) {
	it := r.Scan(rg, false)
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
