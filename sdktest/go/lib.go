package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// masterKey is the public master key of every Cosmos DB emulator.
const masterKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// commandLineSettings are the settings from the command line.
type commandLineSettings struct {
	running  bool   // the server's clock runs; otherwise it only moves on request
	endpoint string // the server's URL, with a slash at its end
	ranges   int
	control  string // URL through which a test can restart the server; "" if it cannot
}

// scenario is one of the scenarios that scenarios.md lists.
type scenario struct {
	name string
	run  func(t *ScenarioRun)
}

// missingAPI is the result of a scenario for which the SDK has no call; the text says what is missing.
type missingAPI string

func (e missingAPI) Error() string { return string(e) }

// without returns a scenario that is skipped because the SDK has no call for it.
func without(name, reason string) scenario {
	return scenario{name, func(*ScenarioRun) { panic(missingAPI(reason)) }}
}

// ScenarioRun is one run of a scenario, with a client and a database of its own, which is created by the
// first call of database. Methods that check something end the scenario if the check fails.
type ScenarioRun struct {
	commandLineSettings
	name   string
	ctx    context.Context
	client *azcosmos.Client
	db     *azcosmos.DatabaseClient
	http   []*http.Transport
}

// one runs the scenario s and deletes its database afterwards. The error says why the scenario failed.
func one(f commandLineSettings, s scenario) (err error) {
	t := &ScenarioRun{commandLineSettings: f, name: s.name, ctx: context.Background()}
	defer func() {
		if t.db != nil {
			_, e := t.db.Delete(t.ctx, nil)
			err = errors.Join(err, e)
		}
		for _, transport := range t.http {
			transport.CloseIdleConnections()
		}
	}()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case scenarioFailure:
			err = r
		case missingAPI:
			err = r
		default:
			panic(r)
		}
	}()
	t.client = t.connect()
	s.run(t)
	return nil
}

// scenarioFailure is the value of the panic by which a failed check ends a scenario. So the code of a
// scenario needs no handling of errors.
type scenarioFailure string

func (e scenarioFailure) Error() string { return string(e) }

// fatalf ends the scenario with a message that names the line of the scenario that has failed.
func (t *ScenarioRun) fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for skip := 1; ; skip++ {
		_, file, line, ok := runtime.Caller(skip)
		if !ok {
			break
		}
		if base := filepath.Base(file); base != "lib.go" {
			text = fmt.Sprintf("%s:%d: %s", base, line, text)
			break
		}
	}
	panic(scenarioFailure(text))
}

func (t *ScenarioRun) must(err error) {
	if err != nil {
		t.fatalf("%v", err)
	}
}

// check ends the scenario unless ok is true. what and args describe the failure.
func (t *ScenarioRun) check(ok bool, what string, args ...any) {
	if !ok {
		t.fatalf(what, args...)
	}
}

// equal ends the scenario unless got and want have the same JSON encoding.
func (t *ScenarioRun) equal(got, want any) {
	if !reflect.DeepEqual(plain(t, got), plain(t, want)) {
		t.fatalf("got %s, want %s", spell(got), spell(want))
	}
}

func spell(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func plain(t *ScenarioRun, v any) any {
	var p any
	t.must(json.Unmarshal([]byte(spell(v)), &p))
	return p
}

// options returns the options of a client that does not retry, so that a scenario sees each failure. Over
// https the client trusts the certificates in the file SSL_CERT_FILE, on every operating system.
func (t *ScenarioRun) options() *azcosmos.ClientOptions {
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		pem, err := os.ReadFile(file)
		t.must(err)
		pool := x509.NewCertPool()
		t.check(pool.AppendCertsFromPEM(pem), "%s holds no certificate", file)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	t.http = append(t.http, transport)
	return &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: transport},
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
}

// connect returns a new client.
func (t *ScenarioRun) connect() *azcosmos.Client {
	cred, err := azcosmos.NewKeyCredential(masterKey)
	t.must(err)
	client, err := azcosmos.NewClientWithKey(t.endpoint, cred, t.options())
	t.must(err)
	return client
}

// database returns the scenario's database. The first call creates it with the options o.
func (t *ScenarioRun) database(o *azcosmos.CreateDatabaseOptions) *azcosmos.DatabaseClient {
	if t.db == nil {
		_, err := t.client.CreateDatabase(t.ctx, azcosmos.DatabaseProperties{ID: t.name}, o)
		t.must(err)
		t.db, err = t.client.NewDatabase(t.name)
		t.must(err)
	}
	return t.db
}

// ScenarioContainer is a container of a scenario.
type ScenarioContainer struct {
	*azcosmos.ContainerClient
	t *ScenarioRun
}

// container creates a container with the id "c", partitioned by /pk, unless the properties say otherwise.
func (t *ScenarioRun) container(p azcosmos.ContainerProperties,
	throughput ...azcosmos.ThroughputProperties) ScenarioContainer {
	if p.ID == "" {
		p.ID = "c"
	}
	if len(p.PartitionKeyDefinition.Paths) == 0 {
		p.PartitionKeyDefinition = byPath("/pk")
	}
	var o *azcosmos.CreateContainerOptions
	if len(throughput) > 0 {
		o = &azcosmos.CreateContainerOptions{ThroughputProperties: &throughput[0]}
	}
	db := t.database(nil)
	_, err := db.CreateContainer(t.ctx, p, o)
	t.must(err)
	c, err := db.NewContainer(p.ID)
	t.must(err)
	return ScenarioContainer{c, t}
}

