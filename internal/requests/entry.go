package requests

import (
	"net/http"
	"strings"
	"time"
)

// Protocol is how a request came.
type Protocol uint8

// The protocols.
const (
	HTTP   Protocol = iota + 1 // Cosmos DB or Service Bus over HTTP
	Direct                     // RNTBD
	AMQP
	protocolCount
)

var protocolNames = [protocolCount]string{HTTP: "http", Direct: "direct", AMQP: "amqp"}

// String is the protocol's name in the API: http, direct or amqp.
func (p Protocol) String() string {
	if p < protocolCount {
		return protocolNames[p]
	}
	return ""
}

// ProtocolNames are the names of all protocols.
func ProtocolNames() []string { return protocolNames[1:] }

// ParseProtocol reads a protocol's name; 0 for another text.
func ParseProtocol(name string) Protocol {
	for p := HTTP; p < protocolCount; p++ {
		if protocolNames[p] == name {
			return p
		}
	}
	return 0
}

// Kind is whose API a request used.
type Kind uint8

// The kinds of requests.
const (
	Data   Kind = iota // Cosmos DB or Service Bus
	Own                // Mayfly's own API below /_mayfly
	Secret             // Data whose bodies hold secrets, such as the tokens of permissions
)

// Entry is one request that has been answered. Log.Add copies what it needs: an entry and everything in it
// belongs to the caller.
type Entry struct {
	ID       uint64 // the number in the log, which Add sets; it rises
	Began    time.Time
	Took     time.Duration
	DataTime time.Time // the moment of the end on the clock of the data; zero: that of real time
	Protocol Protocol
	Kind     Kind
	Explorer bool // the explorer has sent it

	Method    string // of HTTP; of AMQP the frame: attach, transfer, disposition, management
	Host      string // as the client calls the server
	URI       string // path and query string, or the address of AMQP
	Operation string // by the conventions of telemetry (read_item), or of Service Bus (send, complete)
	// FaultOperation is what rules of faults on demand call the operation.
	FaultOperation string
	Database       string // ids; empty where it is about none
	Container      string
	Item           string // the id of the item, or of another resource in the database or container
	Entity         string // path of a queue, topic or subscription

	Status    int // of HTTP, or what Service Bus answers over HTTP in this case; 0: there was no answer
	Substatus int
	Condition string        // of AMQP, where the operation failed
	Charge    float64       // RU
	Retry     time.Duration // after which the client was told to retry
	In, Out   int64         // bytes of the bodies

	Activity string // GUID of the request
	Rule     string // id of the rule of a fault on demand that the request met

	// Client, Version and PartitionKey are for protocols without headers: those of HTTP are read from there.
	Client, Version, PartitionKey string

	// RequestFields and ResponseFields are headers, and those of RequestHeader and ResponseHeader are more of
	// them: who has read a map's entries already need not let them be read again.
	RequestFields, ResponseFields []Field
	RequestHeader, ResponseHeader http.Header
	RequestBody, ResponseBody     []byte
}

// Limits of what is copied of an entry, in bytes.
const (
	MaxBody    = 32 << 10 // of a body
	maxHeaders = 16 << 10 // of all headers of one direction
	maxText    = 4 << 10  // of any other text
)

// Field is a header as it was sent, with its secrets masked.
type Field struct{ Name, Value string }

// Record is an entry as a Log has kept it.
type Record struct {
	Entry
	Correlated   string // GUID of the query that the request is a page of
	Continuation string // where the page began
	Request      []Field
	Response     []Field
	RequestCut   bool // the body was longer than what is kept
	ResponseCut  bool // the same of the answer's body
	// Attempt counts the attempts of one operation from 1; First is the ID of the first of them.
	Attempt int
	First   uint64
}

// Sent is the value of a header of the request, "" where it has none of that name.
func (r *Record) Sent(name string) string { return valueOf(r.Request, name) }

// Answered is the value of a header of the answer, "" where it has none of that name.
func (r *Record) Answered(name string) string { return valueOf(r.Response, name) }

func valueOf(list []Field, name string) string {
	for _, f := range list {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}
