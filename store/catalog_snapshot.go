package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// saveClock stores the state of the server's virtual clock; those of databases are stored when they are
// changed. The caller holds ddl.
func (db *DB) saveClock(ctx context.Context) error {
	v := db.virtual()
	if v == nil {
		return nil
	}
	return db.changeCatalog(ctx, func(t engine.Txn) error { return setRecord(t, layout.ClockKey(0), v.State()) })
}

// newIncarnation draws an incarnation.
func newIncarnation() (uint32, error) {
	var b [4]byte
	_, err := rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

// Adopt makes a store of its own of data that were copied, such as a snapshot's: etags of the two differ from
// then on. The engine must be freshly opened; Open comes after.
func Adopt(ctx context.Context, e engine.Engine) error { return wrap(adopt(ctx, e, 0, 0)) }

// adopt makes the data of an engine that nothing has opened yet a new incarnation, whose catalog hands out no
// number below next and whose ranges issue no LSN up to highest.
func adopt(ctx context.Context, e engine.Engine, next uint32, highest uint64) error {
	incarnation, err := newIncarnation()
	if err != nil {
		return err
	}
	_, err = e.Update(ctx, [][]byte{layout.CatalogScope()}, func(t engine.Txn) error {
		raw, err := t.Get(layout.MetaKey())
		if err != nil {
			return err
		}
		var m meta
		if err := decodeRecord(raw, &m); err != nil {
			return err
		}
		if err := m.readable(); err != nil {
			return err
		}
		m.Incarnation = incarnation
		m.Next = max(m.Next, next)
		m.Highest = max(m.Highest, highest)
		if err := setRecord(t, layout.MetaKey(), m); err != nil {
			return err
		}
		scopes := [][]byte{layout.CatalogScope()}
		err = scanRecords(t, layout.KindContainer, func(_ []byte, rec containerRecord) error {
			for _, r := range rec.Ranges {
				scopes = append(scopes, layout.SlotScope(rec.CID, r.Slot))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, scope := range scopes {
			t.RaiseLSN(scope, highest+1)
		}
		return nil
	})
	return err
}

// noteHighest records, in the transaction that drops containers, the highest LSN that they have issued: new
// containers begin above it, and a snapshot may still hold them. It returns the record that holds once the
// transaction is durable. The caller holds ddl.
func (db *DB) noteHighest(t engine.Txn, dropped []*Container) (meta, error) {
	m := db.meta
	m.Highest = max(m.Highest, highest(dropped))
	return m, setRecord(t, layout.MetaKey(), m)
}
