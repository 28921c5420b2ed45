package cosmos

import (
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/inspect"
)

// Answer is what became of a request. A wire hands an empty one to Service.Serve, writes what it then has,
// and releases it. The zero value of each field is that there is nothing to say.
type Answer struct {
	Status    int
	Substatus int
	// Body is the answer's body until Release; nil: there is none.
	Body []byte
	Rows bool // the body is a stream of rows, as that of a batch may be; else it is JSON

	Charge float64 // RU; 0: that of the least request, 1
	// Range is the partition key range that served, and LSN how far it is: that is what a session token says.
	// There is one replica: what it has, all have.
	Range   string
	LSN     uint64
	Version int64  // of the session token: the container's
	ItemLSN uint64 // at which position of its range the item that was read was written

	ETag         string // with its quotes
	Continuation string // there are more pages; a client that is sent an empty one asks for ever
	Counted      bool   // Count says how many entries the feed's body has
	Count        int

	// OwnerRID is where the client files session tokens: the rid of what the resource lies in; its names are
	// the other two.
	OwnerRID, OwnerDatabase, OwnerContainer string

	RetryAfter time.Duration // when a client that was refused is to come back

	QueryMetrics     string // names and values, which clients split at ';' and '='
	IndexUtilization string // in the form that was asked for
	ExecutionInfo    string // JSON: in which direction equal rows of an ORDER BY come
	Direct           bool   // a query that was to run without a plan has

	Logged    bool   // ScriptLog is what a script logged
	ScriptLog string // percent-encoded

	Quota, Usage string // of the container, in KB: names and values
	// IndexProgress says how far a container's items are indexed by its present policy, in percent
	HasProgress      bool
	IndexProgress    int
	SharesThroughput bool // of a container: its database's
	MinThroughput    int  // of an offer, in RU/s
	ReplacePending   bool // of an offer

	Expiry *inspect.Expiry // when the item expires
	Lint   definition.Lint // the rules that a time to live breaks which was written

	lent   *buffer // Body's memory, where it is borrowed
	held   int64   // bytes of memory
	memory *store.Memory
}

// Release lets the body's memory go. The answer has been written, or will not be.
func (a *Answer) Release() {
	a.dropBody()
	if a.held > 0 {
		a.memory.Give(a.held)
		a.held = 0
	}
}

func (a *Answer) dropBody() {
	a.Body, a.Rows = nil, false
	if a.lent != nil {
		a.lent.release()
		a.lent = nil
	}
}

// AppendSessionToken appends the part of the answer's session token that follows the range: {version}#{lsn},
// with no region part. It returns where the LSN begins, too.
func (a *Answer) AppendSessionToken(dst []byte) (token []byte, lsn int) {
	dst = append(strconv.AppendInt(dst, a.Version, 10), '#')
	return strconv.AppendUint(dst, a.LSN, 10), len(dst)
}

// setETag sets the etag, which carries its quotes.
func (a *Answer) setETag(etag string) {
	if etag != "" {
		a.ETag = etag
	}
}

// setItemCount says how many entries a feed's body has.
func (a *Answer) setItemCount(n int) { a.Counted, a.Count = true, n }

// setContainerPaths names the owner of an item, a container.
func (a *Answer) setContainerPaths(rid, database, container string) {
	a.OwnerRID, a.OwnerDatabase, a.OwnerContainer = rid, database, container
}

// setDatabasePaths names the owner of a container, a database.
func (a *Answer) setDatabasePaths(rid, database string) {
	a.OwnerRID, a.OwnerDatabase, a.OwnerContainer = rid, database, ""
}
