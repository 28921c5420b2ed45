package requestlog

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// encodedEntry is a log entry in its encoded form, in which the log keeps entries in memory.
type encodedEntry []byte

func (e encodedEntry) id() uint64 { return binary.LittleEndian.Uint64(e[atID:]) }

// next splits b, which holds encoded log entries one after the other, into the first entry and the rest.
func next(b []byte) (e encodedEntry, rest []byte) {
	n := binary.LittleEndian.Uint32(b)
	return b[:n:n], b[n:]
}

// decode decodes an entry. The bodies share the memory of e.
func (e encodedEntry) decode() *RetrievedEntry {
	le := binary.LittleEndian
	r := &RetrievedEntry{Entry: Entry{
		ID: e.id(), Began: time.Unix(0, int64(le.Uint64(e[atBegan:]))).UTC(),
		Took:     time.Duration(le.Uint64(e[atTook:])),
		DataTime: time.Unix(0, int64(le.Uint64(e[atDataTime:]))).UTC(),
		Charge:   math.Float64frombits(le.Uint64(e[atCharge:])), Retry: time.Duration(le.Uint64(e[atRetry:])),
		In: int64(le.Uint64(e[atIn:])), Out: int64(le.Uint64(e[atOut:])),
		Substatus: int(le.Uint32(e[atSubstatus:])), Status: int(le.Uint16(e[atStatus:])),
		Protocol: Protocol(e[atProtocol]), Kind: APIKind(e[atKind]), Explorer: e[atFlags]&fromExplorer != 0,
	}, RequestCut: e[atFlags]&requestCut != 0, ResponseCut: e[atFlags]&responseCut != 0}
	uri, rest := cut(e[fixedSize:])
	r.URI = string(uri)
	for _, to := range r.texts() {
		var text []byte
		text, rest = cut(rest)
		*to = string(text)
	}
	r.Request, rest = cutHeader(rest)
	r.Response, rest = cutHeader(rest)
	lines, rest := cut(rest)
	r.Response = appendParsed(r.Response, lines)
	r.RequestBody, rest = cut(rest)
	r.ResponseBody, _ = cut(rest)
	r.readHeader()
	return r
}

// readHeader sets Client, Version, PartitionKey and other fields from the request headers. Entries of HTTP
// and direct mode are stored without these fields, because the headers contain their values.
func (r *RetrievedEntry) readHeader() {
	for i := range r.Request {
		f := &r.Request[i]
		switch f.Name {
		case "User-Agent":
			r.Client = f.Value
		case "X-Ms-Version":
			r.Version = f.Value
		case "X-Ms-Documentdb-Partitionkey":
			r.PartitionKey = f.Value
		case "X-Ms-Cosmos-Correlated-Activityid":
			r.Correlated = f.Value
		case "X-Ms-Continuation":
			r.Continuation = f.Value
		}
	}
}

func cut(b []byte) (text, rest []byte) {
	n, size := binary.Uvarint(b)
	end := size + int(n)
	return b[size:end:end], b[end:]
}

// appendParsed appends the headers in lines of the form "name: value\r\n".
func appendParsed(list []HeaderField, lines []byte) []HeaderField {
	for line := range strings.SplitSeq(string(lines), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			list = append(list, HeaderField{name, value})
		}
	}
	return list
}

func cutHeader(b []byte) (list []HeaderField, rest []byte) {
	n := binary.LittleEndian.Uint32(b)
	h, rest := b[4:4+n], b[4+n:]
	for len(h) > 0 {
		var name, value []byte
		name, h = cut(h)
		value, h = cut(h)
		list = append(list, HeaderField{string(name), string(value)})
	}
	return list, rest
}
