package script

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// echoHost is a Host for tests. It records the operations that a script requests, and answers each with
// status 200 and the body of the operation.
type echoHost struct {
	asked []Operation
	room  int // operations until it is full; negative: no end
	fail  error
}

func (*echoHost) Links() (self, alt string) { return "dbs/a/colls/b/", "dbs/d/colls/c" }

func (e *echoHost) Do(_ context.Context, op Operation) (OperationResult, error) {
	e.asked = append(e.asked, op)
	return OperationResult{Status: 200, Body: op.Body}, e.fail
}

func (e *echoHost) Quota() (limits, usage string) { return "collectionSize=10;", "collectionSize=1;" }

func (e *echoHost) Full() bool {
	e.room--
	return e.room == -1
}

func runOn(t *testing.T, host Host, env TimeAndRandomSource, source string) (string, error) {
	t.Helper()
	var p ScriptCache
	r, err := p.Open(context.Background(), env, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := r.Run(ProcedureOrTriggerCall{ID: "p", Source: source, Logging: true}, host)
	return string(out.Body) + " " + out.Log, err
}

func TestOperationsAreQueued(t *testing.T) {
	t.Parallel()
	host := &echoHost{room: -1}
	got, err := runOn(t, host, still(), `function () {
		var self = __.getSelfLink();
		function note(text) { return function () { console.log(text); }; }
		var doc = { id: "1", n: 1 };
		__.createDocument(self, doc, function () { console.log("a"); __.deleteDocument(self + "docs/x", note("c")); });
		doc.n = 2;
		__.queryDocuments(__.getAltLink(), { query: "q", parameters: [] }, { pageSize: 5000, continuation: "go on" }, note("b"));
		Promise.resolve().then(note("p"));
		console.log("main");
		getContext().getResponse().setBody(true);
	}`)
	if err != nil || got != "true main\np\na\nb\nc" {
		t.Fatalf("%q, %v", got, err)
	}
	want := []Operation{
		{Kind: Create, Body: []byte(`{"id":"1","n":1}`)},
		{Kind: Query, Body: []byte(`{"query":"q","parameters":[]}`), PageSize: 1000, Continuation: "go on"},
		{Kind: Delete, RID: "x", Body: []byte{}},
	}
	if fmt.Sprint(host.asked) != fmt.Sprint(want) {
		t.Errorf("asked %v; want %v", host.asked, want)
	}
}

func TestProcedureRequestNotAccepted(t *testing.T) {
	count := `function () {
		var n = 0;
		(function next() {
			if (!__.readDocument(__.getAltLink() + "/docs/1", function () { n++; next(); })) getContext().getResponse().setBody(n);
		})();
	}`
	if got, err := runOn(t, &echoHost{room: 3}, still(), count); err != nil || got != "3 " {
		t.Errorf("a full host: %q, %v", got, err)
	}
	env := still()
	took := time.Duration(0)
	env.Elapsed = func() time.Duration { took += 500 * time.Millisecond; return took }
	// of five seconds four are for new work
	if got, err := runOn(t, &echoHost{room: -1}, env, count); err != nil || got != "8 " {
		t.Errorf("late: %q, %v", got, err)
	}
	failed := errors.New("the disk is on fire")
	if _, err := runOn(t, &echoHost{room: -1, fail: failed}, still(), count); !errors.Is(err, failed) {
		t.Errorf("the host's own failure: %v", err)
	}
}
