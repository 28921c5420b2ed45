package requests

import (
	"net/http"
	"strings"
	"time"
)

// Protocol is the protocol of a request.
type Protocol uint8

// The protocols.
const (
	HTTP   Protocol = iota + 1 // Cosmos DB or Service Bus over HTTP
	Direct                     // RNTBD
	AMQP
	protocolCount
)

var protocolNames = [protocolCount]string{HTTP: "http", Direct: "direct", AMQP: "amqp"}

// String returns the protocol's name in the API: http, direct or amqp.
func (p Protocol) String() string {
	if p < protocolCount {
		return protocolNames[p]
	}
	return ""
}

// ProtocolNames returns the names of all protocols.
func ProtocolNames() []string { return protocolNames[1:] }

// ParseProtocol parses a protocol's name; it returns 0 for any other text.
func ParseProtocol(name string) Protocol {
	for p := HTTP; p < protocolCount; p++ {
		if protocolNames[p] == name {
			return p
		}
	}
	return 0
}

// Kind is the kind of API that a request used.
type Kind uint8

// The kinds of requests.
const (
	Data   Kind = iota // Cosmos DB or Service Bus
	Own                // Mayfly's own API below /_mayfly
	Secret             // Data whose bodies contain secrets, such as permission tokens
)

// Entry describes a finished request. Log.Add copies what it needs: an entry and everything in it belongs
// to the caller.
type Entry struct {
	ID       uint64 // the number in the log, set by Add; ascending
	Began    time.Time
	Took     time.Duration
	DataTime time.Time // when it ended, by the data's clock; zero: by real time
	Protocol Protocol
	Kind     Kind
	Explorer bool // sent by the explorer

	Method    string // of HTTP; for AMQP the frame: attach, transfer, disposition, management
	Host      string // the server's name as sent by the client
	URI       string // path and query string, or the AMQP address
	Operation string // in OpenTelemetry's terms (read_item), or Service Bus's (send, complete)
	// FaultOperation is the name of the operation in rules of faults on demand.
	FaultOperation string
	Database       string // id; empty for none
	Container      string
	Item           string // the id of the item, or of another resource in the database or container
	Entity         string // path of a queue, topic or subscription

	Status    int // of HTTP, or the equivalent HTTP status; 0: no response
	Substatus int
	Condition string        // the AMQP condition of a failed operation
	Charge    float64       // RU
	Retry     time.Duration // the retry time sent to the client
	In, Out   int64         // sizes of the bodies in bytes

	Activity string // GUID of the request
	Rule     string // id of the fault rule that the request met

	// Client, Version and PartitionKey are set for protocols without headers. For HTTP they are read from
	// headers.
	Client, Version, PartitionKey string

	// RequestFields and ResponseFields are headers in addition to those in RequestHeader and
	// ResponseHeader. They serve callers that have read a map's entries already.
	RequestFields, ResponseFields []Field
	RequestHeader, ResponseHeader http.Header
	RequestBody, ResponseBody     []byte
}

// Limits of the copied data of an entry, in bytes.
const (
	MaxBody    = 32 << 10 // of a body
	maxHeaders = 16 << 10 // of all headers of one direction
	maxText    = 4 << 10  // of any other text
)

// Field is a header with its secrets masked.
type Field struct{ Name, Value string }

// Record is an entry read from a Log.
type Record struct {
	Entry
	Correlated   string // GUID of the query that the page belongs to
	Continuation string // the continuation that the page began at
	Request      []Field
	Response     []Field
	RequestCut   bool // the request's body was longer than MaxBody
	ResponseCut  bool // the response's body was longer than MaxBody
	// Attempt counts the attempts of one operation from 1. First is the ID of the first attempt.
	Attempt int
	First   uint64
}

// Sent returns the value of a request header, or "" if there is none.
func (r *Record) Sent(name string) string { return valueOf(r.Request, name) }

// Answered returns the value of a response header, or "" if there is none.
func (r *Record) Answered(name string) string { return valueOf(r.Response, name) }

func valueOf(list []Field, name string) string {
	for _, f := range list {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}
