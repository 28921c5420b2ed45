package inject

import (
	"strings"
	"time"
)

// Fault is what happens to an operation.
type Fault uint8

// The faults. Statuses are those of Cosmos DB's protocol and for documents alone, as LockLost and Detach are
// for messages; Latency and Drop are for both.
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

// String is the name by which people write the fault.
func (f Fault) String() string {
	if f < faultCount {
		return faultNames[f]
	}
	return ""
}

// Status is the status with which a fault answers, 0 for one that does not.
func (f Fault) Status() int { return faultStatuses[f] }

// FaultNames are the names of all faults.
func FaultNames() []string { return faultNames[1:] }

// ParseFault reads a fault's name, in letters of any case. Its error is a *RuleError.
func ParseFault(name string) (Fault, error) {
	for f := Throttled; f < faultCount; f++ {
		if strings.EqualFold(faultNames[f], name) {
			return f, nil
		}
	}
	return None, &RuleError{"fault", "'" + name + "' is no fault: there are " +
		strings.Join(FaultNames(), ", ")}
}

// Rule says which operations meet which fault. Fault is required; the zero value of all else is told below.
type Rule struct {
	Fault Fault
	// Operations are those that the rule is about. None: all on documents and messages, but neither query
	// plans nor metadata.
	Operations []Operation
	// Database and Container are where documents lie: ids. Empty: anywhere.
	Database, Container string
	// Entity is the path of a queue, a topic or a subscription; letters of any case. Empty: any.
	Entity string

	Share float64       // of those operations, above 0 and up to 1; 0 stands for all
	Seed  uint64        // begins the series of numbers that choose among them
	Skip  int64         // so many operations go by first
	Count int64         // the rule ends after so many hits; 0: never
	For   time.Duration // the rule ends so long after it was made, by the data's clock; 0: never

	// After lets the operation be carried out first: the client does not learn what became of it.
	After bool
	// Latency is how long the operation is held up, whatever else happens to it; by the real clock.
	Latency    time.Duration
	RetryAfter time.Duration // told with a 429; 0: 100 ms
	Substatus  int           // of an answer with a status; 0: 3200 for a 429, 1002 for a 410, else none
}

// Bounds of a rule.
const (
	MaxLatency = time.Minute
	MaxRules   = 1000

	defaultRetryAfter = 100 * time.Millisecond
)

// RuleError refuses a rule. Member is what is wrong with it, as JSON has it.
type RuleError struct{ Member, Message string }

func (e *RuleError) Error() string { return e.Message }

// settle fills in what a rule leaves open, and refuses one that could never do what it says.
func (r *Rule) settle() error {
	switch {
	case r.Fault == None || r.Fault >= faultCount:
		return &RuleError{"fault", "a rule needs a fault: " + strings.Join(FaultNames(), ", ")}
	case r.Share < 0 || r.Share > 1 || r.Share != r.Share:
		return &RuleError{"share", "a share is above 0 and at most 1"}
	case r.Count < 0:
		return &RuleError{"count", "a count is not negative"}
	case r.Skip < 0:
		return &RuleError{"skip", "a number of operations to skip is not negative"}
	case r.For < 0:
		return &RuleError{"for", "a duration is not negative"}
	case r.Latency < 0 || r.Latency > MaxLatency:
		return &RuleError{"latencyMs", "a latency is at most a minute"}
	case r.Fault == Latency && r.Latency == 0:
		return &RuleError{"latencyMs", "a latency needs to be told: how many milliseconds"}
	case r.RetryAfter != 0 && r.Fault != Throttled:
		return &RuleError{"retryAfterMs", "only a 429 tells when to come again"}
	case r.RetryAfter < 0:
		return &RuleError{"retryAfterMs", "a time to come again is not negative"}
	case r.Substatus < 0 || r.Substatus != 0 && r.Fault.Status() == 0:
		return &RuleError{"substatus", "a substatus is a positive number, and goes with a status"}
	case r.Container != "" && r.Database == "":
		return &RuleError{"database", "a container is named with its database"}
	}
	if err := r.checkSides(); err != nil {
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

// checkSides refuses a rule that is about documents and messages at once.
func (r *Rule) checkSides() error {
	documents := r.Database != "" || r.Fault.Status() != 0
	messages := r.Entity != "" || r.Fault == LockLost || r.Fault == Detach
	for _, o := range r.Operations {
		documents = documents || !o.ofMessages()
		messages = messages || o.ofMessages()
		if r.Fault == LockLost && (o == Send || o == Receive) {
			return &RuleError{"operations", "a lock is lost when a message is settled or its lock renewed"}
		}
	}
	if documents && messages {
		return &RuleError{"operations", "a rule is about documents (a database, a container, a status) or " +
			"about messages (an entity, lockLost, detach), not about both"}
	}
	return nil
}

// about reports whether a rule is about an operation.
func (r *Rule) about(o *Target) bool {
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
