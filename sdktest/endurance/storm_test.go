//go:build long

package endurance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	stormBatches   = 20
	stormBatchSize = 100
	stormItems     = "dbs/d/colls/storm/docs"
	stormKey       = `["storm"]`
)

// massExpiryClient is the only client of the container storm. It repeats a cycle: it fills the container,
// takes a snapshot, lets all documents expire by a change of the default TTL, restores the container from the
// snapshot, and lets them expire again. After each step it compares the number of documents with the number
// that the step must leave.
type massExpiryClient struct {
	c      *client
	cycle  int   // the documents of a cycle have this number as their value
	phase  int   // index in phases
	filled int   // batches of this cycle that the server has acknowledged
	dark   int64 // second since 1970 from which all documents have expired
	wrong  deviations
}

// step sends one request. It returns an error if no response arrives; the next call then repeats the
// request.
func (s *massExpiryClient) step(ctx context.Context) error {
	phases := []func(context.Context) (bool, error){
		s.setDefault(-1), s.fill, s.setDefault(3600), s.expect(stormBatches * stormBatchSize), s.takeSnapshot,
		s.setDefault(1), s.expectExpired, s.setDefault(-1), s.expect(0),
		s.restore, s.expect(stormBatches * stormBatchSize), s.deleteSnapshot,
		s.setDefault(1), s.expectExpired,
	}
	done, err := phases[s.phase](ctx)
	if !done || err != nil {
		return err
	}
	if s.phase++; s.phase == len(phases) {
		s.phase, s.filled = 0, 0
		s.cycle++
	}
	return nil
}

// succeeded reports whether a response has one of the statuses want. It records an error if the response is
// neither that nor an injected fault.
func (s *massExpiryClient) succeeded(what string, a httpResponse, want ...int) bool {
	for _, status := range want {
		if a.status == status {
			return true
		}
	}
	if !failed(a.status) {
		s.fault("%s: %d %.300s", what, a.status, a.body)
	}
	return false
}

func (s *massExpiryClient) fault(format string, args ...any) {
	s.wrong.add(fmt.Sprintf("storm %d, step %d", s.cycle, s.phase), format, args...)
}

// setDefault returns a phase that changes the default TTL of the container to the given seconds.
func (s *massExpiryClient) setDefault(seconds int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		body := fmt.Sprintf(`{"id":"storm","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":%d}`, seconds)
		a, err := s.c.do(ctx, "PUT", "dbs/d/colls/storm", body)
		if err != nil || !s.succeeded("change of the default TTL", a, http.StatusOK) {
			return false, err
		}
		s.dark = now() + int64(seconds) + 1
		return true, nil
	}
}

// fill writes the next batch of documents.
func (s *massExpiryClient) fill(ctx context.Context) (bool, error) {
	var ops []string
	for i := range stormBatchSize {
		ops = append(ops, fmt.Sprintf(`{"operationType":"Upsert","resourceBody":{"id":"%d-%d","pk":"storm","value":%d,"filler":"%0400d"}}`,
			s.filled, i, s.cycle, i))
	}
	a, err := s.c.do(ctx, "POST", stormItems, "["+strings.Join(ops, ",")+"]", "x-ms-documentdb-partitionkey", stormKey,
		"x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True", "Content-Type", "application/json")
	if err != nil || !s.succeeded("batch", a, http.StatusOK) {
		return false, err
	}
	s.filled++
	return s.filled == stormBatches, nil
}

// expect returns a phase that counts the documents of the cycle and records an error unless there are n.
func (s *massExpiryClient) expect(n int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		query := fmt.Sprintf(`{"query":"SELECT VALUE COUNT(1) FROM c WHERE c[\"value\"] = %d"}`, s.cycle)
		a, err := s.c.do(ctx, "POST", stormItems, query, "x-ms-documentdb-partitionkey", stormKey,
			"x-ms-documentdb-isquery", "true", "Content-Type", "application/query+json")
		if err != nil || !s.succeeded("count", a, http.StatusOK) {
			return false, err
		}
		var got struct{ Documents []int }
		if err := json.Unmarshal(a.body, &got); err != nil || len(got.Documents) != 1 || got.Documents[0] != n {
			s.fault("there are %.200s documents, want %d", a.body, n)
		}
		return true, nil
	}
}

// expectExpired waits until all documents have expired, and records an error if a query still finds one.
func (s *massExpiryClient) expectExpired(ctx context.Context) (bool, error) {
	if now() < s.dark {
		pause(ctx, 50*time.Millisecond)
		return false, ctx.Err()
	}
	return s.expect(0)(ctx)
}

func (s *massExpiryClient) snapshotName() string { return fmt.Sprint("storm-", s.cycle) }

func (s *massExpiryClient) takeSnapshot(ctx context.Context) (bool, error) {
	a, err := s.c.do(ctx, "POST", "_mayfly/snapshots", `{"name":"`+s.snapshotName()+`"}`)
	return err == nil && s.succeeded("snapshot", a, http.StatusCreated, http.StatusOK, http.StatusConflict), err
}

// restore restores the container from the snapshot of this cycle. The rest of the server stays unchanged.
func (s *massExpiryClient) restore(ctx context.Context) (bool, error) {
	a, err := s.c.do(ctx, "POST", "_mayfly/snapshots/"+s.snapshotName()+"/restore", `{"database":"d","container":"storm"}`)
	return err == nil && s.succeeded("restore", a, http.StatusOK), err
}

func (s *massExpiryClient) deleteSnapshot(ctx context.Context) (bool, error) {
	a, err := s.c.do(ctx, "DELETE", "_mayfly/snapshots/"+s.snapshotName(), "")
	return err == nil && s.succeeded("delete of a snapshot", a, http.StatusNoContent, http.StatusNotFound), err
}
