package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// openReceiver opens a receiver of a queue or subscription, whose messages come as server-sent events. It
// returns the lines of the stream, the JSON of the receiver, and a function that closes the stream.
func (w *serverUnderTest) openReceiver(base, entity, body string) (lines <-chan string, opened string,
	end func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", base+"/_mayfly/entities/"+entity+"/receivers",
		strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	w.sign(r)
	lines = w.events(r)
	name, _, data := event(w.t, lines)
	if name != "opened" {
		w.t.Fatal(name, data)
	}
	return lines, data, func() {
		cancel()
		for range lines { // until the connection is closed
		}
	}
}

const queueQ = "/_mayfly/entities/q/"

// settle settles messages of a receiver, given by their lock tokens, with an outcome such as "complete".
// more is JSON with further members of the request.
func (w *serverUnderTest) settle(receiver, outcome, more string, tokens ...string) *testResponse {
	w.t.Helper()
	return w.do("POST", "/_mayfly/receivers/"+receiver+"/settle",
		`{"lockTokens":["`+strings.Join(tokens, `","`)+`"],"outcome":"`+outcome+`"`+more+`}`)
}

// TestReceiver checks that a receiver in peek-lock mode can settle messages in every way, and that its
// locks are released when its stream ends.
func TestReceiver(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	base, _ := w.listen()
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	w.do("POST", queueQ+"send", `{"text":"{i}","id":"m{i}","repeat":5}`).want(201).has("messages", "5")
	_, opened, end := w.openReceiver(base, "q", "")
	id := gjson.Get(opened, "receiver").Str
	receiver := "/_mayfly/receivers/" + id
	got := w.do("POST", receiver+"/receive", `{"count":5}`).want(200).body
	token := func(i int) string { return gjson.GetBytes(got, "messages").Array()[i].Get("lockToken").Str }
	w.settle(id, "complete", "", token(0)).want(200).has("messages", "1")
	w.settle(id, "complete", "", token(0)).want(200).has("messages", "0").
		has("failed.0.lockToken", `"`+token(0)+`"`)
	w.settle(id, "abandon", `,"properties":{"tried":1},"propertyTypes":{"tried":"int"}`, token(1)).want(200)
	w.settle(id, "defer", "", token(2)).want(200)
	w.settle(id, "dead-letter", `,"reason":"bad","description":"it is"`, token(3)).want(200)
	w.do("POST", queueQ+"peek", "").want(200).
		has("messages.#.id", `["m2","m3","m5"]`).
		has("messages.0.deliveryCount", "1").has("messages.0.properties.tried", "1").
		has("messages.0.propertyTypes.tried", `"int"`).has("messages.1.state", `"deferred"`)
	w.do("POST", queueQ+"peek", `{"deadLetters":true}`).want(200).
		has("messages.0.properties.DeadLetterReason", `"bad"`)

	w.clock.Advance(50 * time.Second)
	until := gjson.GetBytes(w.do("POST", receiver+"/renew", `{"lockTokens":["`+token(4)+`"]}`).want(200).body,
		"lockedUntil").Time()
	if left := until.Sub(w.clock.Now()); left < 59*time.Second || left > time.Minute {
		t.Errorf("a renewed lock of a minute has %v left", left)
	}
	w.do("POST", receiver+"/receive", `{"sequenceNumbers":[3]}`).want(200).has("messages.0.id", `"m3"`)
	w.do("POST", receiver+"/receive", `{"sequenceNumbers":[2]}`).fails(404, 0, "2")
	w.do("POST", queueQ+"peek", "").want(200).has("messages.#(life.lockedUntil)#.id", `["m3","m5"]`)
	w.do("POST", queueQ+"receive", "").want(200).has("messages.#.id", `["m2"]`)
	end()
	w.do("POST", queueQ+"receive", `{"seconds":10}`).want(200).has("messages.#.id", `["m5"]`).
		has("messages.0.deliveryCount", "0") // once its lock has ended with the stream
	w.do("POST", receiver+"/receive", "").fails(404, 0, "no such receiver")
	_, opened, end = w.openReceiver(base, "q", "")
	defer end()
	receiver = "/_mayfly/receivers/" + gjson.Get(opened, "receiver").Str
	w.do("POST", receiver+"/receive", `{"sequenceNumbers":[3]}`).want(200).has("messages.0.id", `"m3"`)
}

