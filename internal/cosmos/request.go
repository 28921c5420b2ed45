package cosmos

import (
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// Request is one operation that a client wants done. A wire fills it and hands it to Service.Serve.
type Request struct {
	Kind      Kind
	Feed      bool // it is about all resources of the kind below the address, not about one of them
	Operation Operation
	Address   Address
	Headers   Headers
	Body      []byte // JSON text, binary JSON, or of a batch rows; nil where there is none
	BareText  bool   // the body of a query is its text, not JSON

	// Trusted says that the client has the account's key, not a token of any kind.
	Trusted bool
	// Grant is what the permission's token of the client lets it do; nil where it has none of these, and may
	// do all.
	Grant *Grant

	// Replica says that the client asks a replica, in direct mode: errors are told as one tells them, without
	// what a gateway puts around that.
	Replica bool

	Activity string // GUID of the request, in every answer and in the log
	URI      string // what errors call the request: its address as it came
	// Endpoint is where this client reaches the account: a URL with a slash at its end. Reads of the account
	// alone want it.
	Endpoint string

	permitted bool // Permit has let it through
}

// MaxIDs is the deepest nesting of ids: database, container, item, attachment.
const MaxIDs = 4

// Address is where a resource, or the feed of some, lies.
type Address struct {
	IDs [MaxIDs]string // outermost first
	N   int            // how many there are
	// ByRID says that the ids are rids, or that a database's name looks like one: see Service.database.
	ByRID bool
}

// ID is the id at a level, outermost first; empty where there are fewer.
func (a *Address) ID(level int) string {
	if level >= a.N {
		return ""
	}
	return a.IDs[level]
}

// Database is the id of the database.
func (a *Address) Database() string { return a.ID(0) }

// Container is the id of the container, of what lies in one.
func (a *Address) Container() string { return a.ID(1) }

// Leaf is the last id; of a feed that is the parent's.
func (a *Address) Leaf() string {
	if a.N == 0 {
		return ""
	}
	return a.IDs[a.N-1]
}

// Headers are what goes with a request: conditions, options, and where in a container it works. The zero
// value of each is that it was not given. What Cosmos DB knows and what changes nothing in a single
// linearizable server (priority, dedicated gateway, SDK capabilities ...) is not here.
type Headers struct {
	PartitionKey definition.PartitionKey
	RangeID      string // of a partition key range, bare
	MinEPK       string // effective partition keys in upper-case hexadecimal: from this one
	MaxEPK       string // up to this one, without it
	IntendedRID  string // of the container that the client believes to be talking to
	// CachedRID is that of the container that a client in direct mode has in its cache under the name in the
	// address: where it is not the one of that name any more, the client is told to look it up anew.
	CachedRID string
	RangeIDs  []string // of the ranges whose addresses are asked for; none: of all
	Session   []store.SessionPosition

	IfMatch, IfNoneMatch string // etags; of a change feed IfNoneMatch is where it goes on
	ModifiedSince        string // RFC 1123
	Minimal              bool   // no item in the answer of a write
	Incremental          bool   // A-IM: Incremental feed
	FullFidelity         bool   // A-IM: Full-Fidelity Feed
	MetadataApart        bool   // of a change feed: metadata stands beside the images
	PreviousImages       bool   // of a change feed: of replaced items, too

	MaxItems       int           // -1: as many as fit
	Within         time.Duration // of a query's page: see store.ListOptions; no header has it
	Continuation   string        // empty: the first page
	CrossPartition bool          // a query may go over partition keys
	ServeCross     bool          // and its results may be merged here

	Atomic, ContinueOnError     bool // of a batch
	QueryMetrics, PopulateQuota bool
	Statistics                  bool // of a container's ranges
	// LegacyIndexes is set for clients of a version of the protocol that has kinds of indexes: they read back
	// those that a container's included paths were given. Later ones do not see them.
	LegacyIndexes                bool
	IndexMetrics, IndexMetricsV2 bool // two forms of the same
	Direct                       bool // a query without a plan, where that is possible

	Features  []string // of queries that the client can merge; nil: not given
	Continued bool     // the client expects to continue a query whose plan it asks for

	PreTriggers, PostTriggers []string
	ScriptLog                 bool // the answer shall have what the script logged

	ExplainTTL bool // the answer shall say when the item expires
	Plain      bool // items that were written with this header come without system properties

	TokenLife int // seconds that a permission's token shall live

	Ranges                int // of a new container
	Throughput            definition.Throughput
	ToAutoscale, ToManual bool // an offer's migration

	Imported *store.ImportOptions // of a create or an upsert; nil: it is written now

	Supported, Wanted Formats // of the answer's body: those that the client takes, and the one that it wants
}

// Changes reports whether a read of items is one of their change feed.
func (h *Headers) Changes() bool { return h.Incremental || h.FullFidelity }

// scope is the part of a container that the headers name.
func (h *Headers) scope() store.Scope {
	return store.Scope{Partition: h.PartitionKey, Range: h.RangeID, MinEPK: h.MinEPK, MaxEPK: h.MaxEPK}
}

// listOptions are scope, page and session of a feed or query of items.
func (h *Headers) listOptions() store.ListOptions {
	return store.ListOptions{Scope: h.scope(), MaxItems: h.MaxItems, Continuation: h.Continuation,
		Session: h.Session, Within: h.Within, ByRange: true}
}

// writeOptions are the preconditions and the triggers of a write.
func (h *Headers) writeOptions() store.WriteOptions {
	return store.WriteOptions{IfMatch: h.IfMatch, IfNoneMatch: h.IfNoneMatch, PreTriggers: h.PreTriggers,
		PostTriggers: h.PostTriggers, ExcludeSystemProperties: h.Plain,
		Import: h.Imported}
}

// readOptions are the conditions of a read.
func (h *Headers) readOptions() store.ReadOptions {
	return store.ReadOptions{IfNoneMatch: h.IfNoneMatch, Session: h.Session}
}
