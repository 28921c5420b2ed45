package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// script creates a script: a stored procedure, user-defined function or trigger. kind is its keyword in
// paths, such as "sprocs"; more is JSON with further members of its definition.
func (w *serverUnderTest) script(kind, id, body, more string) {
	w.t.Helper()
	w.do("POST", coll+"/"+kind, fmt.Sprintf(`{"id":%s,"body":%s%s}`, jsonString(id), jsonString(body),
		more)).want(201)
}

// procedure creates a stored procedure and executes it with the arguments args (a JSON array) in the
// partition "a".
func (w *serverUnderTest) procedure(body, args string, headers ...string) *testResponse {
	w.t.Helper()
	w.do("POST", coll+"/sprocs", fmt.Sprintf(`{"id":"p","body":%s}`, jsonString(body)),
		"x-ms-documentdb-is-upsert", "true")
	return w.do("POST", coll+"/sprocs/p", args, append(pk(`["a"]`), headers...)...)
}

func (a *testResponse) body200(want string) *testResponse {
	a.t.Helper()
	a.want(200)
	if string(a.body) != want {
		a.t.Errorf("answered %s; want %s", a.body, want)
	}
	return a
}

// says checks that the first error in the message of an error response contains text.
func (a *testResponse) says(text string) {
	a.t.Helper()
	if list := a.inner(); len(list) == 0 || !strings.Contains(list[0].Str, text) {
		a.t.Errorf("%s: %s; want %q", a.what, a.body, text)
	}
}

