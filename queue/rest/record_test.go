package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue/access"
)

// TestRequestLogEntries checks that the log of requests contains the requests and the bodies of messages, and
// no keys or tokens.
func TestRequestLogEntries(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.queue("/q", "")
	w.must(201, "POST", "/q/messages", "one")
	w.fault(inject.FaultRule{Fault: inject.Drop, Operations: []inject.OperationKind{inject.Send}})
	w.dropped("POST", "/q/messages", "two")
	w.must(201, "POST", "/q/messages/head?timeout=0", "")
	w.must(200, "GET", "/q", "")
	w.must(200, "GET", "/health", "")
	list, _ := w.requests.Read(0, requestlog.Filter{}).Next()
	var got strings.Builder
	for _, r := range list {
		full := w.requests.Find(r.ID)
		body := string(full.RequestBody) + string(full.ResponseBody)
		if r.Operation == "" {
			body = ""
		}
		fmt.Fprintln(&got, r.Method, r.Operation, r.Entity, r.Status, r.Rule, body)
		if auth := full.Sent("Authorization"); !strings.Contains(auth, "***") || strings.Contains(auth,
			w.token) {
			t.Errorf("authorization %q", auth)
		}
	}
	want := "PUT  q 201  \nPOST send q 201  one\nPOST send q 0 f1 \nPOST receive q 201  one\nGET  q 200  \n"
	if got.String() != want {
		t.Errorf("%s\nnot\n%s", got.String(), want)
	}
}
