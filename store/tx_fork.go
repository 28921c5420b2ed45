package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// copy copies all keys of each container of the snapshot to the new container that takes its place in the
// fork.
func (b *forkedDatabase) copy(ctx context.Context) error {
	for i, was := range b.sources() {
		if err := b.copyKeys(ctx, was.cid, b.containers[i].cid); err != nil {
			return classify.ToFault(err)
		}
	}
	return nil
}

// copyKeys copies all keys of the container with the number was to the number is, in pieces and without
// waiting for the disk. The transaction that makes the copy reachable is durable only together with all
// transactions before it.
func (b *forkedDatabase) copyKeys(ctx context.Context, was, is uint32) error {
	rg := layout.ContainerRange(was)
	scope := layout.RangeScope(is, 0) // no other goroutine uses it yet
	for rg.Start != nil {
		var batch []view.KeyValue
		err := b.from.ds.view(ctx, func(r engine.Reader) (err error) {
			batch, rg.Start, err = view.ReadPiece(r, rg, pieceBytes)
			return err
		})
		if err != nil {
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

// pieceBytes is the maximum number of bytes of keys and values that one transaction writes when a database is
// copied.
const pieceBytes = 4 << 20
