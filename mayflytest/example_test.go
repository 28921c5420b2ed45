package mayflytest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/mayflytest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestSessionExpires shows a test of a document with a ttl of half an hour, by the Go API.
func TestSessionExpires(t *testing.T) {
	t.Parallel()
	m := mayflytest.New(t)
	sessions := m.Container("app/sessions", "/user")

	ctx := context.Background()
	ada, err := definition.ParsePartitionKey([]byte(`["ada"]`))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = sessions.Create(ctx, ada, []byte(`{"id": "s1", "user": "ada", "ttl": 1800}`),
		store.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.Advance(30*time.Minute - time.Second)
	if _, _, err := sessions.Read(ctx, ada, "s1", store.ReadOptions{}); err != nil {
		t.Errorf("a second before its end the session is gone: %v", err)
	}
	m.Advance(time.Second)
	if _, _, err := sessions.Read(ctx, ada, "s1", store.ReadOptions{}); fault.ErrorCode(err) != fault.CodeNotFound {
		t.Errorf("at its end the session is still there: %v", err)
	}
}

// TestSessionExpiresOverHTTP shows a test of a document with a ttl of half an hour, by the HTTP protocol
// of Cosmos DB.
func TestSessionExpiresOverHTTP(t *testing.T) {
	t.Parallel()
	m := mayflytest.New(t)
	m.Container("app/sessions", "/user")

	ask := func(method, path, body string) int {
		r, err := http.NewRequest(method, m.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("x-ms-documentdb-partitionkey", `["ada"]`)
		res, err := m.HTTPClient().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if status := ask("POST", "/dbs/app/colls/sessions/docs", `{"id": "s1", "user": "ada", "ttl": 1800}`); status != 201 {
		t.Fatalf("create: %d", status)
	}
	if status := ask("GET", "/dbs/app/colls/sessions/docs/s1", ""); status != 200 {
		t.Errorf("read: %d", status)
	}
	m.WaitExpired("app/sessions", "ada", "s1") // half an hour, in no time
	if status := ask("GET", "/dbs/app/colls/sessions/docs/s1", ""); status != 404 {
		t.Errorf("read after its end: %d", status)
	}
}
