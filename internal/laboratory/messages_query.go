package laboratory

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/store"
)

// The messages of a queue can be queried as if they were the documents of a container. They cannot be
// written in this way. A document has the members of Message, "body" if the body is JSON, the system
// property "_ts", "ttl" (the message's time to live in seconds), and "_state".

type queryMessagesRequest struct {
	EntityPath
	MessageStoreSelector
	Query      route.RequiredText `json:"query"`
	Parameters sqlQueryParameters `json:"parameters,omitempty"`
	Count      int                `json:"count,omitempty" minimum:"1" maximum:"1000" default:"100" description:"Maximum number of rows on the page."`

	Continuation string `json:"continuation,omitempty" description:"Continuation of the previous page."`

	ResponseMemoryReserver
	_ struct{} `takes:"a query of messages takes %" additionalProperties:"false"`
}

// MessageQueryPage is a page of the result of a query over messages.
type MessageQueryPage struct {
	Rows []json.RawMessage `json:"rows" nullable:"false"`

	Continuation string `json:"continuation,omitempty" description:"Token for the next page; absent: none."`
}

func (l *Laboratory) queryMessages(ctx context.Context, in *queryMessagesRequest) (MessageQueryPage, error) {
	var plan *query.Plan
	var err error
	late := l.db.Large(ctx, len(in.Query)*store.TextWeight, func() {
		plan, err = query.Prepare(string(in.Query), in.Parameters, query.ContainerInfo{Lenient: true})
	})
	if late != nil {
		return MessageQueryPage{}, late
	}
	if err != nil {
		return MessageQueryPage{}, badQuery(err)
	}
	if err := in.ResponseMemoryReserver.take(); err != nil {
		return MessageQueryPage{}, err
	}
	began := l.opt.Wall.Now()
	env := query.NewEnv(in.queues.Now, func() time.Duration { return l.opt.Wall.Now().Sub(began) })
	from := messageQuerySource{ctx, in.queues, in.address(in.entity.Path), &in.entity, in.DeadLetters}
	var page query.Page
	err = l.db.RunQuery(&env, func() (err error) {
		page, err = plan.Run(ctx, []query.DocumentSource{from}, env, query.RunOptions{MaxItems: in.Count,
			Cursor: in.Continuation, Scope: from.at.String()})
		return err
	})
	if err != nil {
		return MessageQueryPage{}, badQuery(err)
	}
	out := MessageQueryPage{make([]json.RawMessage, len(page.Rows)), page.Cursor}
	for i, row := range page.Rows {
		out.Rows[i] = row
	}
	return out, nil
}

// badQuery converts an error of a query to a *route.Error.
func badQuery(err error) error {
	var wrong *query.Error
	var cursor *query.CursorError
	var memory *query.MemoryError
	var match *query.RegexTimeoutError
	var late *query.TimeLimitError
	switch {
	case errors.As(err, &wrong), errors.As(err, &cursor), errors.As(err, &memory),
		errors.As(err, &match):
		return route.BadRequest(err.Error())
	case errors.As(err, &late):
		return &route.Error{Status: http.StatusRequestTimeout, Message: err.Error()}
	}
	return ofQueues(err)
}

// messageQuerySource implements query.DocumentSource over the messages of an entity. It has no index; the rid
// of a message is its sequence number.
type messageQuerySource struct {
	ctx    context.Context
	queues *queue.Queues
	at     entity.Address
	entity *entity.Entity
	dead   bool
}

// Scan implements query.DocumentSource: it iterates over the messages with sequence numbers greater than
// after.
func (s messageQuerySource) Scan(after uint64) query.DocumentIterator {
	return &messageDocumentIterator{s: s, from: int64(after) + 1}
}

// Fetch implements query.DocumentSource: it returns the message with the sequence number rid, or false if
// there is none.
func (s messageQuerySource) Fetch(rid uint64) (query.Document, bool, error) {
	d := &messageDocumentIterator{s: s, from: int64(rid)}
	if !d.Next() || d.Document().RID() != rid {
		return nil, false, d.err
	}
	return d.Document(), true, nil
}

// Partition implements query.DocumentSource. It returns none, since messages have no partition keys here.
func (s messageQuerySource) Partition() (query.PostingIterator, bool) { return nil, false }

// Postings implements query.DocumentSource. It is never called, since nothing is indexed.
func (s messageQuerySource) Postings([]byte) query.PostingIterator {
	return emptyMessageIndexIterator{}
}

