package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

// The laboratory of expiry: what tells when items die and why, ahead of time and afterwards.

// ItemExpiry is the answer of POST explain-item: when an item expires, and why.
type ItemExpiry struct {
	State      string `json:"state"`            // live, ghost (expired, not purged) or purged
	Source     string `json:"source,omitempty"` // item, container, floor (an earlier default), lease, or off; of one that is there
	TTL        *int64 `json:"ttl,omitempty"`    // seconds that apply; -1: never; 0: none does; of one that is there
	ExpiresAt  string `json:"expiresAt,omitempty"`
	ExpiresIn  int64  `json:"expiresIn,omitempty"`        // seconds
	Expires    int64  `json:"expiresAtSeconds,omitempty"` // since 1970
	Timestamp  int64  `json:"_ts,omitempty"`
	OwnTTL     int64  `json:"itemTtl,omitempty"`
	LeaseUntil string `json:"leaseUntil,omitempty"`
	PurgedAt   string `json:"purgedAt,omitempty"`
	Policy     struct {
		DefaultTTL *int64 `json:"defaultTtl"` // null: off
		Since      string `json:"since"`
	} `json:"policy"`
	Now     string `json:"now"`
	Explain string `json:"explain"` // for people
}

func itemExpiry(e store.Expiry) ItemExpiry {
	out := ItemExpiry{State: e.State.String(), Timestamp: e.Timestamp, OwnTTL: int64(e.Own), Now: second(e.Now), Explain: e.Sentence()}
	if e.State == store.StateLive || e.State == store.StateGhost {
		life := int64(e.TTL)
		out.Source, out.TTL = e.Source.String(), &life
	}
	if e.Mortal {
		out.ExpiresAt, out.Expires, out.ExpiresIn = second(e.ExpiresAt), e.ExpiresAt, e.Remaining()
	}
	if e.LeaseUntil > 0 {
		out.LeaseUntil = second(e.LeaseUntil)
	}
	if e.PurgedAt > 0 {
		out.PurgedAt = second(e.PurgedAt)
	}
	out.Policy.DefaultTTL, out.Policy.Since = defaultTTL(e.Default), second(e.DefaultChangedAt)
	return out
}

// defaultTTL is a container's default as JSON has it: null is off.
func defaultTTL(s ttl.Seconds) *int64 {
	if s == ttl.Absent {
		return nil
	}
	n := int64(s)
	return &n
}

func second(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339) }

// setExpiry says in headers when an item expires: only where it does.
func (c *call) setExpiry(e store.Expiry) {
	c.set("x-mayfly-ttl-source", e.Source.String())
	if e.Mortal {
		c.set("x-mayfly-expires-at", second(e.ExpiresAt))
	}
}

// setLint names the rules that a time to live breaks which was written.
func (c *call) setLint(found definition.Lint) {
	if found != 0 {
		c.set("x-mayfly-lint", found.String())
	}
}

// sendJSON answers 200 with a value of this package.
func (c *call) sendJSON(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, body)
}

// laboratoryBody is what the requests of the laboratory may have in their bodies; each takes some of it.
type laboratoryBody struct {
	id           string
	partitionKey definition.PartitionKey
	until        string
	after        uint64
	timeout      time.Duration
	next         ttl.Seconds
	examples     int
	seconds      int
	given        map[string]bool
}

// decodeLaboratory reads a body that may have the members named, and no others.
func decodeLaboratory(body []byte, members ...string) (b laboratoryBody, err error) {
	v, err := decodeObject(body)
	if err != nil {
		return b, err
	}
	b.given = make(map[string]bool, len(members))
	v.Each(func(name string, elem doc.Value) bool {
		if !slices.Contains(members, name) {
			err = badRequest("'" + name + "' is not known here.")
			return false
		}
		b.given[name] = true
		err = b.member(name, elem)
		return err == nil
	})
	return b, err
}

func (b *laboratoryBody) member(name string, v doc.Value) (err error) {
	switch name {
	case "id":
		b.id, err = text(name, v)
	case "until":
		b.until, err = text(name, v)
	case "partitionKey":
		b.partitionKey, err = definition.ParsePartitionKey(v.Raw())
	case "after":
		var n int64
		n, err = whole(name, v, 0, 1<<53)
		b.after = uint64(n)
	case "timeout":
		var n int64
		n, err = whole(name, v, 1, maxWait)
		b.timeout = time.Duration(n) * time.Second
	case "examples":
		var n int64
		n, err = whole(name, v, 0, 1000)
		if b.examples = int(n); n == 0 {
			b.examples = -1
		}
	case "seconds":
		b.seconds, err = decodeLength(v)
	case "defaultTtl":
		if b.next, err = ttl.ParseDefault(v.Raw()); err != nil {
			err = badRequest(err.Error())
		}
	}
	return err
}