// TestReceiverEnds checks invalid requests to a receiver, and that its stream says why it ends, here
// because the queue was deleted.
func TestReceiverEnds(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	base, _ := w.listen()
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	lines, opened, end := w.openReceiver(base, "q", "")
	defer end()
	id := gjson.Get(opened, "receiver").Str
	w.settle(id, "complete", "", "x").fails(400, 0, "'x' is not a lock token")
	w.settle(id, "lose", "", "x").fails(400, 0, "'outcome' must be")
	w.do("POST", "/_mayfly/receivers/"+id+"/settle", `{"outcome":"complete"}`).fails(400, 0, "lockTokens")
	w.do("POST", "/_mayfly/receivers/"+id+"/renew", "").fails(400, 0, "lockTokens")
	w.do("POST", "/_mayfly/receivers/"+id+"/renew",
		`{"lockTokens":["00000000-0000-0000-0000-000000000001"]}`).want(410)
	w.do("POST", "/_mayfly/receivers/absent/receive", "").fails(404, 0, "no such receiver")
	w.do("POST", queueQ+"receivers", `{"session":"a"}`).fails(400, 0, "session")
	w.do("POST", queueQ+"receivers", `{"session":"a","nextSession":true}`).fails(400, 0, "not both")
	w.do("DELETE", "/_mayfly/entities/q", "").want(204)
	if name, _, data := event(t, lines); name != "ended" || !strings.Contains(data, "message") {
		t.Error(name, data)
	}
}

// TestReceiverOfSession checks that sessions of a queue are listed with their messages, state and holder,
// and that a receiver can accept a session.
func TestReceiverOfSession(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	base, _ := w.listen()
	w.do("POST", "/_mayfly/entities", `{"path":"q","requiresSession":true}`).want(201)
	for _, session := range []string{"a", "b", "b"} {
		w.do("POST", queueQ+"send", `{"text":"x","session":"`+session+`"}`).want(201)
	}
	w.do("PUT", queueQ+"session-state", `{"session":"b","state":"at 1"}`).want(204)
	_, opened, end := w.openReceiver(base, "q", `{"nextSession":true}`)
	if got := gjson.Get(opened, "session").Str; got != "a" {
		t.Errorf("the next session is %q", got)
	}
	end()
	_, opened, end = w.openReceiver(base, "q", `{"session":"b"}`)
	defer end()
	receiver := "/_mayfly/receivers/" + gjson.Get(opened, "receiver").Str
	w.do("POST", receiver+"/receive", `{"count":9}`).want(200).has("messages.#", "2")
	w.do("POST", receiver+"/renew", "").want(200)
	w.do("POST", queueQ+"receivers", `{"session":"b"}`).fails(409, 0, "cannot be accepted")
	w.do("PUT", queueQ+"session-state", `{"session":"b","stateBase64":"/w=="}`).want(204)
	w.do("PUT", queueQ+"session-state", `{"session":"b","stateBase64":"?"}`).fails(400, 0, "base64")
	w.do("POST", queueQ+"sessions", "").want(200).has("sessions", `["a","b"]`).
		has("details.#.messages", "[1,2]").has("details.1.stateBase64", `"/w=="`).
		has("details.1.holder", `"explorer"`).has("details.1.locked", "true")
}

