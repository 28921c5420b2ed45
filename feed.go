package mayfly

import (
	"context"
	"iter"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// FeedPosition is a position in a change feed or in a log of expirations, between two entries. It is text
// that a program can store. A reader that resumes from a FeedPosition gets every later entry. A reader of
// changes may also get some earlier entries again: see Change. The empty FeedPosition is the beginning.
type FeedPosition string

// ChangeKind says how a change has changed a document.
type ChangeKind uint8

// The kinds of changes. Without AllVersions all changes are Written.
const (
	Written ChangeKind = iota // created or replaced
	Created
	Replaced
	Deleted
	Expired
)

// Change is one entry of a change feed.
type Change struct {
	Kind      ChangeKind
	Document  Document // the document after the change; for Deleted and Expired it has only the ID
	Timestamp time.Time
	// Previous is the version that was replaced or deleted. It is nil without AllVersions, and if the option
	// Spec has set a PreviousImagePolicy that excludes it. For Expired it is nil unless such a policy
	// includes deletes, or WithOptions sets TTLPreviousImage.
	Previous *Document
	// Position is the position from which a reader resumes after it has handled this change. The reader
	// misses no change. Changes are read in pages: unless this change is the last of its page, the reader
	// gets the changes of the page again, including this one.
	Position FeedPosition
}

// FeedOption selects what a feed contains, or how it is read.
type FeedOption func(*feedConfig) error

// feedConfig collects the options of a feed.
type feedConfig struct {
	store.ChangesRequest
	follow bool
}

// AllVersions makes a feed contain every version, delete and expiry that the container still keeps: see
// KeepVersions. The feed fails with ErrBadRequest if the container keeps no versions, or no longer keeps
// those that follow the position. Without AllVersions, a feed contains only the latest version of each
// existing document.
func AllVersions() FeedOption {
	return func(r *feedConfig) error {
		r.Mode, r.Start.Kept = store.AllVersions, true
		return nil
	}
}

// Follow makes a loop over a feed wait for further entries when it has reached the end. The loop ends when
// ctx ends or the store is closed.
func Follow() FeedOption {
	return func(r *feedConfig) error {
		r.follow = true
		return nil
	}
}

// Of restricts a change feed to the documents of a partition key. If pk is a HierarchicalKey with fewer
// levels than the container has, the feed contains the documents of all keys that begin with these levels.
func Of(pk PartitionKey) FeedOption {
	return func(r *feedConfig) (err error) {
		r.Scope.Partition, err = partitionKey(pk)
		return err
	}
}

func feed(opts []FeedOption) (r feedConfig, err error) {
	for _, opt := range opts {
		if err := opt(&r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// End returns the position after the latest change, for a reader that wants only future changes. opts must be
// the options that the reader passes to Changes.
func (c *Container) End(ctx context.Context, opts ...FeedOption) (end FeedPosition, err error) {
	req, err := feed(opts)
	if err != nil {
		return "", err
	}
	req.Start.Now = true
	err = c.do(ctx, func(c *store.Container) error {
		page, _, err := c.Changes(ctx, req.ChangesRequest)
		end = FeedPosition(page.Position)
		return err
	})
	return end, err
}

// Changes yields the changes after a position, in the order of the writes within each partition. It ends
// after the latest change, unless the option Follow is given.
func (c *Container) Changes(ctx context.Context, after FeedPosition, opts ...FeedOption) iter.Seq2[Change,
	error] {
	return func(yield func(Change, error) bool) {
		req, err := feed(opts)
		if err != nil {
			yield(Change{}, err)
			return
		}
		req.Start.After = string(after)
		for {
			page, more, err := c.changes(ctx, req)
			if err != nil {
				yield(Change{}, err)
				return
			}
			for i, ch := range page.Changes {
				at := req.Start.After
				if i == len(page.Changes)-1 {
					at = page.Position
				}
				if !yield(change(ch, FeedPosition(at)), nil) {
					return
				}
			}
			req.Start.After = page.Position
			if len(page.Changes) > 0 || page.More {
				continue
			}
			if !req.follow {
				return
			}
			if err := waitFor(ctx, more); err != nil {
				yield(Change{}, err)
				return
			}
		}
	}
}

// changes reads a page of the feed. The channel more is closed when there are changes after the page.
func (c *Container) changes(ctx context.Context,
	req feedConfig) (page store.ChangesPage, more <-chan struct{}, err error) {
	err = c.do(ctx, func(c *store.Container) (err error) {
		more = c.Changed()
		page, _, err = c.Changes(ctx, req.ChangesRequest)
		return err
	})
	return page, more, err
}

// kinds maps the store's kinds of changes to those of this package.
var kinds = map[store.ChangeKind]ChangeKind{
	store.ChangeLatest: Written, store.ChangeCreate: Created, store.ChangeReplace: Replaced,
	store.ChangeDelete: Deleted, store.ChangeExpire: Expired,
}

func change(ch store.Change, at FeedPosition) Change {
	out := Change{Kind: kinds[ch.Kind], Timestamp: time.Unix(ch.Timestamp, 0).UTC(), Position: at}
	if out.Kind == Deleted || out.Kind == Expired {
		out.Document = Document{ID: ch.Key.ID}
	} else {
		out.Document = document(ch.Item)
	}
	if ch.Previous != nil {
		previous := document(*ch.Previous)
		out.Previous = &previous
	}
	return out
}

// Expiration is one entry of the log of expired documents.
type Expiration struct {
	Document  Document // the document after its last write
	ExpiredAt time.Time
	Lost      bool         // older entries that the reader has not read have been deleted
	Position  FeedPosition // the position after this entry
}

// Expirations yields the documents that have expired, beginning after a position. Each document occurs once.
// Within a partition range (see Transact), they are in the order in which the reaper found the documents.
// Expirations ends after the latest entry, unless the option Follow is given; it accepts no other option. The
// container must keep a log of expirations: see LogExpirations.
func (c *Container) Expirations(ctx context.Context, after FeedPosition,
	opts ...FeedOption) iter.Seq2[Expiration,
	error] {
	return func(yield func(Expiration, error) bool) {
		req, err := feed(opts)
		if err == nil && (req.Mode != store.LatestVersions || !req.Scope.Partition.IsZero()) {
			err = badRequest("a log of expirations knows no option but Follow", nil)
		}
		for after, lost := string(after), false; ; {
			var page store.ExpirationsPage
			var more <-chan struct{}
			if err == nil {
				err = c.do(ctx, func(c *store.Container) (err error) {
					more = c.ExpirationsChanged()
					page, err = c.Expirations(ctx, after, 0)
					return err
				})
			}
			if err != nil {
				yield(Expiration{}, err)
				return
			}
			lost = lost || page.Lost // a page without entries may report lost ones
			for _, e := range page.Expirations {
				entry := Expiration{Document: document(e.Item), ExpiredAt: time.Unix(e.ExpiredAt, 0).UTC(),
					Lost: lost, Position: FeedPosition(e.Position)}
				if lost = false; !yield(entry, nil) {
					return
				}
			}
			after = page.Position
			if len(page.Expirations) > 0 {
				continue
			}
			if !req.follow {
				return
			}
			if err := waitFor(ctx, more); err != nil {
				yield(Expiration{}, err)
				return
			}
		}
	}
}

// waitFor waits until the channel happened is closed. It returns an error if ctx ends first.
func waitFor(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-ctx.Done():
		return canceled(ctx)
	}
}
