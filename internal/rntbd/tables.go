package rntbd

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// The ids of those tokens of a request that the code handles itself, because the tables below are not
// enough.
const (
	tokenResourceID      = 0x00
	tokenPayloadPresent  = 0x02
	tokenSession         = 0x05
	tokenMatch           = 0x08
	tokenDatabase        = 0x15
	tokenContainer       = 0x16
	tokenVersion         = 0x28
	tokenRangeID         = 0x2C
	tokenCachedContainer = 0x35
	tokenRequestID       = 0x4D
	tokenReadFeedKey     = 0x64
)

// resourcePathLevel is a level of a path such as colls/trials: the keyword ("colls"), and the number of the
// token that contains the id after it.
type resourcePathLevel struct {
	keyword string
	id      uint16
}

var (
	databases  = resourcePathLevel{"dbs", tokenDatabase}
	containers = resourcePathLevel{"colls", tokenContainer}
	items      = resourcePathLevel{"docs", 0x17}
	users      = resourcePathLevel{"users", 0x19}
)

// itemResource is the number of the resource type of items.
const itemResource = 0x03

// resources holds the levels of the paths of resources. The index is the number of the resource type in
// RNTBD.
var resources = [...][]resourcePathLevel{
	0x01:         {databases},
	0x02:         {databases, containers},
	itemResource: {databases, containers, items},
	0x04:         {databases, containers, items, {"attachments", 0x18}},
	0x05:         {databases, users},
	0x06:         {databases, users, {"permissions", 0x1A}},
	0x07:         {databases, containers, {"sprocs", 0x1B}},
	0x08:         {databases, containers, {"conflicts", 0x20}},
	0x09:         {databases, containers, {"triggers", 0x1D}},
	0x0A:         {databases, containers, {"udfs", 0x1C}},
	0x0F:         {{"offers", tokenResourceID}},
	0x16:         {databases, containers, {"pkranges", 0x36}},
	0x23:         {databases, {"clientencryptionkeys", 0x80}},
}

// operationMapping says which HTTP method and headers correspond to an operation of RNTBD.
type operationMapping struct {
	method string // empty: there is no such operation
	feed   bool   // the operation addresses all resources of the kind below the address, or adds one
	header string // header that distinguishes operations with the same method; empty: none
	media  string // content type
}

// The RNTBD numbers of the operations that the code refers to by name.
const (
	opRead     = 0x03
	opReadFeed = 0x04
	opQuery    = 0x0F
)

// operations maps the operation types of RNTBD, Cosmos DB's direct-mode protocol, to the HTTP methods and
// headers that stand for them. The index is the number of the type.
var operations = [...]operationMapping{
	0x01:       {method: http.MethodPost, feed: true},
	0x02:       {method: http.MethodPatch, media: "application/json-patch+json"},
	opRead:     {method: http.MethodGet},
	opReadFeed: {method: http.MethodGet, feed: true},
	0x05:       {method: http.MethodDelete},
	0x06:       {method: http.MethodPut},
	0x08:       {method: http.MethodPost}, // executes a stored procedure
	0x09:       {http.MethodPost, true, "X-Ms-Documentdb-Isquery", "application/sql"},
	opQuery:    {http.MethodPost, true, "X-Ms-Documentdb-Isquery", "application/query+json"},
	0x11:       {method: http.MethodHead},
	0x12:       {method: http.MethodHead, feed: true},
	0x13:       {method: http.MethodPost, feed: true, header: "X-Ms-Documentdb-Is-Upsert"},
	0x25:       {method: http.MethodPost, feed: true, header: "X-Ms-Cosmos-Is-Batch-Request"},
	0x42:       {http.MethodPost, true, "X-Ms-Cosmos-Is-Query-Plan-Request", "application/query+json"},
}

// writes holds the numbers of the operations that change items.
var writes = [...]uint16{0x01, 0x02, 0x05, 0x06, 0x13, 0x25}

// headerMapping translates a token to a header: its name in Go's canonical form, and a function that formats
// the value. An empty value means that the header is omitted.
type headerMapping struct {
	name  string // empty: there is no such header
	spell func(value string) string
}

