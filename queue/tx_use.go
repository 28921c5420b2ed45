package queue

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// use is the stored last use of an entity with AutoDeleteOnIdle, in an engine that several servers share.
type use struct {
	server   uint64 // that has stored it
	accessed int64  // the millisecond of the last use
	until    int64  // the server may use the entity until this millisecond without storing that
}

func useKey(number uint32) []byte {
	return layout.StoreKeysOf(number, entity.Main).Family(layout.FamilyAccessed)
}

// readUse reads the stored last use of an entity. It returns the zero use if there is none.
func readUse(r engine.Reader, number uint32) (u use, err error) {
	v, err := r.Get(useKey(number))
	if errors.Is(err, engine.ErrNotFound) {
		return u, nil
	}
	if err != nil {
		return u, err
	}
	if len(v) != 24 {
		return u, fmt.Errorf("%w: the last use of an entity has %d bytes", engine.ErrCorrupt, len(v))
	}
	return use{binary.BigEndian.Uint64(v), int64(binary.BigEndian.Uint64(v[8:])),
		int64(binary.BigEndian.Uint64(v[16:]))}, nil
}

// setUse stores the last use of an entity, unless the entity does not exist any more.
func (w *messageTx) setUse(e *entityState, u use) error {
	if _, err := w.partOf(e.stores[entity.Main]); err != nil {
		return err
	}
	v := binary.BigEndian.AppendUint64(nil, u.server)
	v = binary.BigEndian.AppendUint64(v, uint64(u.accessed))
	w.Set(useKey(e.number), binary.BigEndian.AppendUint64(v, uint64(u.until)))
	w.NextLSN(e.scope)
	return nil
}
