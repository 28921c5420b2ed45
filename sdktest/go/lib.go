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

// masterKey is the one that every Cosmos DB emulator is known to have.
const masterKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// flags are what the command line says.
type flags struct {
	running  bool   // the clock runs
	endpoint string // with a slash at its end
	ranges   int
	control  string // "" if the server cannot be ended
}

// scenario is one of scenarios.md.
type scenario struct {
	name string
	run  func(t *T)
}

// noAPI is the outcome of a scenario that the SDK has no call for.
type noAPI string

func (e noAPI) Error() string { return string(e) }

// without is a scenario that the SDK has no call for, and why.
func without(name, reason string) scenario {
	return scenario{name, func(*T) { panic(noAPI(reason)) }}
}

// T is what one scenario works with: a client, and a database of its own that is made when it is first asked
// for. Its methods end the scenario where something is not as it should be.
type T struct {
	flags
	name   string
	ctx    context.Context
	client *azcosmos.Client
	db     *azcosmos.DatabaseClient
	http   []*http.Transport
}

// one runs a scenario and deletes its database.
func one(f flags, s scenario) (err error) {
	t := &T{flags: f, name: s.name, ctx: context.Background()}
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
		case failure:
			err = r
		case noAPI:
			err = r
		default:
			panic(r)
		}
	}()
	t.client = t.connect()
	s.run(t)
	return nil
}

// failure ends a scenario. It is a panic, so that a scenario reads as a list of what has to come.
type failure string

func (e failure) Error() string { return string(e) }

// fatalf ends the scenario, telling the line of the scenario's file that led here.
func (t *T) fatalf(format string, args ...any) {
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
	panic(failure(text))
}

func (t *T) must(err error) {
	if err != nil {
		t.fatalf("%v", err)
	}
}

// check ends the scenario unless ok.
func (t *T) check(ok bool, what string, args ...any) {
	if !ok {
		t.fatalf(what, args...)
	}
}

