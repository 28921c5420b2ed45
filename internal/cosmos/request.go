package cosmos

import (
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// Request is one operation requested by a client. A wire fills it and passes it to Service.Serve.
type Request struct {
	Kind      Kind
	Feed      bool // about all resources of the kind below the address
	Operation Operation
	Address   Address
	Headers   Headers
	Body      []byte // JSON text, binary JSON, or a batch's rows; nil: none
	BareText  bool   // the body is the plain text of a query, not JSON

	// Trusted reports that the client has the account's key, not a token.
	Trusted bool
	// Grant is the payload of the client's resource token; nil if it has none and may do everything.
	Grant *Grant

	// Replica reports that the request came in direct mode. Errors then have the body of a replica, without
	// the parts that a gateway adds.
	Replica bool

	Activity string // GUID of the request, in every answer and in the log
	URI      string // request URI for error texts, as received
	// Endpoint is the URL by which this client reaches the account, with a trailing slash. Only reads of the
	// account and of addresses need it.
	Endpoint string

	permitted bool // set by Permit
}

// MaxIDs is the maximum number of ids in an address: database, container, item, attachment.
const MaxIDs = 4

// Address is the location of a resource or of a feed.
type Address struct {
	IDs [MaxIDs]string // outermost first
	N   int            // number of ids
	// ByRID reports that the ids are rids, or that the database's name has the form of a rid: see
	// Service.database.
	ByRID bool
}

// ID returns the id at a level, outermost first, or "" if there are fewer levels.
func (a *Address) ID(level int) string {
	if level >= a.N {
		return ""
	}
	return a.IDs[level]
}

// Database returns the id of the database.
func (a *Address) Database() string { return a.ID(0) }

// Container returns the id of the container.
func (a *Address) Container() string { return a.ID(1) }

// Leaf returns the last id; for a feed, this is the parent's.
func (a *Address) Leaf() string {
	if a.N == 0 {
		return ""
	}
	return a.IDs[a.N-1]
}

// Headers are the conditions and options of a request, and the part of a container that it concerns. A zero
// value means that the header was absent. Headers of Cosmos DB that have no effect on a single linearizable
// server (priority, dedicated gateway, SDK capabilities ...) are omitted.
type Headers struct {
	PartitionKey definition.PartitionKey
	RangeID      string // bare id of a partition key range
	MinEPK       string // first effective partition key, in upper-case hexadecimal
	MaxEPK       string // end of the effective partition keys, exclusive
	IntendedRID  string // rid of the container that the client expects
	// CachedRID is the rid that a client in direct mode has cached for the container's name. If the name now
	// belongs to another container, the client is told to refresh its cache.
	CachedRID string
	RangeIDs  []string // ranges whose addresses are requested; none: all
	Session   []store.SessionPosition

	IfMatch, IfNoneMatch string // etags; in a change feed, IfNoneMatch is the position to continue from
	ModifiedSince        string // RFC 1123
	Minimal              bool   // the answer to a write omits the item
	Incremental          bool   // A-IM: Incremental feed
	FullFidelity         bool   // A-IM: Full-Fidelity Feed
	MetadataApart        bool   // of a change feed: metadata is separate from images
	PreviousImages       bool   // of a change feed: include those of replaced items

	MaxItems       int           // -1: as many as fit
	Within         time.Duration // time limit of a query's page: see store.ListOptions; not a header
	Continuation   string        // empty: the first page
	CrossPartition bool          // a query may cross partition keys
	ServeCross     bool          // and the server may merge its results

	Atomic, ContinueOnError     bool // of a batch
	QueryMetrics, PopulateQuota bool
	Statistics                  bool // of a container's ranges
	// LegacyIndexes is set for protocol versions that have kinds of indexes: their clients read back the
	// kinds set on a container's included paths. Later versions omit them.
	LegacyIndexes                bool
	IndexMetrics, IndexMetricsV2 bool // versions 1 and 2
	Direct                       bool // run the query without a plan, if possible

	Features  []string // query features that the client can merge; nil: not given
	Continued bool     // of a query plan: the client expects to continue the query

	PreTriggers, PostTriggers []string
	ScriptLog                 bool // the answer includes the script's log

	ExplainTTL bool // the answer includes the item's expiry
	Plain      bool // omit system properties of items written with this header

	TokenLife int // requested lifetime of a resource token in seconds

	Ranges                int // number of ranges of a new container
	Throughput            definition.Throughput
	ToAutoscale, ToManual bool // an offer's migration

	Imported *store.ImportOptions // import options of a create or an upsert; nil: a normal write

	Supported, Wanted Formats // formats of the answer's body
}

// Changes reports whether a read of items is a read of the change feed.
func (h *Headers) Changes() bool { return h.Incremental || h.FullFidelity }

// scope returns the part of a container that the headers select.
func (h *Headers) scope() store.Scope {
	return store.Scope{Partition: h.PartitionKey, Range: h.RangeID, MinEPK: h.MinEPK, MaxEPK: h.MaxEPK}
}

// listOptions returns the options of a feed or a query of items: scope, page and session.
func (h *Headers) listOptions() store.ListOptions {
	return store.ListOptions{Scope: h.scope(), MaxItems: h.MaxItems, Continuation: h.Continuation,
		Session: h.Session, Within: h.Within, ByRange: true}
}

// writeOptions returns the options of a write: preconditions, triggers, import.
func (h *Headers) writeOptions() store.WriteOptions {
	return store.WriteOptions{IfMatch: h.IfMatch, IfNoneMatch: h.IfNoneMatch, PreTriggers: h.PreTriggers,
		PostTriggers: h.PostTriggers, ExcludeSystemProperties: h.Plain,
		Import: h.Imported}
}

// readOptions returns the conditions of a read.
func (h *Headers) readOptions() store.ReadOptions {
	return store.ReadOptions{IfNoneMatch: h.IfNoneMatch, Session: h.Session}
}
