package cosmos_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/hybridrowtest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

// inProcessServiceClient is a client for tests that calls a cosmos.Service without HTTP. It uses nothing but
// the exported types of package cosmos.
type inProcessServiceClient struct {
	t      *testing.T
	svc    *cosmos.Service
	tokens *cosmos.ResourceTokenIssuer
	memory *store.MemoryBudget
}

// testServiceResponse is the response of the cosmos.Service to a request of an inProcessServiceClient.
type testServiceResponse struct {
	t       *testing.T
	what    string
	answer  cosmos.Response
	body    string
	rows    bool
	session string // the token that a client sends back
}

var began = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

func newFrameProtocol(t *testing.T, change func(*cosmos.Options)) *inProcessServiceClient {
	t.Helper()
	clock, wall := ttl.NewManual(began), ttl.NewManual(began)
	e, err := testdisk.New(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), e, store.Options{Clock: clock, Wall: wall, ManualReaper: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	o := cosmos.Options{DB: db, Wall: wall, Logger: slog.New(slog.DiscardHandler),
		Tokens:    cosmos.NewResourceTokens([]byte("key")),
		AccountID: "a", Consistency: cosmos.Session}
	change(&o)
	return &inProcessServiceClient{t: t, svc: cosmos.New(o), tokens: o.Tokens, memory: db.Memory()}
}

// at returns the address with these ids, outermost first: database, container, item.
func at(ids ...string) (a cosmos.ResourceAddress) {
	a.N = copy(a.IDs[:], ids)
	return a
}

func (w *inProcessServiceClient) send(req cosmos.Request) *testServiceResponse {
	w.t.Helper()
	return w.sendIn(w.t.Context(), req)
}

func (w *inProcessServiceClient) sendIn(ctx context.Context, req cosmos.Request) *testServiceResponse {
	w.t.Helper()
	req.Activity, req.URI = "0dd29c1a-2f2e-4a5e-8f60-3a0f1f2f3d4e", "rntbd://host/replicas/1p"
	req.Trusted = req.Grant == nil
	f := &testServiceResponse{t: w.t, what: strings.Join(req.Address.IDs[:req.Address.N], "/")}
	w.svc.Serve(ctx, &req, &f.answer)
	f.body, f.rows = string(f.answer.Body), f.answer.Rows
	if f.answer.Range != "" {
		text, _ := f.answer.AppendSessionToken(nil)
		f.session = f.answer.Range + ":" + string(text)
	}
	f.answer.Release()
	return f
}

func (f *testServiceResponse) is(status, substatus int) *testServiceResponse {
	f.t.Helper()
	if f.answer.Status != status || f.answer.Substatus != substatus {
		f.t.Fatalf("%s: %d/%d, want %d/%d: %s", f.what, f.answer.Status, f.answer.Substatus, status, substatus,
			f.body)
	}
	return f
}

func (f *testServiceResponse) has(path, want string) *testServiceResponse {
	f.t.Helper()
	if got := gjson.Get(f.body, path).String(); got != want {
		f.t.Errorf("%s: %s is %q, want %q: %s", f.what, path, got, want, f.body)
	}
	return f
}

// container creates the database d and in it the container c with the partition key /pk. It returns the
// response for the container.
func (w *inProcessServiceClient) container() *testServiceResponse {
	w.t.Helper()
	w.send(cosmos.Request{Kind: cosmos.KindDatabase, Feed: true, Operation: cosmos.OpCreate,
		Body: []byte(`{"id":"d"}`)}).is(201, 0)
	return w.send(cosmos.Request{Kind: cosmos.KindContainer, Feed: true, Operation: cosmos.OpCreate,
		Address: at("d"),
		Body:    []byte(`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`)}).is(201, 0)
}

// of returns a request for an operation on the items of container c, or on the item with an id, with the
// partition key "a".
func of(op cosmos.OperationType, feed bool, id, body string) cosmos.Request {
	req := cosmos.Request{Kind: cosmos.KindItem, Feed: feed, Operation: op, Address: at("d", "c")}
	if !feed {
		req.Address = at("d", "c", id)
	}
	if body != "" {
		req.Body = []byte(body)
	}
	req.Headers.PartitionKey = definition.NewPartitionKey(jsondoc.StringValue("a"))
	return req
}

func TestItemsWithoutHTTP(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	made := w.container()
	one := w.send(of(cosmos.OpCreate, true, "", `{"id":"1","pk":"a","n":1}`)).is(201, 0).has("n", "1")
	if a := &one.answer; a.ETag == "" || a.Charge <= 1 || a.Range != "0" || a.LSN == 0 ||
		a.OwnerRID != gjson.Get(made.body, "_rid").Str ||
		a.OwnerDatabase != "d" || a.OwnerContainer != "c" {
		t.Errorf("answer %+v", a)
	}
	w.send(of(cosmos.OpCreate, true, "", `{"id":"1","pk":"a"}`)).is(409, 0)
	read := w.send(of(cosmos.OpRead, false, "1", "")).is(200, 0).has("n", "1")
	if read.answer.ItemLSN != one.answer.LSN || read.answer.ETag != one.answer.ETag {
		t.Errorf("answer %+v", read.answer)
	}

	same := of(cosmos.OpRead, false, "1", "")
	same.Headers.IfNoneMatch = one.answer.ETag
	if f := w.send(same).is(304, 0); f.body != "" || f.answer.ETag != one.answer.ETag {
		t.Errorf("answer %+v", f.answer)
	}
	w.send(of(cosmos.OpPatch, false, "1", `[{"op":"incr","path":"/n","value":4}]`)).is(200, 0).has("n", "5")
	stale := of(cosmos.OpReplace, false, "1", `{"id":"1","pk":"a"}`)
	stale.Headers.IfMatch = one.answer.ETag
	w.send(stale).is(412, 0).has("code", "PreconditionFailed")

	// dbs, rid, colls, rid, docs, rid
	self := strings.Split(strings.Trim(gjson.Get(one.body, "_self").Str, "/"), "/")
	byRID := of(cosmos.OpRead, false, "", "")
	byRID.Address = at(self[1], self[3], self[5])
	byRID.Address.ByRID = true
	w.send(byRID).is(200, 0).has("id", "1")

	w.send(of(cosmos.OpDelete, false, "1", "")).is(204, 0)
	gone := w.send(of(cosmos.OpRead, false, "1", "")).is(404, 0).has("code", "NotFound")
	if gone.answer.OwnerRID != "" || gone.session == "" || !strings.Contains(gone.body,
		"ResourceType: Document, OperationType: Read") ||
		!strings.Contains(gone.body, "Request URI: rntbd://host") {
		t.Errorf("answer %+v: %s", gone.answer, gone.body)
	}
	none := of(cosmos.OpRead, false, "1", "")
	none.Address = at("d", "none", "1")
	w.send(none).is(404, cosmos.SubstatusOwnerNotFound)
	w.send(of(cosmos.OpPatch, true, "", "[]")).is(405, 0)
}

func TestPagesWithoutHTTP(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	w.container()
	for _, id := range []string{"1", "2", "3"} {
		w.send(of(cosmos.OpUpsert, true, "", `{"id":"`+id+`","pk":"a"}`)).is(201, 0)
	}
	for name, ask := range map[string]cosmos.Request{
		"query": of(cosmos.OpQuery, true, "", `{"query":"SELECT * FROM c WHERE c.pk = @k",`+
			`"parameters":[{"name":"@k","value":"a"}]}`),
		"list": of(cosmos.OpRead, true, "", ""),
	} {
		ask.Headers.MaxItems = 2
		first := w.send(ask).is(200, 0).has("_count", "2")
		ask.Headers.Continuation = first.answer.Continuation
		second := w.send(ask).is(200, 0).has("_count", "1").has("Documents.0.id", "3")
		if !first.answer.Counted || first.answer.Count != 2 || first.answer.Continuation == "" ||
			second.answer.Continuation != "" {
			t.Errorf("%s: %+v, %+v", name, first.answer, second.answer)
		}
	}
	bare := of(cosmos.OpQuery, true, "", "SELECT VALUE COUNT(1) FROM c")
	bare.BareText = true
	w.send(bare).is(200, 0).has("Documents.0", "3")
	bare.Headers.PartitionKey, bare.Headers.CrossPartition = definition.PartitionKey{}, true
	w.send(bare).is(400, cosmos.SubstatusCrossPartition) // and a plan of how the client can merge them

	changes := of(cosmos.OpChangeFeed, true, "", "")
	changes.Headers.Incremental = true
	all := w.send(changes).is(200, 0).has("_count", "3")
	changes.Headers.IfNoneMatch = all.answer.ETag
	if f := w.send(changes).is(304, 0); !f.answer.Counted || f.answer.ETag != all.answer.ETag ||
		f.session == "" {
		t.Errorf("answer %+v", f.answer)
	}

	// What an answer takes of the memory is given back with it, and where there is none a page is refused.
	if !w.memory.TryTake(w.memory.Size()) {
		t.Fatal("an answer has kept memory")
	}
	soon, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if f := w.sendIn(soon, bare).is(429, cosmos.SubstatusThrottled); f.answer.RetryAfter != time.Second {
		t.Errorf("answer %+v", f.answer)
	}
	w.memory.Give(w.memory.Size())
}

func TestSessionsWithoutHTTP(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	w.container()
	made := w.send(of(cosmos.OpCreate, true, "", `{"id":"1","pk":"a"}`)).is(201, 0)
	first, ok := strings.CutSuffix(made.session, "#1")
	if !ok || !strings.HasPrefix(first, "0:") {
		t.Errorf("session token %q", made.session)
	}
	read := of(cosmos.OpRead, false, "1", "")
	for token, substatus := range map[string]int{
		made.session: 0, first + "#2": cosmos.SubstatusSessionNotAvailable,
	} {
		var err error
		if read.Headers.Session, err = cosmos.ParseSessionToken(token); err != nil {
			t.Fatal(err)
		}
		status := 200
		if substatus != 0 {
			status = 404
		}
		if f := w.send(read).is(status, substatus); f.session != made.session {
			t.Errorf("session token %q", f.session)
		}
	}
}

func TestBatchesWithoutHTTP(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	w.container()
	batch := of(cosmos.OpBatch, true, "", `[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}},`+
		`{"operationType":"Read","id":"1"}]`)
	batch.Headers.Atomic = true
	w.send(batch).is(200, 0).has("0.statusCode", "201").has("1.resourceBody.id", "1")
	w.send(batch).is(207, 0).has("0.statusCode", "409").has("1.statusCode", "424")

	rows := of(cosmos.OpBatch, true, "", "")
	rows.Body = hybridrowtest.Bytes(t, hybridrowtest.Segment+hybridrowtest.CreateHead+hybridrowtest.Create)
	rows.Headers.ContinueOnError = true
	f := w.send(rows).is(207, 0)
	if list := hybridrowtest.Results(t, []byte(f.body)); !f.rows || len(list) != 1 || list[0].Status != 400 {
		t.Errorf("rows %v: %+v", f.rows, list)
	}
}

func TestScriptsWithoutHTTP(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	w.container()
	script := cosmos.Request{Kind: cosmos.KindSproc, Feed: true, Operation: cosmos.OpCreate, Address: at("d",
		"c"),
		Body: []byte(`{"id":"p","body":"function (x) { console.log('é!'); ` +
			`getContext().getResponse().setBody(x + 1); }"}`)}
	w.send(script).is(201, 0)
	run := cosmos.Request{Kind: cosmos.KindSproc, Operation: cosmos.OpCreate, Address: at("d", "c", "p"),
		Body: []byte(`[41]`)}
	run.Headers.PartitionKey, run.Headers.ScriptLog = definition.NewPartitionKey(jsondoc.StringValue("a")), true
	if f := w.send(run).is(200, 0); f.body != "42" || !f.answer.Logged ||
		!strings.Contains(f.answer.ScriptLog, "%C3%A9!") {
		t.Errorf("%s %+v", f.body, f.answer)
	}
}

func TestGrantsWithoutHTTP(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	w.container()
	w.send(of(cosmos.OpCreate, true, "", `{"id":"1","pk":"a"}`)).is(201, 0)
	w.send(cosmos.Request{Kind: cosmos.KindUser, Feed: true, Operation: cosmos.OpCreate, Address: at("d"),
		Body: []byte(`{"id":"u"}`)}).is(201, 0)
	issued := w.send(cosmos.Request{Kind: cosmos.KindPermission, Feed: true, Operation: cosmos.OpCreate,
		Address: at("d", "u"),
		Body:    []byte(`{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"}`)}).is(201, 0)
	_, sealed, _ := strings.Cut(gjson.Get(issued.body, "_token").Str, "sig=")
	grant, err := w.tokens.Open(sealed)
	if err != nil {
		t.Fatal(err)
	}
	read := of(cosmos.OpRead, false, "1", "")
	read.Grant = grant
	w.send(read).is(200, 0)
	write := of(cosmos.OpDelete, false, "1", "")
	write.Grant = grant
	w.send(write).is(403, 0)
	if err := w.svc.Permit(t.Context(), &write); err == nil { // before there is a body
		t.Error("a write is permitted")
	}
	if _, err := w.tokens.Open("x" + sealed); err == nil {
		t.Error("a forged token was opened")
	}
}

func TestAccountWithoutHTTP(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	w.send(cosmos.Request{Kind: cosmos.KindAccount, Operation: cosmos.OpRead,
		Endpoint: "https://host/"}).is(200, 0).
		has("writableLocations.0.databaseAccountEndpoint",
			"https://host/").has("userConsistencyPolicy.defaultConsistencyLevel", "Session")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	w.container()
	w.sendIn(stopped, of(cosmos.OpCreate, true, "", `{"id":"1","pk":"a"}`)).is(408, 0)
}
