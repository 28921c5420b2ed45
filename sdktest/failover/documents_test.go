package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// documentWorkload holds the clients that write documents, what was acknowledged to them, and the
// violations that they have noticed.
type documentWorkload struct {
	writers []*documentWriter
	acks    ackStatistics
	faults  violationList
	unknown atomic.Int64 // operations whose outcome is unknown
	full    atomic.Int64 // operations that were refused because the disk of the database is full
}

// modelDocument is the expected state of a document. n is the value of its property n, which each change
// increases by one; 0 means that it does not exist. open is set if the outcome of the last operation is
// unknown.
type modelDocument struct {
	id      string
	n       int
	etag    azcore.ETag
	unknown int // what n may be instead, if the outcome of the last operation is unknown
	open    bool
}

// documentWriter is a client that creates and changes its own documents, one operation at a time. It does not
// change a document any more if the outcome of an operation on it is unknown.
type documentWriter struct {
	load      *combinedWorkload
	server    *mayflyServer
	number    int
	documents []*modelDocument
}

func (w *documentWriter) name() string { return fmt.Sprintf("w%d", w.number) }

func (w *documentWriter) run() {
	c := w.server.container(w.load.t)
	rng := rand.New(rand.NewPCG(uint64(w.number), 1))
	for w.load.life.Err() == nil {
		d := w.pick(rng)
		ctx, cancel := context.WithTimeout(w.load.life, time.Minute)
		next, etag, err := w.change(ctx, c, d, rng)
		cancel()
		w.note(d, next, etag, err)
	}
}

// pick returns a random one of the writer's documents, whose last operation must have a known outcome, or a
// new document.
func (w *documentWriter) pick(rng *rand.Rand) *modelDocument {
	if len(w.documents) > 0 && rng.IntN(3) > 0 {
		if d := w.documents[rng.IntN(len(w.documents))]; !d.open {
			return d
		}
	}
	d := &modelDocument{id: fmt.Sprintf("%s-%d", w.name(), len(w.documents))}
	w.documents = append(w.documents, d)
	return d
}

// change creates, replaces or increments a document. If the server executes the operation twice, this is
// noticed: a second create finds the document, a second replace another etag, and a second increment
// another number.
func (w *documentWriter) change(ctx context.Context, c *azcosmos.ContainerClient, d *modelDocument,
	rng *rand.Rand) (next int, etag azcore.ETag, err error) {
	pk := azcosmos.NewPartitionKeyString(w.name())
	body := func(n int) []byte {
		return fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":%d,"filler":"%0200d"}`, d.id, w.name(), n, n)
	}
	var r azcosmos.ItemResponse
	next = d.n + 1
	switch {
	case d.n == 0:
		r, err = c.CreateItem(ctx, pk, body(1), nil)
	case rng.IntN(2) == 0:
		r, err = c.ReplaceItem(ctx, pk, d.id, body(next), &azcosmos.ItemOptions{IfMatchEtag: &d.etag})
	default:
		var p azcosmos.PatchOperations
		p.AppendIncrement("/n", 1)
		r, err = c.PatchItem(ctx, pk, d.id, p, &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
		var has struct{ N int }
		if err == nil {
			if err := json.Unmarshal(r.Value, &has); err != nil || has.N != next {
				w.load.documents.faults.add(fmt.Sprintf("%s is %d after an increment of %d: %v", d.id, has.N,
					d.n, err))
			}
		}
	}
	return next, r.ETag, err
}

// note records the outcome of an operation on a document: acknowledged, unknown, refused, or a violation
// if the response is none of those that a failure may cause. next is the document's n if it has succeeded.
func (w *documentWriter) note(d *modelDocument, next int, etag azcore.ETag, err error) {
	var answer *azcore.ResponseError
	switch {
	case err == nil:
		d.n, d.etag = next, etag
		w.load.documents.acks.add()
		return
	case !errors.As(err, &answer), answer.StatusCode == unknownStatus:
		d.open, d.unknown = true, next // the connection has ended, or the server does not know
		w.load.documents.unknown.Add(1)
	case answer.StatusCode == fullStatus:
		w.load.documents.full.Add(1)
	case answer.StatusCode != outageStatus:
		w.load.documents.faults.add(fmt.Sprintf("%s %+v: %v", w.server.URL("http"), *d, err))
	}
	w.load.rest()
}

// checkDocuments compares the documents that each server returns with those that the writers expect, and
// fails the test if acknowledged writes are missing or an operation was executed twice.
func (l *combinedWorkload) checkDocuments() {
	r := &l.result
	for _, w := range l.documents.writers {
		for _, d := range w.documents {
			r.acknowledged += d.n
		}
	}
	r.unknown += int(l.documents.unknown.Load())
	for _, s := range l.servers {
		has := l.list(s)
		happened := 0
		for _, w := range l.documents.writers {
			for _, d := range w.documents {
				n := has[d.id]
				delete(has, d.id)
				switch {
				case n == d.n:
				case d.open && n == d.unknown:
					happened++
				case n < d.n:
					r.lost++
					l.t.Errorf("%s: %s is %d, known is %+v", s.URL("http"), d.id, n, *d)
				default:
					r.twice++
					l.t.Errorf("%s: %s is %d, known is %+v", s.URL("http"), d.id, n, *d)
				}
			}
		}
		for id, n := range has {
			r.wrong++
			l.t.Errorf("%s: nobody wrote %s: %d", s.URL("http"), id, n)
		}
		l.t.Logf("of %d writes with an unknown outcome %d have happened", l.documents.unknown.Load(),
			happened)
	}
}

// list returns the value of n of each document that a server returns, by id.
func (l *combinedWorkload) list(s *mayflyServer) map[string]int {
	c := s.container(l.t)
	has := map[string]int{}
	pages := c.NewQueryItemsPager("SELECT c.id, c.n FROM c", azcosmos.NewPartitionKey(),
		&azcosmos.QueryOptions{PageSizeHint: 1000})
	for pages.More() {
		p, err := pages.NextPage(l.t.Context())
		must(l.t, err)
		for _, raw := range p.Items {
			var d struct {
				ID string
				N  int
			}
			must(l.t, json.Unmarshal(raw, &d))
			has[d.ID] = d.N
		}
	}
	return has
}
