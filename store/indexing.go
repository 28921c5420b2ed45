package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
)

// changeIndex prepares next, a state whose spec has been replaced, so that the container indexes by the new
// spec. If the definition of the index or the ttlPropertyPath has changed and the container has documents,
// next requires them to be reindexed.
func (c *Container) changeIndex(ctx context.Context, next, st *container.State) error {
	same := container.IndexDefinition(&next.Spec, next.Rec.Recent).
		Equal(container.IndexDefinition(&st.Spec, st.Rec.Recent))
	if same && !st.Rebased(next) {
		return nil
	}
	next.Rec.IndexRound++
	next.Rec.IndexedBy = nil
	var empty bool
	err := c.ds.view(ctx, func(r engine.Reader) (err error) {
		empty, err = st.IsEmpty(r)
		return err
	})
	if err != nil {
		return classify.ToFault(err)
	}
	switch {
	case empty:
		next.Rec.Eras = nil
	case same:
		next.Rec.IndexedBy = st.StillIndexedBy(next)
	default:
		next.Rec.IndexedBy = append(st.StillIndexedBy(next), st.Rec.Spec)
	}
	return classify.ToFault(next.Compile())
}
