package httpapi

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestQueryOverInvalidMessages checks that a query over the messages of a queue succeeds even if a message's
// body is not JSON that a document can contain, or if one of its times is out of range.
func TestQueryOverInvalidMessages(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	const q = "/_mayfly/entities/q/"
	texts := []string{strings.Repeat("[", 200) + strings.Repeat("]", 200), "1e999", strings.Repeat("9", 400),
		`{"a":1,"a":2}`, `"\ud800"`, `{"fits":true}`, "no JSON"}
	for _, text := range texts {
		w.do("POST", q+"send", `{"text":`+strconv.Quote(text)+`}`).want(201)
	}
	w.do("POST", q+"query", `{"query":"SELECT VALUE COUNT(1) FROM c"}`).want(200).has("rows", "[7]")
	w.do("POST", q+"query", `{"query":"SELECT VALUE c.sequenceNumber FROM c WHERE c.body.fits"}`).want(200).
		has("rows", "[6]")
	w.do("POST", q+"query", `{"query":"SELECT VALUE IS_DEFINED(c.body) FROM c"}`).want(200).
		has("rows", "[false,false,false,true,true,true,false]")
	w.do("POST", q+"query", `{"query":"SELECT VALUE LENGTH(c.text) FROM c"}`).want(200).
		has("rows", "[400,5,400,13,8,13,7]")

	for range 27 {
		w.clock.Advance(290 * 365 * 24 * time.Hour)
	}
	w.do("POST", q+"send", `{"text":"x","delay":1e11}`).want(201)
	w.do("POST", q+"peek", `{"from":8}`).want(200).has("messages.0.scheduled", `"9999-12-31T23:59:59.999Z"`)
	w.do("POST", q+"query", `{"query":"SELECT VALUE COUNT(1) FROM c"}`).want(200).has("rows", "[8]")

	// What is taken away is in the answer, too.
	w.do("POST", q+"send", `{"text":"y","ttl":1e11}`).want(201)
	w.do("POST", q+"receive", `{"count":100}`).want(200).has("messages.7.life.expires",
		`"9999-12-31T23:59:59.999Z"`)
}
