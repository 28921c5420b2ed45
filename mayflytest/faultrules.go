package mayflytest

import "github.com/mayflydb/mayfly/internal/inject"

// FaultRule says which operations fail, how and how often: see Mayfly.Fail. Only Fault is required. Its
// fields:
//
//   - Fault is the kind of fault.
//   - Operations are the operations to which the rule applies. If there are none, it applies to all
//     operations to which Fault can apply, except query plans and metadata.
//   - Database and Container are the ids of a database and a container; empty: any. Entity is the path of a
//     queue, topic or subscription, for rules about messages.
//   - Share is the fraction of the operations that fail, above 0 and up to 1; 0 means 1. Seed is the seed of
//     the random numbers that select them.
//   - Skip is the number of operations that are skipped first. The rule ends after Count hits, or after the
//     time For by the test's clock, whichever comes first; 0: no such limit.
//   - After: if it is true, the operation is carried out first and only then fails, so the client does not
//     get its result.
//   - Latency delays the operation by this real time, in addition to the fault.
//   - RetryAfter is the delay that a 429 tells the client to wait; 0: 100 ms.
//   - Substatus is the substatus of a fault with a status; 0: 3200 for a 429, 1002 for a 410, else none.
type FaultRule = inject.FaultRule

// FaultKind is the fault that a FaultRule injects.
type FaultKind = inject.Fault

// The kinds of faults. A kind with a status makes the server answer an operation on documents with this
// status. Latency only delays the operation, by FaultRule.Latency, which must be set. Drop closes the
// connection without an answer. LockLost and Detach apply to messages only, which a Mayfly of this package
// does not serve, so they have no effect there.
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
type FaultOperation = inject.OperationKind

// The operations: first those on documents, then QueryPlan and Metadata (all other operations on accounts,
// databases, containers, ranges and so on), then those on messages.
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
