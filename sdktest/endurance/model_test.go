//go:build long

package endurance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// possibleDocumentState is a possible state of a document: absent if value is 0, or else written with this
// value at a time between from and to (seconds since 1970), with a ttl in seconds (-1: never expires).
type possibleDocumentState struct {
	value    int // 0: absent
	from, to int64
	ttl      int
}

// may reports whether a read between the times begun and ended may find the document (present), and
// whether it may find none (absent). It tolerates a second, because the server counts in whole seconds.
func (s possibleDocumentState) may(begun, ended int64) (present, absent bool) {
	switch {
	case s.value == 0:
		return false, true
	case s.ttl < 0:
		return true, false
	}
	life := int64(s.ttl)
	return begun < s.to+life+1, ended >= s.from+life-1
}

// modelDocument is the model of a document, kept by its only writer: the last acknowledged state, and the
// state after a write whose result is unknown.
type modelDocument struct {
	id      string
	acked   possibleDocumentState
	pending *possibleDocumentState // what a write would have made of it whose answer never came or was a failure
}

// maxDocuments is the number of different documents of a writer. The writer overwrites old documents, so
// that the data does not grow.
const maxDocuments = 300

// documentWriter writes and reads the documents of one partition key, which no other writer uses, and
// compares the responses with its model.
type documentWriter struct {
	name   string
	c      *client
	rng    *rand.Rand
	docs   []*modelDocument
	value  int
	counts map[string]int
	wrong  deviations
}

const items = "dbs/d/colls/c/docs"

func (w *documentWriter) key() []string {
	return []string{"x-ms-documentdb-partitionkey", `["` + w.name + `"]`}
}

func (w *documentWriter) fault(format string, args ...any) {
	w.wrong.add(w.name, format, args...)
}

func now() int64 { return time.Now().Unix() }

// step performs one random operation. It returns an error if no response arrives.
func (w *documentWriter) step(ctx context.Context) error {
	var d *modelDocument
	if len(w.docs) < maxDocuments && w.rng.IntN(3) == 0 {
		d = &modelDocument{id: strconv.Itoa(len(w.docs))}
		w.docs = append(w.docs, d)
	} else if len(w.docs) > 0 {
		d = w.docs[w.rng.IntN(len(w.docs))]
	} else {
		return nil
	}
	if d.pending != nil {
		return w.read(ctx, d)
	}
	switch kind := w.rng.IntN(20); {
	case kind < 8:
		return w.read(ctx, d)
	case kind < 15:
		return w.upsert(ctx, d)
	case kind < 17:
		return w.patch(ctx, d)
	case kind < 19:
		return w.delete(ctx, d)
	}
	return w.count(ctx)
}

// failed reports whether a response has the status of an injected fault or of an overloaded server. It is
// then unknown whether the operation was performed.
func failed(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGone, 449:
		return true
	}
	return false
}

// change sends a request that writes the document d, and updates the model: to the state next if the write
// succeeds. If its result is unknown, next is a pending state. what names the operation in counts and
// errors.
func (w *documentWriter) change(ctx context.Context, d *modelDocument, next possibleDocumentState, what,
	method, path,
	body string, headers ...string) error {
	next.from = now()
	d.pending = &next
	a, err := w.c.do(ctx, method, path, body, append(headers, w.key()...)...)
	next.to = now()
	if err != nil {
		return err
	}
	w.counts[what]++
	switch {
	case failed(a.status):
		w.counts["failed"]++
		return nil
	case a.status == http.StatusNotFound && what != "upsert":
		if _, absent := d.acked.may(next.from, next.to); !absent {
			w.fault("%s of %s: 404, but it is %+v", what, d.id, d.acked)
		}
		d.acked, d.pending = possibleDocumentState{}, nil
		return nil
	case a.status >= 300:
		w.fault("%s of %s: %d %.200s", what, d.id, a.status, a.body)
		return nil
	}
	if next.value != 0 {
		var stored struct {
			TS    int64 `json:"_ts"`
			Value int   `json:"value"`
		}
		if err := json.Unmarshal(a.body, &stored); err != nil || stored.Value != next.value {
			w.fault("%s of %s is answered with %.200s", what, d.id, a.body)
		}
		next.from, next.to = stored.TS, stored.TS
	}
	d.acked, d.pending = next, nil
	return nil
}

