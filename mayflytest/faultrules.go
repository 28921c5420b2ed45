package mayflytest

import "github.com/mayflydb/mayfly/internal/inject"

// FaultRule says which operations fail, how and how often. See Mayfly.Fail.
type FaultRule = inject.Rule

// FaultKind is the fault that a FaultRule injects.
type FaultKind = inject.Fault

// The kinds of faults. The kinds with a status are those of Cosmos DB's protocol and apply to operations on
// documents only. LockLost and Detach apply to messages only; Latency and Drop apply to both.
const (
	Throttled   = inject.Throttled   // 429
	RetryWith   = inject.RetryWith   // 449
	Gone        = inject.Gone        // 410
	Unavailable = inject.Unavailable // 503
	Timeout     = inject.Timeout     // 408
	Latency     = inject.Latency     // the operation takes longer
	Drop        = inject.Drop        // the connection is closed
	LockLost    = inject.LockLost    // the lock of a message is lost before it is settled or renewed
	Detach      = inject.Detach      // the link is detached
)

// FaultOperation is a kind of operation that rules can select.
type FaultOperation = inject.Operation

// The operations on documents, followed by those on messages. Metadata is every other operation: on accounts,
// databases, containers, ranges and so on.
const (
	ReadItem     = inject.ReadItem
	CreateItem   = inject.CreateItem
	UpsertItem   = inject.UpsertItem
	ReplaceItem  = inject.ReplaceItem
	PatchItem    = inject.PatchItem
	DeleteItem   = inject.DeleteItem
	QueryItems   = inject.QueryItems
	ListItems    = inject.ListItems
	ChangeFeed   = inject.ChangeFeed
	Batch        = inject.Batch
	ExecuteSproc = inject.ExecuteSproc
	QueryPlan    = inject.QueryPlan
	Metadata     = inject.Metadata
	Send         = inject.Send
	Receive      = inject.Receive
	Complete     = inject.Complete
	Abandon      = inject.Abandon
	Defer        = inject.Defer
	DeadLetter   = inject.DeadLetter
	RenewLock    = inject.RenewLock
)
