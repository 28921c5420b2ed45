package value

import (
	"time"

	"github.com/mayflydb/mayfly/store/definition"
)

// WriteOptions are the preconditions of a write. Etags are taken as clients send them: with or without
// their quotes, with or without W/, or "*".
type WriteOptions struct {
	// IfMatch makes replace and delete (and an upsert that meets a live item) fail with
	// CodePreconditionFailed unless the item's etag is this one. An expired item is absent: CodeNotFound,
	// whatever the etag; an upsert then inserts.
	IfMatch string
	// IfNoneMatch "*" makes an upsert fail with CodePreconditionFailed where the item exists.
	IfNoneMatch string
	// PreTriggers and PostTriggers name the triggers that run in the write's transaction, at most one each. A
	// pre-trigger may change the document; one that throws prevents the write, CodeBadRequest.
	PreTriggers, PostTriggers []string
	// ExcludeSystemProperties says that readers may ask for the item without its system properties, which are
	// always there otherwise. Item.Plain reports it, until the next write of the item.
	ExcludeSystemProperties bool
	// Import gives the item of a create or an upsert a _ts in the past; see Container.Import. Nil: it is
	// written now.
	Import *ImportOptions
}

// ReadOptions are the conditions of a read.
type ReadOptions struct {
	// IfNoneMatch makes a read of an item with this etag (or any item, for "*") answer CodeNotModified.
	IfNoneMatch string
	// Session asks that what is read is at least as new as these positions; else CodeSessionNotAvailable.
	// CodeRangeGone: the container neither has nor had any of their ranges. Those of a former container of
	// the name are passed over.
	Session []SessionPosition
}

// SessionPosition is one entry of a session token: the LSN that a client has seen in a partition range.
// Version is that of the container: see Container.SessionVersion; 0 and NoSessionVersion are not looked at.
type SessionPosition struct {
	Range   string
	LSN     uint64
	Version int64
}

// Receipt reports what an operation did and cost. It is filled on failures, too, as far as it went.
type Receipt struct {
	Range    string  // id of the partition range that served; empty where none was reached
	LSN      uint64  // the range's position after the operation: what a session token carries
	Charge   float64 // RU
	Inserted bool    // an upsert found nothing and inserted
	// JSON that a post-trigger has put in place of the document in the answer, or nil
	Reply []byte
	Lint  definition.Lint // what is odd about the ttl of what was written
}

// Key names one item: its partition key and its id in it.
type Key struct {
	Partition definition.PartitionKey
	ID        string
}

// Scope narrows a list or a query. The zero Scope is the whole container. Partition decides before the rest.
type Scope struct {
	// Partition is a full partition key, or for a hierarchical container a prefix of one.
	Partition definition.PartitionKey
	// Range is the id of a partition range; unknown: CodeRangeGone. With a Partition it is what that has in
	// the range.
	Range string
	// MinEPK and MaxEPK bound the effective partition key, [MinEPK, MaxEPK), in upper-case hexadecimal;
	// empty MaxEPK and "FF" both mean no upper bound.
	MinEPK, MaxEPK string
}

// ListOptions page through items.
type ListOptions struct {
	Scope        Scope
	MaxItems     int    // items a page: 0 is 100; -1 as many as fit (at most 1,000, and 4 MB)
	Continuation string // of the page before; empty for the first
	Session      []SessionPosition
	// Within is how long a page of a query takes before it ends early, where it can be gone on from, for
	// callers who do not wait for longer. 0, and at most: 5 s, or half of Options.QueryTime.
	Within time.Duration
	// ByRange has pages as Cosmos DB's gateway makes them: where the scope spans several partition ranges
	// each page is of one of them, and may be empty, and continuations are those of the gateway. What must be
	// merged is not paged so.
	ByRange bool
}

// ImportOptions say how old an imported item is. One member at most may be set; with none the item is as old
// as a written one.
type ImportOptions struct {
	// Timestamp is the _ts, in seconds since 1970.
	Timestamp int64
	// Age is how long ago the item was written, in whole seconds: a fraction is dropped.
	Age time.Duration
	// ExpiresIn is how long the item has still to live by the policy in force, in whole seconds: a fraction
	// counts as one.
	ExpiresIn time.Duration
}

// The sizes of pages.
const (
	DefaultPageItems = 100     // of a page whose client names no number
	MaxPageItems     = 1000    // of a page whose client leaves the number to the server
	MaxPageBytes     = 4 << 20 // a page that has so many is closed: one more item may follow
)

// PageLimit is how many items a page has at most, of which a client has asked for so many: see
// ListOptions.MaxItems.
func PageLimit(asked int) int {
	switch {
	case asked == 0:
		return DefaultPageItems
	case asked < 0:
		return MaxPageItems
	}
	return asked
}