// charge returns the cost of the request, in RU.
func (a *testResponse) charge() float64 {
	a.t.Helper()
	c, err := strconv.ParseFloat(a.header.Get("X-Ms-Request-Charge"), 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func TestProcedureResponses(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for _, c := range []struct{ body, args, want string }{
		{`function () { getContext().getResponse().setBody("Hello, World"); }`, "", `"Hello, World"`},
		{`function () { for (var i = 0; i < 1000; i++) { var r = getContext().getResponse(), b = r.getBody(); if (i > 0 && b !== i - 1) throw "mismatch"; r.setBody(i); } }`, "[]", "999"},
		{`function () { for (var i = 0; i < 10; i++) getContext().getResponse().appendValue("Body", i); }`,
			"[]", `"0123456789"`},
		{`function (input) { getContext().getResponse().setBody("a" + input.temp); }`, `[{"temp":"so"}]`,
			`"aso"`},
		{`function (a, b) { __.response.setBody([b, a, getContext().getRequest().getBody()]); }`,
			`[1,{"x":[null]}]`, `[{"x":[null]},1,[1,{"x":[null]}]]`},
		{`function () {}`, "[]", `""`},
		{`function () { getContext().getResponse().setBody(undefined); }`, "[]", `""`},
		{`(x) => getContext().getResponse().setBody(typeof x)`, "[]", `"undefined"`},
		{`async function (n) { var r = await new Promise(f => f(n)); getContext().getResponse().setBody(r + 1); }`, "[1]", "2"},
		// as the service: a rejection is nobody's
		{`async function () { await 1; throw new Error("unseen"); }`, "[]", `""`},
		{`function () { getContext().getResponse().setBody(__ === getContext().getCollection() && __.getSelfLink().split("/").length); }`, "", "5"},
		{`function () { getContext().getResponse().setBody(__.getAltLink()); }`, "", `"dbs/d/colls/c"`},
		{`function () { getContext().getResponse().setBody(new Date().toISOString()); }`, "",
			`"2027-03-01T12:00:00.000Z"`},
	} {
		w.procedure(c.body, c.args).body200(c.want)
	}
}

func TestProcedureRequests(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.script("sprocs", "p", `function () { console.log("one %s", 2); console.log({a: 1}, "x+y (z)'"); }`, "")
	run := coll + "/sprocs/p"
	w.do("POST", run, "[]", pk(`["a"]`)...).want(200).head("x-ms-documentdb-script-log-results", "")
	logged := w.do("POST", run, "", append(pk(`["a"]`), "x-ms-documentdb-script-enable-logging",
		"True")...).want(200)
	// What encodeURIComponent makes of it.
	logged.head("x-ms-documentdb-script-log-results", "one%202%0A%7B%22a%22%3A1%7D%20x%2By%20(z)'")
	if text, err := url.PathUnescape(logged.header.Get("X-Ms-Documentdb-Script-Log-Results")); err != nil ||
		text != "one 2\n{\"a\":1} x+y (z)'" {
		t.Errorf("%q, %v", text, err)
	}
	if token := logged.header.Get("X-Ms-Session-Token"); !strings.HasPrefix(token, "0:") {
		t.Error(token)
	}
	w.do("POST", run, "[]").fails(400, 0, "PartitionKey value must be supplied for this operation.")
	w.do("POST", run, "[]", pk(`["a","b"]`)...).fails(400, 1001, "")
	w.do("POST", run, "1", pk(`["a"]`)...).fails(400, 0, "array")
	w.do("POST", run, "[", pk(`["a"]`)...).fails(400, 0, "")
	w.do("POST", run, "[]", append(pk(`["a"]`), "x-ms-documentdb-script-enable-logging",
		"maybe")...).fails(400, 0, "invalid")
	w.do("POST", coll+"/sprocs/none", "[]", pk(`["a"]`)...).fails(404, 0, "")
	w.do("POST", coll+"/udfs/none", "[]", pk(`["a"]`)...).fails(405, 0, "")
	rid := w.do("GET", run, "").want(200).at("_self").Str
	w.do("POST", "/"+strings.TrimSuffix(rid, "/"), "[]", pk(`["a"]`)...).want(200)
	for _, key := range []string{`[null]`, `[{}]`, `[7]`} {
		w.do("POST", run, "[]", pk(key)...).want(200)
	}
}

// TestSystemProcedures checks the built-in stored procedures, such as __.sys.echo, which every container
// has.
func TestSystemProcedures(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	run := func(id, args string) *testResponse {
		return w.do("POST", coll+"/sprocs/__.sys."+id, args, pk(`["a"]`)...)
	}
	run("echo", `["hello"]`).body200(`"hello"`)
	run("echo", `[{"x":[1]}]`).body200(`{"x":[1]}`)
	run("commonBulkInsert", `[[{"id":"1","pk":"a"},{"id":"2","pk":"a"},{"pk":"a"}]]`).body200(`{"count":3,"errorCode":0}`)
	w.do("GET", docs, "").want(200).has("_count", "3")
	run("commonBulkInsert", `["x"]`).fails(400, 400, "array of documents")
	run("commonBulkInsert", `[[{"id":"3","pk":"a"},{"id":"2","pk":"a"}]]`).fails(400, 409, "already exists")
	w.do("GET", docs+"/3", "", pk(`["a"]`)...).fails(404, 0, "")
	run("commonBulkInsert", `[[{"id":"3","pk":"a"},{"id":"2","pk":"a"},{"id":"4","pk":"a"}],{"softStopOnConflict":true}]`).body200(`{"count":1,"errorCode":409}`)
	run("commonBulkInsert", `[[{"id":"3","pk":"a","v":1},{"id":"4","pk":"a"}],{"enableUpsert":true}]`).body200(`{"count":2,"errorCode":0}`)
	w.do("GET", docs+"/3", "", pk(`["a"]`)...).want(200).has("v", "1")
	w.do("GET", coll+"/sprocs", "").want(200).has("_count", "0")
	w.do("GET", coll+"/sprocs/__.sys.echo", "").fails(404, 0, "")
	run("none", `[]`).fails(404, 0, "")
}

// TestScriptOptions checks that a call of the JavaScript API with an option of the wrong type fails with
// 400.
func TestScriptOptions(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for _, bad := range []string{
		`readDocuments(__.getSelfLink(), {pageSize: "bad"})`, `queryDocuments(__.getSelfLink(), "SELECT * FROM c", {pageSize: 1.5})`,
		`readDocuments(__.getSelfLink(), {pageSize: -2})`, `readDocuments(__.getSelfLink(), {continuation: 7})`, `filter(d => d, {pageSize: true})`,
		`createDocument(__.getSelfLink(), {id: "1", pk: "a"}, {indexAction: "bad"})`, `upsertDocument(__.getSelfLink(), {id: "1", pk: "a"}, {indexAction: 1})`,
		`createDocument(__.getSelfLink(), {id: "1", pk: "a"}, {disableAutomaticIdGeneration: "no"})`,
		`replaceDocument(__.getAltLink() + "/docs/1", {id: "1", pk: "a"}, {etag: 1})`,
	} {
		w.procedure(`function () { __.`+bad+`; }`, "[]").fails(400, 400, "has an invalid value")
	}
	for _, good := range []string{
		`readDocuments(__.getSelfLink(), {pageSize: -1, continuation: ""})`, `readDocuments(__.getSelfLink(), {pageSize: null, continuation: undefined})`,
		`upsertDocument(__.getSelfLink(), {id: "1", pk: "a"}, {indexAction: "Exclude", disableAutomaticIdGeneration: true, other: {}})`,
	} {
		w.procedure(`function () { __.`+good+`; };`, "[]").want(200)
	}
}

func TestProcedureErrors(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	create := `__.createDocument(__.getSelfLink(), {id: "x", pk: "a"}); `
	for _, c := range []struct {
		body            string
		code, substatus int
		text            string
	}{
		{`function f() { ` + create + `throw new Error("no"); }`, 400, 0, "Encountered exception while executing function. Exception = Error: no\r\nStack trace: Error: no\n   at f (p.js:1:"},
		{`function f() { ` + create + `throw "text"; }`, 400, 0, "Exception = text"},
		{`function f() { ` + create + `throw new Error(404, "gone"); }`, 400, 404, "Exception = Error: gone"},
		{`function f() { ` + create + `getContext().abort(new Error("given up")); }`, 400, 0, "Exception = Error: given up"},
		{`function f() { ` + create + `try { getContext().abort("a"); } catch (e) {} finally { } }`, 400, 0, "Exception = a"},
		{`async function f() { ` + create + `await 1; getContext().abort(new Error("late")); }`, 400, 0, "Exception = Error: late"},
		{`function f() { ` + create + `__.createDocument(__.getSelfLink(), {id: "x", pk: "a"}); }`, 400, 409, "already exists"},
		{`function f() { ` + create + `__.createDocument(__.getSelfLink(), {id: "y", pk: "b"}); }`, 400, 403, "Requests originating from scripts cannot reference partition keys"},
		{`function f() { ` + create + `__.createDocument(__.getSelfLink(), {id: "y", pk: "b"}, e => { throw e; }); }`, 400, 403, "Exception = Error: {\"Errors\":[\"Requests originating"},
		{`function f() { ` + create + `__.createDocument("dbs/x/colls/y", {}); }`, 400, 400, "outside current collection"},
		{`function f() { ` + create + `__.readDocument("x"); }`, 400, 400, "Invalid document link"},
		{`function f() { ` + create + `__.createDocument(__.getSelfLink(), 7); }`, 400, 400, "must be an object or a string"},
		{`function f() { ` + create + `__.createDocument(__.getSelfLink(), {pk: "a"}, {disableAutomaticIdGeneration: true}); }`, 400, 400, "id"},
		{`function f() { ` + create + `__.queryDocuments(__.getSelfLink(), "SELECT nonsense FROM"); }`, 400, 400, "Syntax error"},
		{`function f() { ` + create + `__.createAttachment("x"); }`, 400, 400, "attachments"},
		{`function f() { ` + create + `nothing(); }`, 400, 0, "ReferenceError: nothing is not defined"},
		{`function f() { ` + create + `f(); }`, 400, 0, "Out of stack space"},
		{`function f() { ` + create + `getContext().getRequest().setBody(1); }`, 400, 0, "TypeError"},
		{`function f() { ` + create + `getContext().getResponse().setValue("OperationType", 1); }`, 400, 400, "Cannot set new values"},
		{`function f() { ` + create + `getContext().getResponse().setBody("x".repeat(5e6)); }`, 413, 0, "Request size is too large"},
		{`function f( {`, 400, 0xFFFF, "SyntaxError"},
		{`7`, 400, 0xFFFF, "not a function"},
	} {
		w.procedure(c.body, "[]").fails(c.code, c.substatus, "").says(c.text)
		w.do("GET", coll+"/docs/x", "", pk(`["a"]`)...).want(404)
	}
}

// TestBulkImport runs the stored procedure by which clients commonly import documents: it creates as many
// as are accepted in its time limit, and the client calls it again with the rest.
func TestBulkImport(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.procedure(`function bulkImport(docs) {
		var collection = getContext().getCollection(), count = 0;
		if (!docs) throw new Error("The array is undefined or null.");
		if (docs.length === 0) { getContext().getResponse().setBody(0); return; }
		tryCreate(docs[count], callback);
		function tryCreate(doc, callback) {
			if (!collection.createDocument(collection.getSelfLink(), doc, callback)) getContext().getResponse().setBody(count);
		}
		function callback(err, doc, options) {
			if (err) throw err;
			if (options.statusCode !== 201 || !doc._rid) throw new Error("no document");
			if (++count >= docs.length) getContext().getResponse().setBody(count);
			else tryCreate(docs[count], callback);
		}
	}`, `[[{"id":"1","pk":"a"},{"pk":"a"},{"id":"3","pk":"a","n":1}]]`).body200("3")
	w.do("GET", docs, "").want(200).has("_count", "3")

	// Larger than a transaction: it stops in time.
	big := `function (n) {
		var done = 0, text = "x".repeat(1e5);
		(function next() {
			if (!__.createDocument(__.getSelfLink(), { pk: "a", text: text }, function (err) { if (err) throw err; if (++done < n) next(); else end(); })) end();
		})();
		function end() { getContext().getResponse().setBody(done); }
	}`
	some := w.procedure(big, "[1000]").want(200)
	if n := some.at("@this").Int(); n < 10 || n > 500 {
		t.Errorf("%d documents were accepted", n)
	} else {
		w.procedure(`function () { __.filter(d => d.text !== undefined, {pageSize: 1000}, (e, l) => __.response.setBody(l.length)); }`, "[]").body200(fmt.Sprint(n))
	}
}

// TestBulkDelete runs the stored procedure by which clients commonly delete documents: it queries some,
// deletes them, and queries again.
func TestBulkDelete(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for i := range 25 {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"%c","n":%d}`, i, 'a'+i/20, i), pk(fmt.Sprintf(`["%c"]`, 'a'+i/20))...).want(201)
	}
	w.procedure(`function bulkDelete(query) {
		var c = getContext().getCollection(), link = c.getSelfLink(), body = { deleted: 0, continuation: true };
		more();
		function more(continuation) {
			if (!c.queryDocuments(link, query, { pageSize: 7, continuation: continuation }, function (err, found, options) {
				if (err) throw err;
				if (found.length > 0) remove(found);
				else if (options.continuation) more(options.continuation);
				else { body.continuation = false; getContext().getResponse().setBody(body); }
			})) getContext().getResponse().setBody(body);
		}
		function remove(list) {
			if (list.length === 0) return more();
			if (!c.deleteDocument(list[0]._self, {}, function (err, options) {
				if (err) throw err;
				if (options.statusCode !== 204) throw new Error("status");
				body.deleted++;
				list.shift();
				remove(list);
			})) getContext().getResponse().setBody(body);
		}
	}`, `[{"query":"SELECT * FROM c WHERE c.n >= @n ORDER BY c.n","parameters":[{"name":"@n","value":3}]}]`).body200(`{"deleted":17,"continuation":false}`)
	w.do("GET", docs, "").want(200).has("_count", "8")
}

func TestCollectionMethods(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for i, id := range []string{"1", "2", "3", "4"} {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%s","pk":"a","n":%d,"tags":["t%d",["u"]],"kids":[{"k":%d},{"k":%d}]}`, id, 4-i, i, i, i+10), pk(`["a"]`)...).want(201)
	}
	foreign := w.do("POST", docs, `{"id":"1","pk":"b"}`, pk(`["b"]`)...).want(201).at("_self").Str
	at := `__.getAltLink() + "/docs/1"`
	set := `(e, d, o) => __.response.setBody([e && e.number, d && d.n, o && (o.statusCode || o.notModified)])`
	for _, c := range []struct{ body, want string }{
		{`__.readDocument(` + at + `, ` + set + `)`, "[null,4,200]"},
		{`__.readDocument(` + at + `, {ifNoneMatch: "*"}, (e, d, o) => __.response.setBody([e, d, o.notModified]))`, "[null,null,true]"},
		{`__.readDocument(__.getAltLink() + "/docs/9", ` + set + `)`, "[404,null,null]"},
		{`__.readDocument("` + foreign + `", ` + set + `)`, "[403,null,null]"},
		{`__.replaceDocument(` + at + `, {id: "1", pk: "a", n: 7}, ` + set + `)`, "[null,7,200]"},
		{`__.readDocument(` + at + `, (e, d) => __.replaceDocument(d._self, Object.assign(d, {n: 8}), {etag: d._etag}, ` + set + `))`, "[null,8,200]"},
		{`__.replaceDocument(` + at + `, {id: "1", pk: "a", n: 9}, {etag: '"x"'}, ` + set + `)`, "[412,null,null]"},
		{`__.replaceDocument(` + at + `, {id: "1", pk: "b"}, ` + set + `)`, "[403,null,null]"},
		{`__.upsertDocument(__.getSelfLink(), {id: "1", pk: "a", n: 4}, ` + set + `)`, "[null,4,200]"},
		{`__.upsertDocument(__.getSelfLink(), '{"id":"5","pk":"a","n":0}', ` + set + `)`, "[null,0,201]"},
		{`__.deleteDocument(__.getAltLink() + "/docs/5", (e, o) => __.response.setBody([e, o.statusCode]))`, "[null,204]"},
		{`__.createDocument(__.getSelfLink(), {id: "1", pk: "a"}, ` + set + `)`, "[409,null,null]"},
		{`__.createDocument(__.getSelfLink(), {id: "1", pk: "a"}, e => __.response.setBody(JSON.parse(e.body).Errors.length + JSON.parse(e.message).Errors.length))`, "2"},
		{`__.readDocuments(__.getSelfLink(), {pageSize: 3}, (e, l, o) => __.response.setBody([l.length, typeof o.continuation]))`, `[3,"string"]`},
		{`__.readDocuments(__.getSelfLink(), {pageSize: 3}, (e, l, o) => __.readDocuments(__.getSelfLink(), {continuation: o.continuation}, (e, l, o) => __.response.setBody([l.length, typeof o.continuation])))`, `[1,"undefined"]`},
		{`__.queryDocuments(__.getSelfLink(), "SELECT VALUE c.n FROM c ORDER BY c.n", (e, l) => __.response.setBody(l))`, "[1,2,3,4]"},
		{`__.queryDocuments(__.getSelfLink(), "SELECT VALUE COUNT(1) FROM c", (e, l) => __.response.setBody(l))`, "[4]"},
		{`__.queryDocuments(__.getSelfLink(), "SELECT *", e => __.response.setBody(e.number))`, "400"},
		{`__.createDocument(__.getSelfLink(), {id: "s", pk: "a", n: 5}); __.queryDocuments(__.getSelfLink(), "SELECT VALUE c.n FROM c WHERE c.n > 3 ORDER BY c.n DESC", (e, l) => { __.response.setBody(l); __.deleteDocument(__.getAltLink() + "/docs/s"); })`, "[5,4]"},
		{`__.filter(d => d.n > 2, (e, l) => __.response.setBody(l.map(d => d.id)))`, `["1","2"]`},
		{`__.pluck("n")`, "[4,3,2,1]"},
		{`__.map(d => d.n * 2)`, "[8,6,4,2]"},
		{`__.sortBy(d => d.n, (e, l) => __.response.setBody(l.map(d => d.id)))`, `["4","3","2","1"]`},
		{`__.chain().filter(d => d.n < 4).sortByDescending(d => d.n).pluck("n").value({pageSize: 1})`, "[3,2,1]"},
		{`__.chain().filter(d => d.id === "2").map(d => d.tags).flatten().value()`, `["t1","u"]`},
		{`__.chain().filter(d => d.id === "2").map(d => d.tags).flatten(true).value()`, `["t1",["u"]]`},
		{`__.chain().filter(d => d.id === "2").unwind(d => d.kids, (d, k) => [d.id, k.k]).value()`, `[["2",1],["2",11]]`},
		{`__.chain().filter(d => d.id === "2").unwind(d => d.kids).value()`, `[{"k":1},{"k":11}]`},
		{`if (!__.filter(d => true).isAccepted) throw 1; __.response.setBody(1)`, ""},
	} {
		a := w.procedure(`function () { `+c.body+` }`, "[]").want(200)
		if c.want != "" && string(a.body) != c.want {
			t.Errorf("%s: %s; want %s", c.body, a.body, c.want)
		}
	}
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.script("triggers", "stamp", `function stamp() {
		var request = getContext().getRequest(), doc = request.getBody();
		if (doc.refuse) throw new Error("refused");
		doc.stamped = request.getOperationType();
		if (doc.rename) doc.id = doc.rename;
		request.setBody(doc);
	}`, `,"triggerType":"Pre","triggerOperation":"All"`)
	w.script("triggers", "count", `function updateMetadata() {
		var c = getContext().getCollection(), made = getContext().getResponse().getBody();
		if (made && made.fail) throw new Error("post failed");
		var ok = c.queryDocuments(c.getSelfLink(), 'SELECT * FROM c WHERE c.id = "_metadata"', function (err, list) {
			if (err) throw new Error(err.message);
			if (list.length !== 1) throw "Unable to find metadata document";
			list[0].created += 1;
			list[0].names += " " + made.id;
			if (!c.replaceDocument(list[0]._self, list[0], function (err) { if (err) throw "Unable to update metadata"; })) throw "busy";
		});
		if (!ok) throw "busy";
	}`, `,"triggerType":"Post","triggerOperation":"create"`)
	w.script("triggers", "deleted", `function () { getContext().getResponse().setBody("x"); }`, `,"triggerType":"pre","triggerOperation":"Delete"`)
	w.script("triggers", "answer", `function () { var r = getContext().getResponse(), b = r.getBody(); b.more = 1; r.setBody(b); }`, `,"triggerType":"Post","triggerOperation":"all"`)
	w.script("triggers", "replaced", `function () {}`, `,"triggerType":"Pre","triggerOperation":"Replace"`)
	w.script("triggers", "updated", `function () {}`, `,"triggerType":"Pre","triggerOperation":"Update"`)
	with := func(pre, post string) []string {
		return append(pk(`["a"]`), "x-ms-documentdb-pre-trigger-include", pre, "x-ms-documentdb-post-trigger-include", post)
	}
	w.do("POST", docs, `{"id":"_metadata","pk":"a","created":0,"names":""}`, pk(`["a"]`)...).want(201)

	w.do("POST", docs, `{"id":"1","pk":"a"}`, with("stamp", "count")...).want(201).has("stamped", `"Create"`)
	w.do("POST", docs, `{"id":"2","pk":"a","rename":"new"}`, with("stamp", "count")...).want(201).has("id", `"new"`)
	w.do("GET", docs+"/2", "", pk(`["a"]`)...).want(404)
	w.do("GET", docs+"/_metadata", "", pk(`["a"]`)...).want(200).has("created", "2").has("names", `" 1 new"`)
	w.do("POST", docs, `{"id":"3","pk":"a","refuse":1}`, with("stamp", "count")...).fails(400, 0, "Exception = Error: refused")
	w.do("POST", docs, `{"id":"3","pk":"a","fail":1}`, with("stamp", "count")...).fails(400, 0, "Exception = Error: post failed")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, with("stamp", "count")...).fails(409, 0, "")
	w.do("GET", docs+"/3", "", pk(`["a"]`)...).want(404)
	w.do("GET", docs+"/_metadata", "", pk(`["a"]`)...).want(200).has("created", "2")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, append(with("stamp", ""), "x-ms-documentdb-is-upsert", "True")...).want(200).has("stamped", `"Upsert"`)
	w.do("PUT", docs+"/1", `{"id":"1","pk":"a"}`, with("stamp", "answer")...).want(200).has("stamped", `"Replace"`).has("more", "1")
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200).has("more", "")
	w.do("PUT", docs+"/1", `{"id":"1","pk":"a"}`, with("updated", "")...).want(200)
	w.do("PUT", docs+"/1", `{"id":"1","pk":"a","rename":"4"}`, with("stamp", "")...).want(200).has("id", `"4"`)
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(404)
	w.do("PUT", docs+"/4", `{"id":"4","pk":"a","rename":"1"}`, with("stamp", "")...).want(200).has("id", `"1"`)

	w.do("POST", docs, `{"id":"5","pk":"a"}`, with("deleted", "")...).fails(400, 0, "Trigger 'deleted' was defined with operation type 'Delete', and therefore is invalid for 'Create'.")
	w.do("POST", docs, `{"id":"5","pk":"a"}`, append(with("replaced", ""), "x-ms-documentdb-is-upsert", "True")...).fails(400, 0, "operation type 'Replace', and therefore is invalid for 'Upsert'")
	w.do("POST", docs, `{"id":"5","pk":"a"}`, with("", "stamp")...).fails(400, 0, "type 'Pre'")
	w.do("POST", docs, `{"id":"5","pk":"a"}`, with("stamp,updated", "")...).fails(400, 0, "Only one Pre-trigger")
	w.do("POST", docs, `{"id":"5","pk":"a"}`, with("none", "")...).fails(400, 0, "does not exist")
	w.do("POST", docs, `{"id":"5","pk":`, with("stamp", "")...).fails(400, 0, "")
	w.do("DELETE", docs+"/1", "", with("deleted", "")...).fails(400, 400, "not available in a pre-trigger")
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
	w.do("DELETE", docs+"/1", "", with("", "answer")...).fails(400, 0, "TypeError")
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
	w.do("DELETE", docs+"/1", "", pk(`["a"]`)...).want(204)
}
