package queue

import (
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// setUse stores the last use of an entity. It does nothing if the entity no longer exists.
func (w *messageTx) setUse(e *entityState, u view.EntityLastUseRecord) error {
	if _, err := w.partOf(e.stores[entity.Main]); err != nil {
		return err
	}
	w.Set(view.UseKey(e.number), u.Encode())
	w.NextLSN(e.scope)
	return nil
}
