package cosmos

// ResourceKind is a kind of resource, such as a database, an item or a trigger.
type ResourceKind uint8

// The kinds of resources, roughly in the order of nesting.
const (
	KindAccount ResourceKind = iota
	KindDatabase
	KindContainer
	KindItem
	KindAttachment
	KindSproc
	KindTrigger
	KindUDF
	KindConflict
	KindRange
	KindPartitionDelete // the operation "partitionkeydelete" on a container; it is sent as a create
	KindUser
	KindPermission
	KindEncryptionKey
	KindOffer
	KindAddresses // physical addresses: requested only in direct mode
	KindNone      // a path of the wire's own, which is not a resource
	kindCount
)

// kindNames holds the names of each kind: the keyword in links and signatures, and the name in error texts.
var kindNames = [kindCount]struct{ keyword, name string }{
	KindAccount:         {"", "DatabaseAccount"},
	KindDatabase:        {"dbs", "Database"},
	KindContainer:       {"colls", "Collection"},
	KindItem:            {"docs", "Document"},
	KindAttachment:      {"attachments", "Attachment"},
	KindSproc:           {"sprocs", "StoredProcedure"},
	KindTrigger:         {"triggers", "Trigger"},
	KindUDF:             {"udfs", "UserDefinedFunction"},
	KindConflict:        {"conflicts", "Conflict"},
	KindRange:           {"pkranges", "PartitionKeyRange"},
	KindPartitionDelete: {"colls", "PartitionKey"},
	KindUser:            {"users", "User"},
	KindPermission:      {"permissions", "Permission"},
	KindEncryptionKey:   {"clientencryptionkeys", "ClientEncryptionKey"},
	KindOffer:           {"offers", "Offer"},
	KindAddresses:       {"addresses", "Address"},
}

// keyword returns the kind's name in links and signatures: "docs" for items; empty for the account.
func (k ResourceKind) keyword() string { return kindNames[k].keyword }

// OperationType says what a request does with the resource or feed that it addresses: read, create, query and
// so on.
type OperationType uint8

// The operations that a request can perform on a resource or a feed. Not every kind of resource supports all
// of them: see the function Supports.
const (
	OpRead   OperationType = iota // of a feed: lists it
	OpCreate                      // for a single stored procedure: executes it
	OpUpsert
	OpReplace
	OpDelete
	OpQuery
	OpQueryPlan
	OpBatch
	OpPatch
	OpChangeFeed
	OpQueryChanges // a query over a page of the change feed
	OpOther        // not an operation of the protocol
	opCount
)

// verbNames holds the names of operations in Cosmos DB's texts. Reading a feed and executing a procedure
// have other names.
var verbNames = [opCount]string{
	OpRead: "Read", OpCreate: "Create", OpUpsert: "Upsert", OpReplace: "Replace", OpDelete: "Delete",
	OpQuery: "Query", OpQueryPlan: "QueryPlan", OpBatch: "Batch", OpPatch: "Patch", OpChangeFeed: "ReadFeed", OpQueryChanges: "ReadFeed", OpOther: "Invalid",
}

// HasBody reports whether requests for the operation have a body. If not, the server of a protocol need not
// read one.
func (o OperationType) HasBody() bool { return o != OpRead && o != OpDelete && o != OpChangeFeed }

// Limits of a request's body in bytes. An item may have twice its limit on the wire, because whitespace and
// returned system properties do not count. The store measures the stored form.
const (
	maxBody     = 2 << 20
	maxItemBody = 2 * maxBody
)

// MaxBody returns the maximum size, in bytes, of a request's body for a resource of this kind.
func (k ResourceKind) MaxBody() int {
	if k == KindItem || k == KindNone {
		return maxItemBody
	}
	return maxBody
}
