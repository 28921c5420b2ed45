package requestlog

import (
	"net/http"
	"strings"
	"time"
)

// Protocol is the protocol by which the server received a request.
type Protocol uint8

// The protocols by which a server receives requests.
const (
	HTTP   Protocol = iota + 1 // Cosmos DB or Service Bus over HTTP
	Direct                     // RNTBD
	AMQP
	protocolCount
)

var protocolNames = [protocolCount]string{HTTP: "http", Direct: "direct", AMQP: "amqp"}

// String returns the name of the protocol in Mayfly's own API: http, direct or amqp.
func (p Protocol) String() string {
	if p < protocolCount {
		return protocolNames[p]
	}
	return ""
}

// ProtocolNames returns the names of all protocols.
func ProtocolNames() []string { return protocolNames[1:] }

// ParseProtocol returns the protocol with a name, or 0 if there is none.
func ParseProtocol(name string) Protocol {
	for p := HTTP; p < protocolCount; p++ {
		if protocolNames[p] == name {
			return p
		}
	}
	return 0
}

// APIKind is the kind of API that a request used.
type APIKind uint8

// The kinds of requests.
const (
	Data   APIKind = iota // Cosmos DB or Service Bus
	Own                   // Mayfly's own API, under /_mayfly
	Secret                // like Data, with bodies that contain secrets, such as permission tokens
)

// Entry describes a finished request. Log.Add copies what it needs, so an entry and everything in it belongs
// to the caller.
type Entry struct {
	ID       uint64 // number in the log, in ascending order; set by Add
	Began    time.Time
	Took     time.Duration
	DataTime time.Time // time of the data's clock at the end of the request; zero: equal to real time
	Protocol Protocol
	Kind     APIKind
	Explorer bool // sent by the explorer

	Method    string // HTTP method; for AMQP the kind of frame: attach, transfer, disposition, management
	Host      string // name of the server, as the client sent it
	URI       string // path and query string, or the AMQP address
	Operation string // name of the operation in OpenTelemetry (read_item) or in Service Bus (send, complete)
	// FaultOperation is the name that the operation has in fault rules.
	FaultOperation string
	Database       string // id; empty for none
	Container      string
	Item           string // id of the item, or of another resource in the database or container
	Entity         string // path of a queue, topic or subscription

	Status    int // HTTP status, or the equivalent of an AMQP condition; 0: no response
	Substatus int
	Condition string        // AMQP condition of a failed operation
	Charge    float64       // RU
	Retry     time.Duration // time after which the client may retry, as sent to the client
	In, Out   int64         // sizes of the bodies in bytes

	Activity string // GUID of the request
	Rule     string // id of the fault rule that applied to the request

	// Client, Version and PartitionKey are set only for protocols without headers. For HTTP they are taken
	// from the headers.
	Client, Version, PartitionKey string

	// RequestFields and ResponseFields are headers in addition to those in RequestHeader and ResponseHeader.
	// Callers that do not have the headers in a map use them.
	RequestFields, ResponseFields []HeaderField
	// ResponseLines are further headers, as lines of the form "name: value\r\n". They must contain no
	// secrets: they are not masked.
	ResponseLines                 []byte
	RequestHeader, ResponseHeader http.Header
	RequestBody, ResponseBody     []byte
}

// Limits in bytes of what the log copies from a request and its response. Longer data is cut.
const (
	MaxBody    = 32 << 10 // of a body
	maxHeaders = 16 << 10 // maximum of all request headers, or of all response headers
	maxText    = 4 << 10  // of any other text
)

// HeaderField is the name and the value of a header. The log masks secrets in the value.
type HeaderField struct{ Name, Value string }

// RetrievedEntry is an Entry that was read from a Log, with values that were computed when it was read.
type RetrievedEntry struct {
	Entry
	Correlated   string // id (GUID) of the query that the page belongs to
	Continuation string // continuation with which the page was requested
	Request      []HeaderField
	Response     []HeaderField
	RequestCut   bool // the request's body was longer than MaxBody
	ResponseCut  bool // the response's body was longer than MaxBody
	// Attempt counts the attempts of one operation, beginning with 1. First is the ID of the first attempt.
	Attempt int
	First   uint64
}

// Sent returns the value of a request header, or "" if there is none.
func (r *RetrievedEntry) Sent(name string) string { return valueOf(r.Request, name) }

// Answered returns the value of a response header, or "" if there is none.
func (r *RetrievedEntry) Answered(name string) string { return valueOf(r.Response, name) }

func valueOf(list []HeaderField, name string) string {
	for _, f := range list {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}