func byPath(path string) azcosmos.PartitionKeyDefinition {
	return azcosmos.PartitionKeyDefinition{Paths: []string{path}, Version: 2}
}

// seen returns the same container as accessed by another client.
func (c ScenarioContainer) seen(client *azcosmos.Client) ScenarioContainer {
	other, err := client.NewContainer(c.t.name, c.ID())
	c.t.must(err)
	return ScenarioContainer{other, c.t}
}

// JSONObject is a document.
type JSONObject = map[string]any

// JSONArray is a list of values.
type JSONArray = []any

func raw(v any) []byte { return []byte(spell(v)) }

// doc decodes a document and removes the properties that the server has added.
func (t *ScenarioRun) doc(body []byte) JSONObject {
	m := t.full(body)
	for _, name := range []string{"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"} {
		delete(m, name)
	}
	return m
}

func (t *ScenarioRun) full(body []byte) JSONObject {
	var m JSONObject
	t.must(json.Unmarshal(body, &m))
	return m
}

var content = &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}

// key returns the partition key with these values, one for each level.
func key(values ...any) azcosmos.PartitionKey {
	pk := azcosmos.NewPartitionKey()
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			pk = pk.AppendNull()
		case string:
			pk = pk.AppendString(v)
		case bool:
			pk = pk.AppendBool(v)
		case int:
			pk = pk.AppendNumber(float64(v))
		case float64:
			pk = pk.AppendNumber(v)
		}
	}
	return pk
}

// across is the empty partition key: a query with it reads all partitions.
var across = azcosmos.NewPartitionKey()

// create creates a document under the partition key in its property pk.
func (c ScenarioContainer) create(m JSONObject) azcosmos.ItemResponse {
	res, err := c.CreateItem(c.t.ctx, key(m["pk"]), raw(m), content)
	c.t.must(err)
	c.t.equal(res.RawResponse.StatusCode, 201)
	return res
}

// read reads a document and returns it without the properties that the server has added.
func (c ScenarioContainer) read(pk any, id string) JSONObject {
	res, err := c.ReadItem(c.t.ctx, key(pk), id, nil)
	c.t.must(err)
	return c.t.doc(res.Value)
}

// gone ends the scenario as a failure unless a read of the document fails with the status 404.
func (c ScenarioContainer) gone(pk any, id string) {
	_, err := c.ReadItem(c.t.ctx, key(pk), id, nil)
	c.t.fails(err, 404)
}

// pages runs a query to its end and returns its pages.
func (c ScenarioContainer) pages(text string, pk azcosmos.PartitionKey,
	o *azcosmos.QueryOptions) (pages [][][]byte) {
	for p := c.NewQueryItemsPager(text, pk, o); p.More(); {
		page, err := p.NextPage(c.t.ctx)
		c.t.must(err)
		pages = append(pages, page.Items)
	}
	return pages
}

// rows runs a query to its end and returns its rows as decoded values.
func (c ScenarioContainer) rows(text string, pk azcosmos.PartitionKey, o *azcosmos.QueryOptions) JSONArray {
	rows := JSONArray{}
	for _, r := range slices.Concat(c.pages(text, pk, o)...) {
		var v any
		c.t.must(json.Unmarshal(r, &v))
		rows = append(rows, v)
	}
	return rows
}

// refused requests the first page of a query that must fail, and returns the error.
func (c ScenarioContainer) refused(text string, pk azcosmos.PartitionKey) error {
	_, err := c.NewQueryItemsPager(text, pk, nil).NextPage(c.t.ctx)
	return err
}

// names returns the ids of documents.
func (t *ScenarioRun) names(docs [][]byte) []string {
	ids := []string{}
	for _, d := range docs {
		id, _ := t.full(d)["id"].(string)
		ids = append(ids, id)
	}
	return ids
}

// same ends the scenario unless got contains exactly the ids in want, in any order.
func (t *ScenarioRun) same(got, want []string) {
	t.equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

// ids returns the ids of all documents that a query finds. where is the part of the query after "FROM c".
func (c ScenarioContainer) ids(where string, pk azcosmos.PartitionKey) []string {
	return c.t.names(slices.Concat(c.pages("SELECT * FROM c"+where, pk, nil)...))
}

// fails ends the scenario unless err is a response with one of these statuses. It returns the text of the
// error.
func (t *ScenarioRun) fails(err error, statuses ...int) string {
	var r *azcore.ResponseError
	if !errors.As(err, &r) || !slices.Contains(statuses, r.StatusCode) {
		t.fatalf("not refused with %v: %v", statuses, err)
	}
	return err.Error()
}

// twentieth returns the i-th of the twenty documents that scenarios.md defines.
func twentieth(i int) JSONObject {
	return JSONObject{
		"id": fmt.Sprintf("i%02d", i), "pk": fmt.Sprintf("p%d", i%5), "n": i, "g": fmt.Sprintf("g%d", i%3),
		"tags": JSONArray{fmt.Sprintf("t%d", i%4), "all"}, "o": JSONObject{"x": i},
	}
}

// everything returns the ids of the twenty documents that scenarios.md defines.
func everything() (ids []string) {
	for i := range 20 {
		ids = append(ids, twentieth(i)["id"].(string))
	}
	return ids
}

// twenty creates a container with the twenty documents that scenarios.md defines.
func (t *ScenarioRun) twenty(p azcosmos.ContainerProperties) ScenarioContainer {
	c := t.container(p)
	for i := range 20 {
		c.create(twentieth(i))
	}
	return c
}

func ptr[T any](v T) *T { return &v }

// unescaped encodes a value as JSON without escaping <, > and &.
func unescaped(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}
