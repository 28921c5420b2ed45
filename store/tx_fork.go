package store

import (
	"bytes"
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// copy copies the keys of all containers.
func (b *forkedDatabase) copy(ctx context.Context) error {
	for i, was := range b.sources() {
		if err := b.copyKeys(ctx, was.cid, b.containers[i].cid); err != nil {
			return classify.ToFault(err)
		}
	}
	return nil
}

// copyKeys copies all keys of one container to another container's number, in pieces and without waiting
// for the disk. The transaction that makes the copy reachable is durable only together with all
// transactions before it.
func (b *forkedDatabase) copyKeys(ctx context.Context, was, is uint32) error {
	rg := layout.ContainerRange(was)
	scope := layout.RangeScope(is, 0) // no other goroutine uses it yet
	for rg.Start != nil {
		var batch []view.KeyValue
		var err error
		if batch, rg.Start, err = b.readPiece(ctx, rg); err != nil {
			return err
		}
		_, err = b.db.eng.Update(ctx, [][]byte{scope}, func(t engine.Txn) error {
			for _, e := range batch {
				layout.MoveKey(e.Key, is)
				t.Set(e.Key, e.Value)
			}
			t.Relax()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pieceBytes is the number of bytes of keys and values that are written at once.
const pieceBytes = 4 << 20

// readPiece reads the next keys of a range in the snapshot. next is the key to continue with; nil at the
// end.
func (b *forkedDatabase) readPiece(ctx context.Context, rg engine.Range) (batch []view.KeyValue, next []byte,
	err error) {
	err = b.from.ds.view(ctx, func(r engine.Reader) error {
		it := r.Scan(rg, false)
		for size := 0; it.Next(); {
			if size >= pieceBytes {
				next = bytes.Clone(it.Key())
				break
			}
			batch = append(batch, view.KeyValue{Key: bytes.Clone(it.Key()), Value: bytes.Clone(it.Value())})
			size += len(it.Key()) + len(it.Value())
		}
		return it.Close()
	})
	return batch, next, err
}