// Terms implements query.DocumentSource. It is never called, since nothing is indexed.
func (s messageQuerySource) Terms([]byte, []byte, bool) query.IndexEntryIterator {
	return emptyMessageIndexIterator{}
}

// emptyMessageIndexIterator is a query.PostingIterator and a query.IndexEntryIterator without entries.
type emptyMessageIndexIterator struct{}

func (emptyMessageIndexIterator) Next() bool         { return false }
func (emptyMessageIndexIterator) SeekGE(uint64) bool { return false }
func (emptyMessageIndexIterator) RID() uint64        { return 0 }
func (emptyMessageIndexIterator) Key() []byte        { return nil }
func (emptyMessageIndexIterator) Value() []byte      { return nil }
func (emptyMessageIndexIterator) Close() error       { return nil }

// messageDocumentIterator iterates over messages by sequence number, in batches.
type messageDocumentIterator struct {
	s    messageQuerySource
	from int64
	list []queue.Delivery // the current message and those after it
	one  messageDocument
	err  error
}

// peekedAtOnce is the number of messages that messageDocumentIterator reads at a time.
const peekedAtOnce = 250

// Next implements query.DocumentIterator.
func (d *messageDocumentIterator) Next() bool {
	if len(d.list) > 0 {
		d.list = d.list[1:]
	}
	if len(d.list) == 0 && d.err == nil {
		d.list, d.err = d.s.queues.Peek(d.s.ctx, d.s.at, queue.PeekOptions{From: d.from, Max: peekedAtOnce})
	}
	if d.err != nil || len(d.list) == 0 {
		return false
	}
	d.from = d.list[0].Broker.SequenceNumber + 1
	d.one, d.err = documentOf(messageOf(&d.list[0], d.s.entity, d.s.dead))
	return d.err == nil
}

// Document returns the current message as a document for queries. It implements query.DocumentIterator.
func (d *messageDocumentIterator) Document() query.Document { return d.one }

// Err implements query.DocumentIterator.
func (d *messageDocumentIterator) Err() error { return d.err }

// Close implements query.DocumentIterator: it returns the first error of the iteration.
func (d *messageDocumentIterator) Close() error { return d.err }

// messageDocument is a message in the form of a JSON document, for queries. It implements query.Document.
type messageDocument struct {
	number int64
	body   []byte
	ts     int64
}

// documentOf converts a message to a document. It omits a body or a property that a document cannot contain,
// for instance because it is nested too deeply. The member "text" contains the body in any case.
func documentOf(m Message) (messageDocument, error) {
	whole := struct {
		Message
		Body  json.RawMessage `json:"body,omitempty"`
		TTL   *float64        `json:"ttl,omitempty"`
		State string          `json:"_state"`
	}{Message: m, TTL: m.Life.Effective, State: m.State}
	if fitsDocument([]byte(m.Text), 1) {
		whole.Body = json.RawMessage(m.Text)
	}
	whole.Properties = maps.Clone(m.Properties)
	maps.DeleteFunc(whole.Properties, func(_ string, v json.RawMessage) bool { return !fitsDocument(v, 2) })
	raw, err := json.Marshal(whole)
	if err == nil {
		raw, err = jsondoc.Compact(raw, messageLimits)
	}
	return messageDocument{m.Number, raw, m.Enqueued.Unix()}, err
}

// fitsDocument reports whether a text is JSON that a document may contain at a depth.
func fitsDocument(text []byte, depth int) bool {
	limits := messageLimits
	limits.MaxDepth -= depth
	_, err := jsondoc.Compact(text, limits)
	return err == nil
}

var messageLimits = jsondoc.Limits{MaxBytes: maxMessageDocument, MaxDepth: jsondoc.DefaultMaxDepth}

// maxMessageDocument is the maximum size in bytes of a message in the form of a document.
const maxMessageDocument = 256 << 20

// RID returns the sequence number of the message, which identifies it as a document in a query over messages.
// It implements query.Document.
func (d messageDocument) RID() uint64 { return uint64(d.number) }

// Body implements query.Document: it returns the message as a JSON object.
func (d messageDocument) Body() []byte { return d.body }

// System returns the message's sequence number as its _rid, and its _ts. It implements query.Document.
func (d messageDocument) System() jsondoc.SystemProperties {
	return jsondoc.SystemProperties{RID: strconv.FormatInt(d.number, 10), TS: d.ts}
}
