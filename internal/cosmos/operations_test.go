package cosmos_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// TestUnsupportedOperations sends every operation for every kind of resource. One that the kind does not
// support gets a 405; one that it supports never gets a 500, even if the address is empty.
func TestUnsupportedOperations(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	refused, supported := 0, 0
	for kind := cosmos.KindAccount; kind <= cosmos.KindNone; kind++ {
		for op := cosmos.OpRead; op <= cosmos.OpOther; op++ {
			for _, feed := range []bool{false, true} {
				for _, address := range []cosmos.ResourceAddress{{}, at("d"), at("d", "c"),
					at("d", "c", "i")} {
					f := w.send(cosmos.Request{Kind: kind, Feed: feed, Operation: op, Address: address,
						Body: []byte("{}")})
					if !cosmos.Supports(kind, feed, op) {
						f.is(405, 0)
						refused++
						continue
					}
					if supported++; f.answer.Status == 500 {
						t.Errorf("kind %d, feed %t, operation %d, %v: %s", kind, feed, op, address, f.body)
					}
				}
			}
		}
	}
	if refused < 100 || supported < 100 {
		t.Errorf("%d refused, %d supported", refused, supported)
	}
}

// TestConditions checks which reads, replaces and deletes of an item take place with If-Match and
// If-None-Match.
func TestConditions(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	w.container()
	made := w.send(of(cosmos.OpCreate, true, "", `{"id":"1","pk":"a"}`)).is(201, 0)
	other := w.send(of(cosmos.OpCreate, true, "", `{"id":"2","pk":"a"}`)).is(201, 0)
	for _, c := range []struct {
		op                   cosmos.OperationType
		ifMatch, ifNoneMatch string
		status               int
	}{
		{cosmos.OpRead, "", made.answer.ETag, 304},
		{cosmos.OpRead, "", other.answer.ETag, 200},
		{cosmos.OpRead, "", "", 200},
		{cosmos.OpReplace, other.answer.ETag, "", 412},
		{cosmos.OpDelete, other.answer.ETag, "", 412},
		{cosmos.OpReplace, "nonsense", "", 412},
		{cosmos.OpReplace, "*", "", 200},
		{cosmos.OpReplace, made.answer.ETag, "", 412}, // it has been replaced
		{cosmos.OpDelete, made.answer.ETag, "", 412},
		{cosmos.OpDelete, "", "", 204},
		{cosmos.OpDelete, "", "", 404},
	} {
		req := of(c.op, false, "1", "")
		if c.op.HasBody() {
			req.Body = []byte(`{"id":"1","pk":"a","n":1}`)
		}
		req.Headers.IfMatch, req.Headers.IfNoneMatch = c.ifMatch, c.ifNoneMatch
		if f := w.send(req); f.answer.Status != c.status {
			t.Errorf("operation %d, If-Match %q, If-None-Match %q: %d, want %d: "+
				"%s", c.op, c.ifMatch, c.ifNoneMatch,
				f.answer.Status, c.status, f.body)
		}
	}
}