// TestSendAllMessageProperties sends a message with all properties that a message can have and reads it back.
// A send to a topic returns the subscriptions that received the message.
func TestSendAllMessageProperties(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
	w.do("POST", queueQ+"send", `{"base64":"/wA=","id":"1","to":"t","replyTo":"r","replyToSession":"s",
		"partitionKey":"k","scheduled":"2027-03-02T05:00:00Z",
		"properties":{"n":1,"d":1,"when":"2027-01-01T00:00:00Z",
		"guid":"9E2A1D0C-0000-0000-0000-000000000001"},
		"propertyTypes":{"n":"ubyte","d":"double","when":"timestamp","guid":"uuid"}}`).want(201)
	w.do("POST", queueQ+"peek", "").want(200).has("messages.0.base64", `"/wA="`).has("messages.0.to", `"t"`).
		has("messages.0.replyTo", `"r"`).has("messages.0.replyToSession", `"s"`).
		has("messages.0.partitionKey", `"k"`).has("messages.0.scheduled", `"2027-03-02T05:00:00Z"`).
		has("messages.0.properties.guid", `"9e2a1d0c-0000-0000-0000-000000000001"`).
		has("messages.0.propertyTypes", `{"d":"double","guid":"uuid","n":"ubyte","when":"timestamp"}`)
	for _, bad := range []string{`{"text":"x","base64":"eA=="}`, `{"base64":"?"}`,
		`{"delay":1,"scheduled":1}`,
		`{"properties":{"n":300},"propertyTypes":{"n":"ubyte"}}`, `{"propertyTypes":{"n":"int"}}`,
		`{"properties":{"n":"x"},"propertyTypes":{"n":"uuid"}}`, `{"repeat":10001}`} {
		w.do("POST", queueQ+"send", bad).want(400)
	}
	w.do("POST", queueQ+"delete", `{"sequenceNumbers":[1,7]}`).want(200).has("messages", "1").
		has("failed.#.sequenceNumber", "[7]")

	for _, e := range []string{`{"path":"t","topic":true}`, `{"path":"t/subscriptions/all"}`,
		`{"path":"t/subscriptions/dear"}`} {
		w.do("POST", "/_mayfly/entities", e).want(201)
	}
	const dear = "/_mayfly/entities/t%2Fsubscriptions%2Fdear/rules"
	w.do("POST", dear, `{"name":"dear","sql":"price > 10"}`).want(201)
	w.do("DELETE", dear+"/$Default", "").want(204)
	w.do("POST", "/_mayfly/entities/t/send", `{"properties":{"price":1}}`).want(201).
		has("subscriptions.#", "1")
	w.do("POST", "/_mayfly/entities/t/send", `{"properties":{"price":11}}`).want(201).
		has("subscriptions.#", "2")
}

// TestResubmitSelected checks that single dead-lettered messages can be resubmitted, unchanged or edited,
// or deleted.
func TestResubmitSelected(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/_mayfly/entities", `{"path":"q","deadLetterOnExpiration":true}`).want(201)
	w.do("POST", queueQ+"send", `{"text":"bad","id":"m{i}","ttl":1,"repeat":4}`).want(201)
	w.clock.Advance(time.Minute)
	w.do("POST", "/_mayfly/reaper/run", "").want(200)
	w.do("POST", queueQ+"resubmit", `{"sequenceNumbers":[1,99]}`).want(200).has("messages", "1").
		has("failed.0.sequenceNumber", "99")
	w.do("POST", queueQ+"resubmit", `{"edited":true,"text":"good"}`).fails(400, 0, "sequenceNumber")
	w.do("POST", queueQ+"resubmit", `{"sequenceNumber":2,"edited":true,"base64":"?"}`).want(400)
	w.do("POST", queueQ+"resubmit",
		`{"sequenceNumber":2,"edited":true,"text":"good","properties":{"again":true}}`).want(200)
	w.do("POST", queueQ+"delete", `{"sequenceNumbers":[3],"deadLetters":true}`).want(200).has("messages", "1")
	w.do("POST", queueQ+"peek", `{"deadLetters":true}`).want(200).has("messages.#.id", `["m4"]`)
	w.do("POST", queueQ+"peek", "").want(200).has("messages.#.text", `["bad","good"]`).
		has("messages.1.properties", `{"again":true}`)
}