func text(name string, v doc.Value) (string, error) {
	if v.Kind() != doc.String {
		return "", badRequest("'" + name + "' must be a string.")
	}
	return v.Str(), nil
}

func whole(name string, v doc.Value, least, most int64) (int64, error) {
	n := v.Num()
	if v.Kind() != doc.Number || n < float64(least) || n > float64(most) || n != float64(int64(n)) {
		return 0, badRequest("'" + name + "' must be a whole number between " + strconv.FormatInt(least, 10) + " and " + strconv.FormatInt(most, 10) + ".")
	}
	return int64(n), nil
}

// item is the key of the item that a body names: an id, and a partition key where it is not the id.
func (b *laboratoryBody) item() (store.Key, error) {
	if !b.given["id"] {
		return store.Key{}, badRequest("The body must have an 'id'.")
	}
	return store.Key{Partition: b.partitionKey, ID: b.id}, nil
}

// explainItem is POST .../explain-item {"id", "partitionKey"}: 404 for an item of which nothing is known.
func (s *Server) explainItem(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	b, err := decodeLaboratory(c.req.Body, "id", "partitionKey")
	if err != nil {
		return err
	}
	key, err := b.item()
	if err != nil {
		return err
	}
	e, err := coll.ExplainItem(c.ctx(), key.Partition, key.ID)
	if err != nil {
		return err
	}
	if e.State == store.StateUnknown {
		return notFound(e.Sentence())
	}
	return c.sendJSON(itemExpiry(e))
}

// maxWait is the longest wait, and defaultWait the usual one, in seconds.
const (
	maxWait     = 600
	defaultWait = 30
)

var waits = map[string]store.WaitFor{
	"expired": store.WaitExpired, "purged": store.WaitPurged, "feed": store.WaitFeed, "quiet": store.WaitQuiet,
}

// WaitAnswer is the answer of POST wait: how things are now that the wait is over.
type WaitAnswer struct {
	Until string      `json:"until"`
	Item  *ItemExpiry `json:"item,omitempty"` // not for "quiet"
	LSN   uint64      `json:"lsn,omitempty"`  // of the change in the feed, for "feed"
	Kind  string      `json:"operationType,omitempty"`
	Now   string      `json:"now"`
}

// wait is POST .../wait {"until": "expired", "id", "partitionKey", "after"?, "timeout"?}: it answers when
// that has come about, or 408 after so many seconds of real time.
func (s *Server) wait(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	req, b, err := decodeWait(c.req.Body)
	if err != nil {
		return err
	}
	ctx, end := s.patience(c, b.timeout)
	defer end()
	out, err := coll.Wait(ctx, req)
	switch {
	case err == nil:
	case s.draining.Err() != nil:
		return wireErr(http.StatusServiceUnavailable, 0, "The server is shutting down.")
	case store.ErrorCode(err) == store.CodeCanceled:
		text := "It has not come about in " + b.timeout.String() + "."
		if req.For != store.WaitQuiet {
			text += " " + out.Expiry.Sentence()
		}
		return wireErr(http.StatusRequestTimeout, 0, text)
	default:
		return err
	}
	answer := WaitAnswer{Until: b.until, LSN: out.LSN, Now: second(out.Expiry.Now)}
	if req.For != store.WaitQuiet {
		e := itemExpiry(out.Expiry)
		answer.Item = &e
	}
	if req.For == store.WaitFeed && out.Change != store.ChangeLatest {
		answer.Kind = out.Change.String()
	}
	return c.sendJSON(answer)
}

func decodeWait(body []byte) (req store.WaitRequest, b laboratoryBody, err error) {
	if b, err = decodeLaboratory(body, "until", "id", "partitionKey", "after", "timeout"); err != nil {
		return req, b, err
	}
	known := false
	if req.For, known = waits[b.until]; !known {
		return req, b, badRequest("'until' must be 'expired', 'purged', 'feed' or 'quiet'.")
	}
	if req.After = b.after; req.For != store.WaitQuiet {
		req.Key, err = b.item()
	}
	if b.timeout == 0 {
		b.timeout = defaultWait * time.Second
	}
	return req, b, err
}

// patience is the context of a request that waits: it ends after so long in real time, or when the server
// shuts down. The connection's own time limits are lifted for this request.
func (s *Server) patience(c *call, d time.Duration) (ctx context.Context, end func()) {
	// A connection that has no limits (a test's) cannot lift them.
	limits := http.NewResponseController(c.w.Writer)
	_ = limits.SetReadDeadline(time.Time{})
	_ = limits.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancel(c.ctx())
	fires, stop := s.opt.Wall.After(d)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-fires:
		case <-s.draining.Done():
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, func() {
		stop()
		cancel()
		<-watched
	}
}