// equal ends the scenario unless got is what is wanted; both may be anything that JSON can spell.
func (t *T) equal(got, want any) {
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

func plain(t *T, v any) any {
	var p any
	t.must(json.Unmarshal([]byte(spell(v)), &p))
	return p
}

// options are those of a client whose failures are to be seen. Over https it trusts the certificates of
// SSL_CERT_FILE, on every system.
func (t *T) options() *azcosmos.ClientOptions {
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

// connect makes a client.
func (t *T) connect() *azcosmos.Client {
	cred, err := azcosmos.NewKeyCredential(masterKey)
	t.must(err)
	client, err := azcosmos.NewClientWithKey(t.endpoint, cred, t.options())
	t.must(err)
	return client
}

// database returns the scenario's database; o is for its creation.
func (t *T) database(o *azcosmos.CreateDatabaseOptions) *azcosmos.DatabaseClient {
	if t.db == nil {
		_, err := t.client.CreateDatabase(t.ctx, azcosmos.DatabaseProperties{ID: t.name}, o)
		t.must(err)
		t.db, err = t.client.NewDatabase(t.name)
		t.must(err)
	}
	return t.db
}

// C is a container and the scenario that works with it.
type C struct {
	*azcosmos.ContainerClient
	t *T
}

// container creates a container with the id "c", partitioned by /pk, unless the properties say otherwise.
func (t *T) container(p azcosmos.ContainerProperties, throughput ...azcosmos.ThroughputProperties) C {
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
	return C{c, t}
}

func byPath(path string) azcosmos.PartitionKeyDefinition {
	return azcosmos.PartitionKeyDefinition{Paths: []string{path}, Version: 2}
}

// seen is the same container as another client sees it.
func (c C) seen(client *azcosmos.Client) C {
	other, err := client.NewContainer(c.t.name, c.ID())
	c.t.must(err)
	return C{other, c.t}
}

// M is a document.
type M = map[string]any

// L is a list of values.
type L = []any

func raw(v any) []byte { return []byte(spell(v)) }

// doc reads a document and strips what the server adds to it.
func (t *T) doc(body []byte) M {
	m := t.full(body)
	for _, name := range []string{"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"} {
		delete(m, name)
	}
	return m
}

func (t *T) full(body []byte) M {
	var m M
	t.must(json.Unmarshal(body, &m))
	return m
}

var content = &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}

// key is the partition key of these values.
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

// across is no partition key.
var across = azcosmos.NewPartitionKey()

// create creates a document in the partition that its pk names.
func (c C) create(m M) azcosmos.ItemResponse {
	res, err := c.CreateItem(c.t.ctx, key(m["pk"]), raw(m), content)
	c.t.must(err)
	c.t.equal(res.RawResponse.StatusCode, 201)
	return res
}

// read returns a document as it was stored.
func (c C) read(pk any, id string) M {
	res, err := c.ReadItem(c.t.ctx, key(pk), id, nil)
	c.t.must(err)
	return c.t.doc(res.Value)
}

// gone ends the scenario if the document is there.
func (c C) gone(pk any, id string) {
	_, err := c.ReadItem(c.t.ctx, key(pk), id, nil)
	c.t.fails(err, 404)
}

// query drains a query and returns its pages.
func (c C) pages(text string, pk azcosmos.PartitionKey, o *azcosmos.QueryOptions) (pages [][][]byte) {
	for p := c.NewQueryItemsPager(text, pk, o); p.More(); {
		page, err := p.NextPage(c.t.ctx)
		c.t.must(err)
		pages = append(pages, page.Items)
	}
	return pages
}

// rows drains a query and returns its rows as values.
func (c C) rows(text string, pk azcosmos.PartitionKey, o *azcosmos.QueryOptions) L {
	rows := L{}
	for _, r := range slices.Concat(c.pages(text, pk, o)...) {
		var v any
		c.t.must(json.Unmarshal(r, &v))
		rows = append(rows, v)
	}
	return rows
}

// refused is the error of a query's first page.
func (c C) refused(text string, pk azcosmos.PartitionKey) error {
	_, err := c.NewQueryItemsPager(text, pk, nil).NextPage(c.t.ctx)
	return err
}

// names are the ids of documents.
func (t *T) names(docs [][]byte) []string {
	ids := []string{}
	for _, d := range docs {
		id, _ := t.full(d)["id"].(string)
		ids = append(ids, id)
	}
	return ids
}

// same wants these ids in any order, each once.
func (t *T) same(got, want []string) {
	t.equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

// ids are the ids of all documents that a query finds.
func (c C) ids(where string, pk azcosmos.PartitionKey) []string {
	return c.t.names(slices.Concat(c.pages("SELECT * FROM c"+where, pk, nil)...))
}

// fails wants an answer with one of these statuses, and returns what it says.
func (t *T) fails(err error, statuses ...int) string {
	var r *azcore.ResponseError
	if !errors.As(err, &r) || !slices.Contains(statuses, r.StatusCode) {
		t.fatalf("not refused with %v: %v", statuses, err)
	}
	return err.Error()
}

// twentieth is one of the twenty.
func twentieth(i int) M {
	return M{
		"id": fmt.Sprintf("i%02d", i), "pk": fmt.Sprintf("p%d", i%5), "n": i, "g": fmt.Sprintf("g%d", i%3),
		"tags": L{fmt.Sprintf("t%d", i%4), "all"}, "o": M{"x": i},
	}
}

// everything are the ids of the twenty.
func everything() (ids []string) {
	for i := range 20 {
		ids = append(ids, twentieth(i)["id"].(string))
	}
	return ids
}

// twenty creates a container with the twenty.
func (t *T) twenty(p azcosmos.ContainerProperties) C {
	c := t.container(p)
	for i := range 20 {
		c.create(twentieth(i))
	}
	return c
}

func ptr[T any](v T) *T { return &v }

// unescaped spells JSON without escapes for <, > and &.
func unescaped(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}