// headers maps the id of a token of a direct-mode frame to the HTTP header with the same meaning. It has only
// headers that a gateway supports, except the consistency level, since in direct mode clients ask for Strong
// whatever the account's level is.
var headers = [...]headerMapping{
	0x01:         {"Authorization", text},
	0x03:         {"X-Ms-Date", text},
	0x04:         {"X-Ms-Max-Item-Count", count},
	tokenSession: {"X-Ms-Session-Token", text},
	0x06:         {"X-Ms-Continuation", text},
	0x07:         {"X-Ms-Indexing-Directive", one("Default", "Include", "Exclude")},
	0x09:         {"X-Ms-Documentdb-Pre-Trigger-Include", text},
	0x0A:         {"X-Ms-Documentdb-Post-Trigger-Include", text},
	0x14:         {"X-Ms-Documentdb-Expiry-Seconds", count},
	0x1E:         {"X-Ms-Documentdb-Query-Enable-Scan", flag},
	0x2B:         {"X-Ms-Documentdb-Partitionkey", text},
	tokenRangeID: {"X-Ms-Documentdb-Partitionkeyrangeid", text},
	0x3E:         {"X-Ms-Documentdb-Script-Enable-Logging", flag},
	0x3F:         {"A-Im", text},
	0x40:         {"X-Ms-Documentdb-Populatequotainfo", flag},
	0x42:         {"X-Ms-Documentdb-Populatequerymetrics", flag},
	0x43:         {"X-Ms-Documentdb-Responsecontinuationtokenlimitinkb", count},
	0x44:         {"X-Ms-Documentdb-Populatepartitionstatistics", flag},
	0x47:         {"If-Modified-Since", text},
	0x57:         {"X-Ms-Exclude-System-Properties", flag},
	0x65:         {"X-Ms-Documentdb-Content-Serialization-Format", one("JsonText", "CosmosBinary")},
	0x73:         {"X-Ms-Cosmos-Batch-Atomic", flag},
	0x74:         {"X-Ms-Cosmos-Batch-Continue-On-Error", flag},
	0x75:         {"X-Ms-Cosmos-Batch-Ordered", flag},
	0x82:         {"Prefer", one("", "return=minimal")},
	0x9D:         {"X-Ms-Cosmos-Intended-Collection-Rid", text},
	0xA9:         {"X-Ms-Cosmos-Populateindexmetrics", flag},
	0xB0:         {"X-Ms-Cosmos-Correlated-Activityid", guid},
	0xB2:         {"X-Ms-Cosmos-Changefeed-Wire-Format-Version", text},
	0xC2:         {"X-Ms-Cosmos-Populateindexmetrics-V2", flag},
	0xC4:         {"X-Ms-Cosmos-Supported-Serialization-Formats", formats},
	0xC8:         {"X-Ms-Cosmos-Query-Optimisticdirectexecute", flag},
}

func text(value string) string { return value }

func flag(value string) string {
	if number(value) == 0 {
		return "False"
	}
	return "True"
}

// count formats a token with a 32-bit number, such as the page size, as a header. If all bits are set it is
// -1: the server chooses the size.
func count(value string) string { return strconv.Itoa(int(int32(number(value)))) }

// one returns a function that converts a token with a number to the name at that index in names, or to "" if
// there is none.
func one(names ...string) func(string) string {
	return func(value string) string {
		if n := number(value); n < uint64(len(names)) {
			return names[n]
		}
		return ""
	}
}

// formats returns the names of the serialization formats in the bit set of a token, as the HTTP header lists
// them: "JsonText,CosmosBinary".
func formats(value string) string {
	var list []string
	for bit, name := range []string{"JsonText", "CosmosBinary", "HybridRow"} {
		if number(value)>>bit&1 == 1 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ",")
}

// Tokens with the two bounds of a range of effective partition keys.
const (
	tokenStartEPK = 0x62
	tokenEndEPK   = 0x63
)

const keysAsRange = 3

// epk formats a token with a bound of a range of effective partition keys as hexadecimal text. how is the
// value of the token that says how value is encoded: as hexadecimal text (keysAsRange) or as bytes.
func epk(value string, how uint64) string {
	if how == keysAsRange {
		return value
	}
	return hex.EncodeToString([]byte(value))
}
