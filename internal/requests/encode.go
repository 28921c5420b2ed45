package requests

import (
	"encoding/binary"
	"math"
	"net/http"
)

// fixedSize is how many bytes an encoded entry has before its texts: the length of the whole (4), the number
// (8), began, took and data time (3 × 8), charge (8), retry (8), in and out (2 × 8), substatus (4), status (2),
// protocol, kind and explorer (3).
const fixedSize = 77

// Places in an encoded entry.
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
	atExplorer  = 76
)

// appendEntry encodes an entry, but for its number.
func appendEntry(b []byte, e *Entry) []byte {
	start := len(b)
	var fixed [fixedSize]byte
	le := binary.LittleEndian
	le.PutUint64(fixed[atBegan:], uint64(e.Began.UnixNano()))
	le.PutUint64(fixed[atTook:], uint64(e.Took))
	le.PutUint64(fixed[atDataTime:], uint64(e.DataTime.UnixNano()))
	le.PutUint64(fixed[atCharge:], math.Float64bits(e.Charge))
	le.PutUint64(fixed[atRetry:], uint64(e.Retry))
	le.PutUint64(fixed[atIn:], uint64(e.In))
	le.PutUint64(fixed[atOut:], uint64(e.Out))
	le.PutUint32(fixed[atSubstatus:], uint32(e.Substatus))
	le.PutUint16(fixed[atStatus:], uint16(e.Status))
	fixed[atProtocol], fixed[atKind] = byte(e.Protocol), byte(e.Kind)
	if e.Explorer {
		fixed[atExplorer] = 1
	}
	b = append(b, fixed[:]...)
	b = appendText(b, e.Method)
	b = appendURI(b, e.URI)
	for _, text := range [...]string{e.Host, e.Operation, e.FaultOperation, e.Database, e.Container, e.Item, e.Entity,
		e.Condition, e.Activity, e.Rule, e.Client, e.Version, e.PartitionKey} {
		b = appendText(b, text)
	}
	b = appendHeader(b, e.RequestHeader)
	b = appendHeader(b, e.ResponseHeader)
	b = appendBody(b, e.RequestBody, e.Kind)
	b = appendBody(b, e.ResponseBody, e.Kind)
	le.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

// appendText encodes a text: its length and its bytes.
func appendText(b []byte, text string) []byte {
	if len(text) < 0x80 {
		return append(append(b, byte(len(text))), text...)
	}
	text = text[:min(len(text), maxText)]
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendHeader encodes headers: the length of all of them, then names and values. What is beyond maxHeaders is
// left out.
func appendHeader(b []byte, h http.Header) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	for name, values := range h {
		for _, value := range values {
			if len(b)-start+len(name)+len(value) > maxHeaders {
				continue
			}
			if b = appendText(b, name); isSecretHeader(name) {
				b = appendMasked(b, value)
				continue
			}
			b = appendText(b, value)
		}
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// appendBody encodes a body. Bodies that may hold secrets are masked whole before they are cut, so that no cut
// hides what a secret is.
func appendBody(b, body []byte, kind Kind) []byte {
	if kind != Data {
		body = maskBody(body)
	}
	body = body[:min(len(body), MaxBody)]
	return append(binary.AppendUvarint(b, uint64(len(body))), body...)
}
