package inject

import "strings"

// OperationKind is a kind of operation that a rule can select.
type OperationKind uint8

// The operations on documents, followed by those on messages. Metadata is every other operation: on
// accounts, databases, containers, ranges and so on.
const (
	ReadItem OperationKind = iota + 1
	CreateItem
	UpsertItem
	ReplaceItem
	PatchItem
	DeleteItem
	QueryItems
	ListItems
	ChangeFeed
	Batch
	ExecuteSproc
	QueryPlan
	Metadata
	Send
	Receive
	Complete
	Abandon
	Defer
	DeadLetter
	RenewLock
	operationCount
)

var operationNames = [operationCount]string{
	ReadItem: "readItem", CreateItem: "createItem", UpsertItem: "upsertItem", ReplaceItem: "replaceItem",
	PatchItem: "patchItem", DeleteItem: "deleteItem", QueryItems: "queryItems", ListItems: "listItems",
	ChangeFeed: "changeFeed", Batch: "batch", ExecuteSproc: "executeSproc", QueryPlan: "queryPlan",
	Metadata: "metadata", Send: "send", Receive: "receive", Complete: "complete", Abandon: "abandon",
	Defer: "defer", DeadLetter: "deadLetter", RenewLock: "renewLock",
}

// String returns the name of the operation.
func (o OperationKind) String() string {
	if o < operationCount {
		return operationNames[o]
	}
	return ""
}

// ofMessages reports whether it is an operation on messages.
func (o OperationKind) ofMessages() bool { return o >= Send }

// ofData reports whether a rule that names no operations applies to the operation.
func (o OperationKind) ofData() bool { return o != Metadata && o != QueryPlan }

// OperationNames returns the names of all operations.
func OperationNames() []string { return operationNames[1:] }

// ParseOperation parses an operation's name, ignoring case. Its error is a *FaultRuleError.
func ParseOperation(name string) (OperationKind, error) {
	for o := ReadItem; o < operationCount; o++ {
		if strings.EqualFold(operationNames[o], name) {
			return o, nil
		}
	}
	return 0, &FaultRuleError{"operations", "'" + name + "' is no operation: there are " +
		strings.Join(OperationNames(), ", ")}
}
