package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/queue/access"
)

// fault adds a fault rule to the server that applies once.
func (w *serverUnderTest) fault(r inject.FaultRule) {
	w.t.Helper()
	r.Count = 1
	if _, err := w.faults.Add(r); err != nil {
		w.t.Fatal(err)
	}
}

// dropped sends a request and checks that the connection ends without a response.
func (w *serverUnderTest) dropped(method, path, body string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.web.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", w.token)
	if res, err := w.web.Client().Do(r); err == nil {
		res.Body.Close()
		w.t.Errorf("%s %s has the answer %s", method, path, res.Status)
	}
}

// TestFaults checks that fault rules make requests for messages fail before or after the operation.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.queue("/q", "")
	w.fault(inject.FaultRule{Fault: inject.Drop, Entity: "q", Operations: []inject.OperationKind{inject.Send}})
	w.dropped("POST", "/q/messages", "never")
	w.fault(inject.FaultRule{Fault: inject.Detach, After: true, Operations: []inject.OperationKind{inject.Send}})
	w.dropped("POST", "/q/messages", "sent")

	path := func(a testResponse) string {
		t.Helper()
		location := a.header.Get("Location")
		return location[strings.Index(location, "/q/"):]
	}
	a := w.must(201, "POST", "/q/messages/head?timeout=0", "")
	if a.body != "sent" {
		t.Errorf("received %q", a.body)
	}
	w.fault(inject.FaultRule{Fault: inject.LockLost, Operations: []inject.OperationKind{inject.Complete}})
	w.must(404, "DELETE", path(a), "")
	a = w.must(201, "POST", "/q/messages/head?timeout=0", "")
	if !strings.Contains(a.header.Get("BrokerProperties"), `"DeliveryCount":2`) {
		t.Errorf("the delivery was not counted: %s", a.header.Get("BrokerProperties"))
	}
	w.fault(inject.FaultRule{Fault: inject.LockLost, After: true})
	w.must(200, "GET", "/q", "") // which is none of messages
	w.must(404, "DELETE", path(a), "")
	w.must(204, "POST", "/q/messages/head?timeout=0", "")
}
