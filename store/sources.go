package store

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// withSources runs fn with a scan.DocumentSource for each partition range of the scope, in the order of the
// ranges, and with these ranges. All sources read one snapshot. When withSources returns, everything that fn
// has read is durable.
func (c *Container) withSources(ctx context.Context, scope KeyOrRange,
	fn func(*scan.ResolvedKeyOrRange, []*scan.DocumentSource, []*container.Partition) error) error {
	var sources []*scan.DocumentSource
	var ranges []*container.Partition
	var state *view.ContainerAtTime
	var sp scan.ResolvedKeyOrRange
	watch := c.ds.pageWatch(ctx)
	pick := func(st *container.State) (_ []*container.Partition, err error) {
		state = c.viewState(st, 0)
		sp, err = scan.Resolve(state, st.InFormer(scope))
		ranges = st.Partitions(sp.Ranges)
		sources = newSources(ranges, !st.Unsettled())
		return ranges, err
	}
	err := c.snapshot(watch, pick, func(_ *container.State, now int64, r engine.Reader,
		at []engine.LSNScopeStatus) error {
		state.Now = now // no other goroutine uses it yet
		for i, in := range sp.Ranges {
			src := sources[i]
			src.State, src.Range, src.Span, src.Reader, src.Watch, src.At = state, in, &sp, r, watch, at[i]
			src.Tallies = c.ds.tallies
		}
		err := fn(&sp, sources, ranges)
		watch.Leave()
		for _, src := range sources {
			if cerr := src.Close(); err == nil {
				err = cerr
			}
		}
		return err
	})
	for i, src := range sources {
		if err == nil {
			_, err = c.settled(ctx, ranges[i], src.At, src.Seen)
		}
	}
	return classify.ToFault(err)
}

// newSources returns a scan.DocumentSource for each range. In each it sets Before to the highest LSN known to
// be durable in the range, which must be read before the snapshot is opened, and Indexed to indexed: whether
// all documents are indexed by the current policy.
func newSources(ranges []*container.Partition, indexed bool) []*scan.DocumentSource {
	sources, room := make([]*scan.DocumentSource, len(ranges)), make([]scan.DocumentSource, len(ranges))
	for i, s := range ranges {
		sources[i] = &room[i]
		sources[i].Before, sources[i].Indexed = s.Shown.Load(), indexed
	}
	return sources
}

// scope returns the partition ranges and key bounds that a KeyOrRange, the part of the container
// that a list or query reads, has in the state st. Errors are those of scan.Resolve.
func (c *Container) scope(st *container.State, s KeyOrRange) (scan.ResolvedKeyOrRange,
	error) {
	return scan.Resolve(c.viewState(st, 0), st.InFormer(s))
}

// containerCallbacksAdapter is a Container with the methods that its items (value.ContainerStateProvider) and
// the transactions on them (transaction.StoreCallbacks) need.
type containerCallbacksAdapter Container

// Identity returns the container's names and numbers.
func (c *containerCallbacksAdapter) Identity() *view.ContainerIdentity { return &c.items.Identity }

// Present returns the container's current state as a view.ContainerAtTime, a plain value without locks.
func (c *containerCallbacksAdapter) Present() *view.ContainerAtTime {
	return (*Container)(c).viewState(c.state.Load(), (*Container)(c).moment())
}

// queryTime returns the time of the container's clock, with the fractions of a second that the clock has.
// Whether items are alive is decided in whole seconds, once for each query.
func (c *Container) queryTime() time.Time { return c.d.clock.Time().UTC() }
