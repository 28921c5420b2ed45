package value

import (
	"time"

	"github.com/mayflydb/mayfly/store/definition"
)

// WriteOptions are the preconditions and the other options of a write. Etags are accepted in the forms
// that clients send: with or without quotes, with or without W/, or "*".
type WriteOptions struct {
	// IfMatch makes a replace, a delete, or an upsert of a live item fail with CodePreconditionFailed
	// unless the item's etag is this one. An expired item counts as absent: replace and delete return
	// CodeNotFound whatever the etag, and an upsert inserts.
	IfMatch string
	// IfNoneMatch "*" makes an upsert fail with CodePreconditionFailed if the item exists.
	IfNoneMatch string
	// PreTriggers and PostTriggers name the triggers that run in the write's transaction, at most one
	// each. A pre-trigger may change the document. If a trigger throws, the write fails with
	// CodeBadRequest.
	PreTriggers, PostTriggers []string
	// ExcludeSystemProperties allows readers to ask for the item without its system properties.
	// Item.Plain reports it until the next write of the item.
	ExcludeSystemProperties bool
	// Import gives the item of a create or an upsert a _ts in the past; see Container.Import. If it is
	// nil, the _ts is the current second.
	Import *ImportTimestampOptions
}

// ReadOptions are the conditions of a read.
type ReadOptions struct {
	// IfNoneMatch makes a read return CodeNotModified if the item has this etag (for "*": if it exists).
	IfNoneMatch string
	// Session requires the read to be at least as new as these positions; otherwise it fails with
	// CodeSessionNotAvailable. It fails with CodeRangeGone if none of the positions' ranges exists or has
	// ever existed in the container. Positions in ranges of a former container of the same name are
	// ignored.
	Session []SessionTokenEntry
}

// SessionTokenEntry is one entry of a session token: the highest LSN that a client has received from a
// partition range. Version is the version of the container: see store.Container.SessionVersion. The
// versions 0 and NoSessionVersion are not checked.
type SessionTokenEntry struct {
	Range   string
	LSN     uint64
	Version int64
}

// OperationReceipt reports the effects and the cost of an operation. After a failure it has the values that
// were known at that point.
type OperationReceipt struct {
	Range    string  // id of the partition range that was used; empty if none was
	LSN      uint64  // the range's position after the operation, for the session token
	Charge   float64 // in RU
	Inserted bool    // an upsert created the item
	// Reply is the JSON by which a post-trigger has replaced the document in the response, or nil.
	Reply []byte
	Lint  definition.BrokenLintRules // the rules that the written ttl breaks
}

// ItemKey identifies one item: its partition key and its id within that key.
type ItemKey struct {
	Partition definition.PartitionKey
	ID        string
}

// KeyOrRange limits a list or a query to a part of the container: a partition key, a partition
// range, or an interval of effective partition keys. The zero KeyOrRange is the whole container. A
// Partition takes precedence over MinEPK and MaxEPK.
type KeyOrRange struct {
	// Partition is a full partition key, or for a hierarchical container a prefix of one.
	Partition definition.PartitionKey
	// Range is the id of a partition range; CodeRangeGone if it does not exist. Together with a
	// Partition, the scope is the part of the partition that lies in the range.
	Range string
	// MinEPK and MaxEPK bound the effective partition key, [MinEPK, MaxEPK), in upper-case hexadecimal;
	// empty MaxEPK and "FF" both mean no upper bound.
	MinEPK, MaxEPK string
}

// ListOptions are the options of a page of items.
type ListOptions struct {
	Scope        KeyOrRange
	MaxItems     int    // per page: 0 is 100; -1 as many as fit (at most 1,000, and 4 MB)
	Continuation string // of the previous page; empty for the first
	Session      []SessionTokenEntry
	// Within is the time after which a page of a query ends early, with a continuation, if the query can be
	// continued. 0 means the maximum: 5 s, or half of store.Options.QueryTime.
	Within time.Duration
	// ByRange returns pages as Cosmos DB's gateway does: if the scope spans several partition ranges,
	// each page is from one of them and may be empty, and continuations are those of the gateway. It does
	// not apply to queries whose partial results must be merged.
	ByRange bool
}

// ImportTimestampOptions determine the _ts of an imported item, the time from which its time to live counts.
// At most one field may be set. If none is set, the item is written with the current time.
type ImportTimestampOptions struct {
	// Timestamp is the _ts, in seconds since 1970.
	Timestamp int64
	// Age is the time since the item was written. A fraction of a second is dropped.
	Age time.Duration
	// ExpiresIn is the remaining time to live under the current policy. A fraction of a second counts as
	// a whole second.
	ExpiresIn time.Duration
}

// The limits of pages.
const (
	DefaultPageItems = 100     // if the client gives no number
	MaxPageItems     = 1000    // if the client leaves the number to the server
	MaxPageBytes     = 4 << 20 // at this size a page ends; its last item may exceed it
)

// PageLimit returns the maximum number of items of a page for which a client has asked for the number asked:
// 0 means DefaultPageItems, and a negative number MaxPageItems.
func PageLimit(asked int) int {
	switch {
	case asked == 0:
		return DefaultPageItems
	case asked < 0:
		return MaxPageItems
	}
	return asked
}
