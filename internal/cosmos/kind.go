package cosmos

// Kind is a kind of resources.
type Kind uint8

// The kinds of resources, in the order in which they lie in each other as far as that goes.
const (
	KindAccount Kind = iota
	KindDatabase
	KindContainer
	KindItem
	KindAttachment
	KindSproc
	KindTrigger
	KindUDF
	KindConflict
	KindRange
	KindPartitionDelete // the operation "partitionkeydelete" on a container: it is created
	KindUser
	KindPermission
	KindEncryptionKey
	KindOffer
	KindAddresses // physical addresses: asked for by clients in direct mode only
	KindNone      // no resource of the protocol: a wire's own affair, whose errors name none
	kindCount
)

// kindNames are what the kinds are called: the keyword of their feed in links and signatures, and the name in
// the texts of errors.
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

// keyword is what the kind is called in links and in what a client signs: "docs" for items; empty for the
// account.
func (k Kind) keyword() string { return kindNames[k].keyword }

// Operation is what a request wants done.
type Operation uint8

// The operations. Not all kinds have all of them: see Supports.
const (
	OpRead   Operation = iota // of a feed: list it
	OpCreate                  // of a single stored procedure: execute it
	OpUpsert
	OpReplace
	OpDelete
	OpQuery
	OpQueryPlan
	OpBatch
	OpPatch
	OpChangeFeed
	OpQueryChanges // what a query makes of a page of the change feed
	OpOther        // one that the protocol does not have
	opCount
)

// verbNames are the operations as the service's texts call them. A read of a feed and the call of a procedure
// have their own names.
var verbNames = [opCount]string{
	OpRead: "Read", OpCreate: "Create", OpUpsert: "Upsert", OpReplace: "Replace", OpDelete: "Delete",
	OpQuery: "Query", OpQueryPlan: "QueryPlan", OpBatch: "Batch", OpPatch: "Patch", OpChangeFeed: "ReadFeed", OpQueryChanges: "ReadFeed", OpOther: "Invalid",
}

// HasBody reports whether a request for an operation on a kind brings a body: a wire need not look for one
// otherwise.
func (o Operation) HasBody() bool { return o != OpRead && o != OpDelete && o != OpChangeFeed }

// Limits of a request's body in bytes. An item may take twice its limit on the wire, because blanks and the
// system properties that clients send back do not count; the store measures what it would keep.
const (
	maxBody     = 2 << 20
	maxItemBody = 2 * maxBody
)

// MaxBody is how many bytes the body of a request for a resource of this kind may have.
func (k Kind) MaxBody() int {
	if k == KindItem || k == KindNone {
		return maxItemBody
	}
	return maxBody
}
