package inject

import (
	"strings"
	"time"
)

// Fault is the kind of failure that a fault rule makes operations have, such as a 429 or a broken
// connection.
type Fault uint8

// The kinds of faults. Those with a status are Cosmos DB's and apply only to operations on documents.
// LockLost and Detach apply only to operations on messages. Latency and Drop apply to both.
const (
	None        Fault = iota
	Throttled         // 429
	RetryWith         // 449
	Gone              // 410
	Unavailable       // 503
	Timeout           // 408
	Latency           // the operation takes longer
	Drop              // the connection is closed
	LockLost          // the lock of a message is lost before it is settled or renewed
	Detach            // the link is detached
	faultCount
)

var faultNames = [faultCount]string{Throttled: "429", RetryWith: "449", Gone: "410", Unavailable: "503",
	Timeout: "408", Latency: "latency", Drop: "drop", LockLost: "lockLost", Detach: "detach"}

var faultStatuses = [faultCount]int{Throttled: 429, RetryWith: 449, Gone: 410, Unavailable: 503, Timeout: 408}

// String returns the name of the fault.
func (f Fault) String() string {
	if f < faultCount {
		return faultNames[f]
	}
	return ""
}

// Status returns the HTTP status of a fault, or 0 for a fault without one.
func (f Fault) Status() int { return faultStatuses[f] }

// FaultNames returns the names of all faults.
func FaultNames() []string { return faultNames[1:] }

// ParseFault parses a fault's name, ignoring case. Its error is a *FaultRuleError.
func ParseFault(name string) (Fault, error) {
	for f := Throttled; f < faultCount; f++ {
		if strings.EqualFold(faultNames[f], name) {
			return f, nil
		}
	}
	return None, &FaultRuleError{"fault", "'" + name + "' is no fault: there are " +
		strings.Join(FaultNames(), ", ")}
}

// FaultRule says which operations fail and how. Fault is required; all other fields are optional.
type FaultRule struct {
	Fault Fault
	// Operations are the operations that the rule applies to. If there are none, it applies to all
	// operations on documents and messages, except query plans and metadata.
	Operations []OperationKind
	// Database and Container are the ids of the documents' database and container. Empty: any.
	Database, Container string
	// Entity is the path of a queue, topic or subscription, ignoring case. Empty: any.
	Entity string

	Share float64       // the fraction of the operations that fail, above 0 and up to 1; 0: all
	Seed  uint64        // seed of the random numbers that choose the operations
	Skip  int64         // number of operations that are skipped first
	Count int64         // the rule ends after this number of hits; 0: never
	For   time.Duration // the rule ends after this time by the data's clock; 0: never

	// After applies the fault after the operation has been carried out, so that the client does not get the
	// result.
	After bool
	// Latency delays the operation by this real time, in addition to the fault.
	Latency    time.Duration
	RetryAfter time.Duration // delay that a 429 tells the client to wait; 0: 100 ms
	// Substatus is the substatus of the response, for faults that have an HTTP status. 0 stands for the
	// default: 3200 for a 429, 1002 for a 410, otherwise none.
	Substatus int
}

// Limits of fault rules: the latency of one, their number, and the time after which clients retry if a
// rule gives none.
const (
	MaxLatency = time.Minute
	MaxRules   = 1000

	defaultRetryAfter = 100 * time.Millisecond
)

// FaultRuleError reports an invalid rule. Member is the name of the invalid JSON member.
type FaultRuleError struct{ Member, Message string }

func (e *FaultRuleError) Error() string { return e.Message }

// settle fills in defaults, and refuses a rule that is invalid or could never hit.
func (r *FaultRule) settle() error {
	switch {
	case r.Fault == None || r.Fault >= faultCount:
		return &FaultRuleError{"fault", "a rule needs a fault: " + strings.Join(FaultNames(), ", ")}
	case r.Share < 0 || r.Share > 1 || r.Share != r.Share:
		return &FaultRuleError{"share", "a share is above 0 and at most 1"}
	case r.Count < 0:
		return &FaultRuleError{"count", "a count is not negative"}
	case r.Skip < 0:
		return &FaultRuleError{"skip", "a number of operations to skip is not negative"}
	case r.For < 0:
		return &FaultRuleError{"for", "a duration is not negative"}
	case r.Latency < 0 || r.Latency > MaxLatency:
		return &FaultRuleError{"latencyMs", "a latency is at most a minute"}
	case r.Fault == Latency && r.Latency == 0:
		return &FaultRuleError{"latencyMs", "the fault latency requires a number of milliseconds"}
	case r.RetryAfter != 0 && r.Fault != Throttled:
		return &FaultRuleError{"retryAfterMs", "only the fault 429 has a time after which to retry"}
	case r.RetryAfter < 0:
		return &FaultRuleError{"retryAfterMs", "the time after which to retry must not be negative"}
	case r.Substatus < 0 || r.Substatus != 0 && r.Fault.Status() == 0:
		return &FaultRuleError{"substatus",
			"a substatus must be positive, and requires a fault that is an HTTP status"}
	case r.Container != "" && r.Database == "":
		return &FaultRuleError{"database", "a container requires its database"}
	}
	if err := r.checkTarget(); err != nil {
		return err
	}
	if r.Share == 0 {
		r.Share = 1
	}
	switch {
	case r.Fault == Throttled && r.Substatus == 0:
		r.Substatus = 3200
	case r.Fault == Gone && r.Substatus == 0:
		r.Substatus = 1002
	}
	if r.Fault == Throttled && r.RetryAfter == 0 {
		r.RetryAfter = defaultRetryAfter
	}
	return nil
}

// checkTarget refuses a rule that applies to both documents and messages.
func (r *FaultRule) checkTarget() error {
	documents := r.Database != "" || r.Fault.Status() != 0
	messages := r.Entity != "" || r.Fault == LockLost || r.Fault == Detach
	for _, o := range r.Operations {
		documents = documents || !o.ofMessages()
		messages = messages || o.ofMessages()
		if r.Fault == LockLost && (o == Send || o == Receive) {
			return &FaultRuleError{"operations",
				"lockLost applies to settling messages and renewing locks, not to send and receive"}
		}
	}
	if documents && messages {
		return &FaultRuleError{"operations",
			"a rule applies to documents (database, container, status) or " +
				"to messages (entity, lockLost, detach), not to both"}
	}
	return nil
}

// matches reports whether a rule applies to an operation.
func (r *FaultRule) matches(o *IncomingOperation) bool {
	if len(r.Operations) == 0 && !o.Operation.ofData() {
		return false
	}
	if o.Operation.ofMessages() {
		if r.Fault.Status() != 0 || r.Database != "" ||
			r.Fault == LockLost && (o.Operation == Send || o.Operation == Receive) {
			return false
		}
	} else if r.Entity != "" || r.Fault == LockLost || r.Fault == Detach {
		return false
	}
	if r.Database != "" && r.Database != o.Database || r.Container != "" && r.Container != o.Container ||
		r.Entity != "" && !strings.EqualFold(r.Entity, o.Entity) {
		return false
	}
	if len(r.Operations) == 0 {
		return true
	}
	for _, wanted := range r.Operations {
		if wanted == o.Operation {
			return true
		}
	}
	return false
}
