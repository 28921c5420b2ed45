package requestlog

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/http"
)

// fixedSize is the size in bytes of an encoded entry before its texts: total length (4), number (8), began,
// took and data time (3 × 8), charge (8), retry (8), in and out (2 × 8), substatus (4), status (2),
// protocol, kind and flags (3).
const fixedSize = 77

// Bits of the flags byte of an encoded log entry.
const (
	atID        = 4
	atBegan     = 12
	atTook      = 20
	atDataTime  = 28
	atCharge    = 36
	atRetry     = 44
	atIn        = 52
	atOut       = 60
	atSubstatus = 68
	atStatus    = 72
	atProtocol  = 74
	atKind      = 75
	atFlags     = 76
)

// Offsets of the fields of fixed size in an encoded log entry.
const (
	fromExplorer byte = 1 << iota
	requestCut
	responseCut
)

// texts returns pointers to the texts of an entry except the URI, in the order of the encoding.
func (e *Entry) texts() [14]*string {
	return [...]*string{&e.Method, &e.Host, &e.Operation, &e.FaultOperation, &e.Database, &e.Container,
		&e.Item,
		&e.Entity, &e.Condition, &e.Activity, &e.Rule, &e.Client, &e.Version, &e.PartitionKey}
}

// appendEntry encodes an entry without its number.
func appendEntry(b []byte, e *Entry) []byte {
	start := len(b)
	var zero [fixedSize]byte
	b = append(b, zero[:]...)
	fixed, le := b[start:], binary.LittleEndian
	began := e.Began.UnixNano()
	le.PutUint64(fixed[atBegan:], uint64(began))
	le.PutUint64(fixed[atTook:], uint64(e.Took))
	dataTime := began + int64(e.Took)
	if !e.DataTime.IsZero() {
		dataTime = e.DataTime.UnixNano()
	}
	le.PutUint64(fixed[atDataTime:], uint64(dataTime))
	le.PutUint64(fixed[atCharge:], math.Float64bits(e.Charge))
	le.PutUint64(fixed[atRetry:], uint64(e.Retry))
	le.PutUint64(fixed[atIn:], uint64(e.In))
	le.PutUint64(fixed[atOut:], uint64(e.Out))
	le.PutUint32(fixed[atSubstatus:], uint32(e.Substatus))
	le.PutUint16(fixed[atStatus:], uint16(e.Status))
	fixed[atProtocol], fixed[atKind] = byte(e.Protocol), byte(e.Kind)
	fixed[atFlags] = e.flags()
	b = appendText(b, MaskURI(e.URI))
	for _, text := range e.texts() {
		if len(*text) == 0 {
			b = append(b, 0)
			continue
		}
		b = appendText(b, *text)
	}
	b = appendHeader(b, e.RequestFields, e.RequestHeader)
	b = appendHeader(b, e.ResponseFields, e.ResponseHeader)
	b = appendLines(b, e.ResponseLines)
	b = appendBody(b, e.RequestBody)
	b = appendBody(b, e.ResponseBody)
	le.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

func (e *Entry) flags() (f byte) {
	if e.Explorer {
		f |= fromExplorer
	}
	if len(e.RequestBody) > MaxBody {
		f |= requestCut
	}
	if len(e.ResponseBody) > MaxBody {
		f |= responseCut
	}
	return f
}

// appendText encodes a text as its length and its bytes.
func appendText(b []byte, text string) []byte {
	if len(text) < 0x80 {
		return append(append(b, byte(len(text))), text...)
	}
	text = text[:min(len(text), maxText)]
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendHeader encodes headers: their total length, then names and values. Headers beyond maxHeaders bytes
// are omitted.
func appendHeader(b []byte, fields []HeaderField, h http.Header) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	for i := range fields {
		b = appendField(b, start, fields[i].Name, fields[i].Value)
	}
	for name, values := range h {
		for _, value := range values {
			b = appendField(b, start, name, value)
		}
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// appendLines encodes headers that the caller has as lines of the form "name: value\r\n". Lines beyond
// maxHeaders bytes are omitted.
func appendLines(b, lines []byte) []byte {
	if len(lines) > maxHeaders {
		lines = lines[:bytes.LastIndexByte(lines[:maxHeaders], '\n')+1]
	}
	return append(binary.AppendUvarint(b, uint64(len(lines))), lines...)
}

func appendField(b []byte, start int, name, value string) []byte {
	if len(b)-start+len(name)+len(value) > maxHeaders {
		return b
	}
	b = appendText(b, name)
	if isSecretHeader(name) {
		return appendMasked(b, value)
	}
	return appendText(b, value)
}

// appendBody encodes a body, truncated to MaxBody.
func appendBody(b, body []byte) []byte {
	body = body[:min(len(body), MaxBody)]
	return append(binary.AppendUvarint(b, uint64(len(body))), body...)
}
