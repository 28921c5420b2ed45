package mayflytest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/mayflytest"
)

// order creates the document of an order, and retries until the response is 201 or 409, which both mean
// that the order is stored. It returns the number of requests.
func order(t *testing.T, m *mayflytest.Mayfly, id string) (tries int) {
	t.Helper()
	for {
		r, err := http.NewRequest("POST", m.URL()+"/dbs/app/colls/orders/docs",
			strings.NewReader(`{"id": "`+id+`", "user": "ada"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("x-ms-documentdb-partitionkey", `["ada"]`)
		tries++
		res, err := m.HTTPClient().Do(r)
		if err != nil {
			continue // nobody knows whether it is there
		}
		res.Body.Close()
		if res.StatusCode == http.StatusCreated || res.StatusCode == http.StatusConflict {
			return tries
		}
	}
}

// TestOrderDespiteFaults checks that a client that retries stores each order, and how many requests it
// needs, while rules throttle requests, drop a connection after the write, or return status 503 for a
// minute.
func TestOrderDespiteFaults(t *testing.T) {
	t.Parallel()
	m := mayflytest.New(t)
	m.Container("app/orders", "/user")
	busy := m.Fail(mayflytest.FaultRule{Fault: mayflytest.Throttled, Count: 2})
	unheard := m.Fail(mayflytest.FaultRule{Fault: mayflytest.Drop, After: true, Count: 1})
	if tries := order(t, m, "1"); tries != 4 || busy.Hits() != 2 || unheard.Hits() != 1 {
		t.Errorf("%d tries, %d and %d hits", tries, busy.Hits(), unheard.Hits())
	}
	if tries := order(t, m, "2"); tries != 1 {
		t.Errorf("%d tries when all is well", tries)
	}

	outage := m.Fail(mayflytest.FaultRule{Fault: mayflytest.Unavailable, For: time.Minute})
	for range 3 {
		res, err := m.HTTPClient().Get(m.URL() + "/dbs/app/colls/orders/docs")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("in the outage: %d", res.StatusCode)
		}
	}
	m.Advance(time.Minute)
	if tries := order(t, m, "3"); tries != 1 || outage.Hits() != 3 {
		t.Errorf("behind the outage: %d tries, %d hits", tries, outage.Hits())
	}
	outage.End()
	if outage.End(); outage.Hits() != 0 {
		t.Error("it has not ended")
	}
}
