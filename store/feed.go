package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/feed"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// ChangesRequest asks for a page of a change feed.
type ChangesRequest struct {
	Scope    KeyOrRange
	Mode     ChangeFeedMode
	Start    ChangesStart
	Session  []SessionTokenEntry
	MaxItems int // changes per page, as in ListOptions; a page never ends inside a transaction
}

// Changes returns the changes of a scope that follow a start. A page without changes means that the reader
// has reached the current end of the feed, unless the page has More. CodeBadRequest: the position or the
// scope is malformed, or the position is ahead of the store. For AllVersions also: the container does not
// keep all versions, or the start is before the oldest version kept. The zero start, the beginning of the
// feed, always is before it; ChangesStart.Kept starts at the oldest version kept. CodeRangeGone: a range that
// does not exist (any more). CodeSessionNotAvailable: req.Session is ahead of the store.
func (c *Container) Changes(ctx context.Context, req ChangesRequest) (ChangesPage, OperationReceipt, error) {
	c.beginUse()
	defer c.endUse()
	if err := c.checkPositions(ctx, req.Session); err != nil {
		return ChangesPage{}, c.refused(), err
	}
	from, err := feed.ParsePositions(req.Start.After, engine.MaxLSN)
	if err != nil {
		return ChangesPage{}, c.refused(), err
	}
	f := feed.Reader{Owner: (*containerCallbacksAdapter)(c), Mode: req.Mode, Start: req.Start,
		Limit: PageLimit(req.MaxItems)}
	var sp *scan.ResolvedKeyOrRange
	var ranges []*container.Partition
	var served *container.Partition
	var at []uint64
	err = c.withSources(ctx, req.Scope,
		func(s *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			in []*container.Partition) error {
			sp, ranges, at = s, in, make([]uint64, len(sources))
			for i, src := range sources {
				at[i] = from.Of(src.Range)
				if !f.Full() {
					served = in[i]
					err := c.checkSession(served, req.Session)
					if err == nil {
						at[i], err = f.Fill(src, at[i])
					}
					if err != nil {
						return err
					}
				}
				src.Seen = at[i]
			}
			return nil
		})
	if err == nil && req.Start.Now {
		// All changes made before this call are durable by now.
		for i, s := range ranges {
			at[i] = c.position(s)
		}
	}
	r := c.refused()
	if served != nil {
		r = c.receipt(served, value.ChargeFailure)
	}
	if err != nil {
		return ChangesPage{}, r, err
	}
	f.Page.Position = feed.FormatPositions(sp.Ranges, at)
	r.Charge = value.RoundCharge(value.ChargeRead(f.Bytes) + 0.1*float64(len(f.Page.Changes)))
	return f.Page, r, nil
}