func (w *documentWriter) upsert(ctx context.Context, d *modelDocument) error {
	w.value++
	next := possibleDocumentState{value: w.value, ttl: []int{-1, 2, 5, 20, 3600}[w.rng.IntN(5)]}
	body := fmt.Sprintf(`{"id":%q,"pk":%q,"value":%d,"ttl":%d,"tags":["a%d","b"],"filler":"%0400d"}`, d.id, w.name, next.value,
		next.ttl, next.value%17, next.value)
	return w.change(ctx, d, next, "upsert", "POST", items, body, "x-ms-documentdb-is-upsert", "True")
}

func (w *documentWriter) patch(ctx context.Context, d *modelDocument) error {
	w.value++
	next := possibleDocumentState{value: w.value, ttl: d.acked.ttl}
	if d.acked.value == 0 {
		return w.read(ctx, d)
	}
	body := fmt.Sprintf(`{"operations":[{"op":"set","path":"/value","value":%d}]}`, next.value)
	return w.change(ctx, d, next, "patch", "PATCH", items+"/"+d.id, body)
}

func (w *documentWriter) delete(ctx context.Context, d *modelDocument) error {
	return w.change(ctx, d, possibleDocumentState{}, "delete", "DELETE", items+"/"+d.id, "")
}

// read reads a document and records an error if its model does not allow the result. The result also
// decides whether a write with an unknown result was performed.
func (w *documentWriter) read(ctx context.Context, d *modelDocument) error {
	begun := now()
	a, err := w.c.do(ctx, "GET", items+"/"+d.id, "", w.key()...)
	ended := now()
	if err != nil {
		return err
	}
	w.counts["read"]++
	if failed(a.status) {
		w.counts["failed"]++
		return nil
	}
	if a.status != http.StatusOK && a.status != http.StatusNotFound {
		w.fault("read of %s: %d %.200s", d.id, a.status, a.body)
		return nil
	}
	var got struct {
		Value int   `json:"value"`
		TS    int64 `json:"_ts"`
	}
	if a.status == http.StatusOK {
		if err := json.Unmarshal(a.body, &got); err != nil {
			w.fault("read of %s: %v", d.id, err)
			return nil
		}
	}
	may := []possibleDocumentState{d.acked}
	if d.pending != nil {
		if d.pending.to == 0 {
			d.pending.to = ended
		}
		may = append(may, *d.pending)
	}
	for _, s := range may {
		present, absent := s.may(begun, ended)
		if got.Value == 0 && absent || got.Value != 0 && present && got.Value == s.value {
			d.pending = nil
			if d.acked = s; got.Value == 0 {
				d.acked = possibleDocumentState{}
			} else {
				d.acked.from, d.acked.to = got.TS, got.TS
			}
			return nil
		}
	}
	w.fault("read of %s at %d to %d: value %d, but it is %+v or %+v", d.id, begun, ended, got.Value, d.acked, d.pending)
	d.acked, d.pending = possibleDocumentState{}, nil
	return nil
}

// count counts the writer's documents by a query, and records an error if the model does not allow the
// number.
func (w *documentWriter) count(ctx context.Context) error {
	begun := now()
	a, err := w.c.do(ctx, "POST", items, `{"query":"SELECT VALUE COUNT(1) FROM c WHERE c[\"value\"] > 0"}`,
		append(w.key(), "x-ms-documentdb-isquery", "true", "Content-Type", "application/query+json")...)
	ended := now()
	if err != nil {
		return err
	}
	w.counts["query"]++
	if failed(a.status) {
		w.counts["failed"]++
		return nil
	}
	least, most := 0, 0
	for _, d := range w.docs {
		present, absent := d.acked.may(begun, ended)
		if d.pending != nil {
			p, n := d.pending.may(begun, ended)
			present, absent = present || p, absent || n
		}
		if present {
			most++
		}
		if !absent {
			least++
		}
	}
	var got struct{ Documents []int }
	if err := json.Unmarshal(a.body, &got); err != nil || len(got.Documents) != 1 || got.Documents[0] < least || got.Documents[0] > most {
		w.fault("a query counts %.100s, there are %d to %d", a.body, least, most)
	}
	return nil
}
