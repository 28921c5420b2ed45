package cosmos

import (
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// Request is one operation that a client requests. The server of a protocol (HTTP or direct mode) fills it in
// and passes it to Service.Serve.
type Request struct {
	Kind      ResourceKind
	Feed      bool // the request concerns all resources of the kind below the address
	Operation OperationType
	Address   ResourceAddress
	Headers   RequestHeaders
	Body      []byte // JSON text, binary JSON, or a batch's rows; nil: none
	BareText  bool   // the body is the plain text of a query, not JSON

	// Trusted reports whether the client has the account's key rather than a token.
	Trusted bool
	// Grant is the payload of the client's resource token. It is nil if the client has no such token and may
	// do everything.
	Grant *ResourceTokenPayload

	// Replica reports whether the request came in direct mode. Errors then have the body that a replica
	// sends, without the parts that a gateway adds.
	Replica bool

	Activity string // GUID of the request, contained in every response and in the log
	URI      string // URI of the request, as received, for error texts
	// Endpoint is the URL at which this client reaches the account, with a slash at the end. Only reads of
	// the account and of addresses need it.
	Endpoint string

	permitted bool // set by Permit
}

// MaxIDs is the maximum number of ids in an address: database, container, item, attachment.
const MaxIDs = 4

// ResourceAddress is the location of a resource or of a feed in the account: the ids of the database, the
// container and so on that lead to it.
type ResourceAddress struct {
	IDs [MaxIDs]string // outermost first
	N   int            // number of ids
	// ByRID reports whether the ids look like rids. They may still be names, because a database can have a
	// name in the form of a rid.
	ByRID bool
}

// ID returns the id at a level, or "" if there are fewer levels. Level 0 is the outermost.
func (a *ResourceAddress) ID(level int) string {
	if level >= a.N {
		return ""
	}
	return a.IDs[level]
}

// Database returns the id of the database.
func (a *ResourceAddress) Database() string { return a.ID(0) }

// Container returns the id of the container.
func (a *ResourceAddress) Container() string { return a.ID(1) }

// Leaf returns the last id. For a feed this is the id of the parent.
func (a *ResourceAddress) Leaf() string {
	if a.N == 0 {
		return ""
	}
	return a.IDs[a.N-1]
}

// RequestHeaders are the conditions and options of a request, and the part of a container that it concerns. A
// zero value means that the header was absent. Headers of Cosmos DB that have no effect in Mayfly, whose
// store is linearizable (priority, dedicated gateway, SDK capabilities ...), are omitted.
type RequestHeaders struct {
	PartitionKey definition.PartitionKey
	RangeID      string // id of a partition key range, without its container
	MinEPK       string // first effective partition key, in upper-case hexadecimal
	MaxEPK       string // end of the effective partition keys, exclusive
	IntendedRID  string // rid of the container that the client wants to address
	// CachedRID is the rid that a client in direct mode has cached for the container's name. If another
	// container now has that name, the response makes the client refresh its cache.
	CachedRID string
	RangeIDs  []string // ranges whose addresses are requested; none: all
	Session   []store.SessionTokenEntry

	IfMatch, IfNoneMatch string // etags; for a change feed, IfNoneMatch is the position to continue from
	ModifiedSince        string // RFC 1123
	Minimal              bool   // the response to a write does not contain the item
	Incremental          bool   // A-IM: Incremental feed
	FullFidelity         bool   // A-IM: Full-Fidelity Feed
	MetadataApart        bool   // for a change feed: metadata is separate from the images of items
	PreviousImages       bool   // for a change feed: include the previous images of replaced items

	MaxItems       int           // -1: as many as fit
	Within         time.Duration // time limit of a page of a query: see store.ListOptions; not a header
	Continuation   string        // empty: the first page
	CrossPartition bool          // the query may read several partition keys
	ServeCross     bool          // the server may merge the results of such a query

	Atomic, ContinueOnError     bool // of a batch
	QueryMetrics, PopulateQuota bool
	Statistics                  bool // of a container's ranges
	// LegacyIndexes is set for protocol versions that have kinds of indexes. Their clients expect to read
	// the kinds that were set for a container's included paths; responses to later versions omit them.
	LegacyIndexes bool
	// BeforeSystemKey is set for protocol versions in which a container that was created without a partition
	// key has none, rather than the system key. Their clients send no partition key for such a container, and
	// reach only the items whose partition key is undefined.
	BeforeSystemKey              bool
	IndexMetrics, IndexMetricsV2 bool // versions 1 and 2
	Direct                       bool // run the query without a query plan, if possible

	Features  []string // query features that the client can merge; nil: not given
	Continued bool     // for a query plan: the client expects to continue the query

	PreTriggers, PostTriggers []string
	ScriptLog                 bool // the response includes the log of the script

	ExplainTTL bool // the response includes when and why the item expires
	Plain      bool // omit the system properties of items that were written with this header

	TokenLife int // requested lifetime of a resource token in seconds

	Ranges                int // number of ranges of a new container
	Throughput            definition.Throughput
	ToAutoscale, ToManual bool // an offer's migration

	Imported *store.ImportTimestampOptions // import options of a create or an upsert; nil: a normal write

	Supported, Wanted AcceptedJSONEncodings // formats that the body of the response may have
}

// Changes reports whether a read of items is a read of the change feed.
func (h *RequestHeaders) Changes() bool { return h.Incremental || h.FullFidelity }

// scope returns the part of a container that the headers select: by a partition key, a partition range or an
// interval of effective partition keys.
func (h *RequestHeaders) scope() store.KeyOrRange {
	return store.KeyOrRange{Partition: h.PartitionKey, Range: h.RangeID, MinEPK: h.MinEPK,
		MaxEPK: h.MaxEPK}
}

// listOptions returns the options of a feed or a query of items: scope, page and session.
func (h *RequestHeaders) listOptions() store.ListOptions {
	return store.ListOptions{Scope: h.scope(), MaxItems: h.MaxItems, Continuation: h.Continuation,
		Session: h.Session, Within: h.Within, ByRange: true}
}

// writeOptions returns the options of a write: preconditions, triggers, import.
func (h *RequestHeaders) writeOptions() store.WriteOptions {
	return store.WriteOptions{IfMatch: h.IfMatch, IfNoneMatch: h.IfNoneMatch, PreTriggers: h.PreTriggers,
		PostTriggers: h.PostTriggers, ExcludeSystemProperties: h.Plain,
		Import: h.Imported}
}

// readOptions returns the options of a read: If-None-Match and the session token.
func (h *RequestHeaders) readOptions() store.ReadOptions {
	return store.ReadOptions{IfNoneMatch: h.IfNoneMatch, Session: h.Session}
}
