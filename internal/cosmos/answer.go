package cosmos

import (
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/inspect"
)

// Response is the response to a request. A wire (the implementation of a protocol) passes an empty Response
// to Service.Serve, sends its contents, and releases it. A field with the zero value does not apply to the
// response.
type Response struct {
	Status    int
	Substatus int
	// Body is the body of the response, valid until Release; nil: there is none.
	Body []byte
	Rows bool // Body is a stream of HybridRow rows (the results of a batch) instead of JSON

	Charge float64 // request units; 0: the minimum charge, 1
	// Range is the partition key range that served the request, and LSN is its current position. Both are
	// part of the session token. All replicas are this server, so they have the same position.
	Range   string
	LSN     uint64
	Version int64  // session version of the container
	ItemLSN uint64 // LSN at which the item was last written

	ETag string // including its quotes
	// Continuation is the continuation token of the next page. It is empty if there is none; then the
	// response must not have the header, because clients that get an empty token request the same page
	// forever.
	Continuation string
	Counted      bool // Count is the number of entries in the feed's body
	Count        int

	// OwnerRID is the rid of the parent of the addressed resource, a database or a container; clients store
	// session tokens under it. OwnerDatabase and OwnerContainer are the ids; OwnerContainer is "" for a
	// database.
	OwnerRID, OwnerDatabase, OwnerContainer string

	RetryAfter time.Duration // delay after which the client of a refused request should retry

	QueryMetrics     string // names and values, separated by ';' and '='
	IndexUtilization string // in the requested form
	ExecutionInfo    string // JSON that says in which order an ORDER BY returns equal rows
	Direct           bool   // the query was run without a query plan, as the client has requested

	Logged    bool   // ScriptLog is set
	ScriptLog string // log of a script, percent-encoded

	Quota, Usage string // of the container, in KB: names and values
	// HasProgress reports whether IndexProgress is set: the percentage of a container's items that are
	// indexed by the current policy.
	HasProgress      bool
	IndexProgress    int
	SharesThroughput bool // the container uses its database's throughput
	MinThroughput    int  // of an offer, in RU/s
	ReplacePending   bool // of an offer

	Expiry *inspect.ItemExpiryExplanation // the item's expiry
	Lint   definition.BrokenLintRules     // lint rules that the written time to live violates

	pooled   *bodyBuffer // pooled buffer of Body; nil: none
	reserved int64       // bytes reserved in memory
	memory   *store.MemoryBudget
}

// Release frees the body. It is called after the response has been sent or discarded.
func (a *Response) Release() {
	a.dropBody()
	if a.reserved > 0 {
		a.memory.Give(a.reserved)
		a.reserved = 0
	}
}

func (a *Response) dropBody() {
	a.Body, a.Rows = nil, false
	if a.pooled != nil {
		a.pooled.release()
		a.pooled = nil
	}
}

// AppendSessionToken appends the part of the session token that follows the range: {version}#{lsn}, without
// the part for regions. It also returns the index at which the LSN begins.
func (a *Response) AppendSessionToken(dst []byte) (token []byte, lsn int) {
	dst = append(strconv.AppendInt(dst, a.Version, 10), '#')
	return strconv.AppendUint(dst, a.LSN, 10), len(dst)
}

// setETag sets the etag, which the caller gives with its quotes. An empty etag changes nothing.
func (a *Response) setETag(etag string) {
	if etag != "" {
		a.ETag = etag
	}
}

// setItemCount sets the number of entries in a feed's body.
func (a *Response) setItemCount(n int) { a.Counted, a.Count = true, n }

// setContainerPaths sets a container as the owner of the addressed resource.
func (a *Response) setContainerPaths(rid, database, container string) {
	a.OwnerRID, a.OwnerDatabase, a.OwnerContainer = rid, database, container
}

// setDatabasePaths sets a database as the owner of the addressed resource.
func (a *Response) setDatabasePaths(rid, database string) {
	a.OwnerRID, a.OwnerDatabase, a.OwnerContainer = rid, database, ""
}
