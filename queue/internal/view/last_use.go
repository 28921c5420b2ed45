package view

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// EntityLastUseRecord is the stored time of the last use of an entity with AutoDeleteOnIdle, which is deleted
// when it has not been used for long. It is stored only if several servers share the engine.
type EntityLastUseRecord struct {
	Server   uint64 // that has stored it
	Accessed int64  // the millisecond of the last use
	Until    int64  // until this millisecond the server may use the entity without storing it
}

// UseKey returns the key of an entity's last use.
func UseKey(number uint32) []byte {
	return layout.MessageStoreKeysOf(number, entity.Main).Family(layout.FamilyAccessed)
}

// ReadUse reads the stored last use of an entity. It returns the zero use if there is none.
func ReadUse(r engine.Reader, number uint32) (u EntityLastUseRecord, err error) {
	v, err := r.Get(UseKey(number))
	if errors.Is(err, engine.ErrNotFound) {
		return u, nil
	}
	if err != nil {
		return u, err
	}
	if len(v) != 24 {
		return u, fmt.Errorf("%w: the last use of an entity has %d bytes", engine.ErrCorrupt, len(v))
	}
	return EntityLastUseRecord{binary.BigEndian.Uint64(v), int64(binary.BigEndian.Uint64(v[8:])),
		int64(binary.BigEndian.Uint64(v[16:]))}, nil
}

// Encode returns the stored form.
func (u EntityLastUseRecord) Encode() []byte {
	v := binary.BigEndian.AppendUint64(make([]byte, 0, 24), u.Server)
	v = binary.BigEndian.AppendUint64(v, uint64(u.Accessed))
	return binary.BigEndian.AppendUint64(v, uint64(u.Until))
}
