package buscases

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/mayflytest"
)

// documentContainer is a container of documents on a server that is used over HTTP.
type documentContainer struct {
	b *caseFixture
	m *mayflytest.Mayfly
}

const keyed = `"id":"c","partitionKey":{"paths":["/id"],"kind":"Hash","version":2}`

func newDocumentContainer(b *caseFixture, settings string) *documentContainer {
	b.Helper()
	d := &documentContainer{b, mayflytest.New(b.T)}
	d.do(201, "POST", "/dbs", `{"id":"d"}`)
	d.do(201, "POST", "/dbs/d/colls", "{"+keyed+settings+"}")
	return d
}

// do sends a request and fails the test unless the response has the status. Requests about documents get
// the partition key "1".
func (d *documentContainer) do(status int, method, path, body string) {
	d.b.Helper()
	r, err := http.NewRequestWithContext(d.b.ctx, method, d.m.URL()+path, strings.NewReader(body))
	d.b.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("x-ms-version", "2018-12-31")
	if strings.Contains(path, "/docs") {
		r.Header.Set("x-ms-documentdb-partitionkey", `["1"]`)
	}
	res, err := d.m.HTTPClient().Do(r)
	d.b.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	d.b.must(err)
	if res.StatusCode != status {
		d.b.Fatalf("%s %s: %d, not %d: %s", method, path, res.StatusCode, status, text)
	}
}

func (d *documentContainer) set(status int, settings string) {
	d.b.Helper()
	d.do(status, "PUT", "/dbs/d/colls/c", "{"+keyed+settings+"}")
}

func (d *documentContainer) add(status int, more string) {
	d.b.Helper()
	d.do(status, "POST", "/dbs/d/colls/c/docs", `{"id":"1"`+more+`}`)
}

func (d *documentContainer) replace(status int, more string) {
	d.b.Helper()
	d.do(status, "PUT", "/dbs/d/colls/c/docs/1", `{"id":"1"`+more+`}`)
}

// there advances the clock by later, and fails the test unless the document "1" exists then, or does not
// if want is false.
func (d *documentContainer) there(later time.Duration, want bool) {
	d.b.Helper()
	d.m.Advance(later)
	status := map[bool]int{true: 200, false: 404}[want]
	d.do(status, "GET", "/dbs/d/colls/c/docs/1", "")
}

func defaults(n int) string { return fmt.Sprintf(`,"defaultTtl":%d`, n) }
func own(n int) string      { return fmt.Sprintf(`,"ttl":%d`, n) }

// lasts returns the steps of a case: in a container with the given settings, a document with the members
// more must exist for exactly the duration life, or forever if life is 0.
func lasts(settings, more string, life time.Duration) func(b *caseFixture) {
	return func(b *caseFixture) {
		d := newDocumentContainer(b, settings)
		d.add(201, more)
		if life == 0 {
			d.there(10*year, true)
			return
		}
		d.there(life-sec, true)
		d.there(sec, false)
	}
}
