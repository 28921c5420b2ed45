package laboratory

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

// ItemExpiry describes when and why an item expires.
type ItemExpiry struct {
	State string `json:"state" enum:"live,ghost,purged,unknown" description:"ghost: expired, not yet purged."`

	Source string `json:"source,omitempty" enum:"item,container,floor,lease,off" description:"What decides: item ttl, container default, earlier default (floor), lease, TTL off."`

	TTL *int64 `json:"ttl,omitempty" description:"Effective time to live in seconds; -1: forever; 0: none."`

	ExpiresAt string `json:"expiresAt,omitempty" format:"date-time"`

	ExpiresIn int64 `json:"expiresIn,omitempty" description:"Seconds until the expiry; absent: none ahead."`
	Expires   int64 `json:"expiresAtSeconds,omitempty" description:"Time of expiry, in seconds since 1970."`

	Timestamp int64 `json:"_ts,omitempty" description:"Last write, in seconds since 1970."`

	Base *int64 `json:"ttlBase,omitempty" description:"Start of the ttl, in seconds since 1970, if not _ts."`

	OwnTTL     int64            `json:"itemTtl,omitempty" description:"Own ttl in seconds; absent: none."`
	LeaseUntil string           `json:"leaseUntil,omitempty" format:"date-time"`
	PurgedAt   string           `json:"purgedAt,omitempty" format:"date-time"`
	Policy     DefaultTTLPolicy `json:"policy"`
	Now        string           `json:"now" format:"date-time" description:"Time of the container's clock."`
	Explain    string           `json:"explain" description:"The reason, as an English sentence."`
}

// DefaultTTLPolicy is the container's default time to live.
type DefaultTTLPolicy struct {
	DefaultTTL *int64 `json:"defaultTtl" description:"Seconds; -1: on, without a default; null: TTL is off."`
	Path       string `json:"ttlPropertyPath,omitempty" description:"Path of the time where a ttl begins."`
	Since      string `json:"since" format:"date-time" description:"Time of the last change of the default."`
}

func itemExpiry(e inspect.ItemExpiryExplanation) ItemExpiry {
	out := ItemExpiry{State: e.State.String(), Timestamp: e.Timestamp, OwnTTL: int64(e.Own),
		Now: second(e.Now), Explain: e.Sentence(),
		Policy: DefaultTTLPolicy{defaultTTL(e.Default), e.Path, second(e.DefaultChangedAt)}}
	if e.Based {
		out.Base = &e.Base
	}
	if e.State == inspect.StateLive || e.State == inspect.StateGhost {
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
	return out
}

// defaultTTL returns the default time to live of a container in the form of JSON; nil if time to live is
// off.
func defaultTTL(s ttl.Seconds) *int64 {
	if s == ttl.Absent {
		return nil
	}
	n := int64(s)
	return &n
}

type explainItemRequest struct {
	ContainerPath
	ItemKeyFields
	_ struct{} `additionalProperties:"false"`
}

// explainItem explains an item's expiry. It fails with 404 for an unknown item.
func (l *Laboratory) explainItem(ctx context.Context, in *explainItemRequest) (ItemExpiry, error) {
	e, err := in.container.ExplainItem(ctx, in.PartitionKey.PartitionKey, in.ID)
	if err != nil {
		return ItemExpiry{}, err
	}
	if e.State == inspect.StateUnknown {
		return ItemExpiry{}, route.NotFound(e.Sentence())
	}
	return itemExpiry(e), nil
}

// ResponseMemoryReserver is embedded in the request structs of routes whose response may be large. Their
// handlers reserve memory with take before they build the response. Otherwise many clients that do not read
// could fill the memory with responses.
type ResponseMemoryReserver struct{ take func() error }

// Find implements route.RequestPartDecoder: it sets take, by which the handler reserves memory. It reserves
// none itself.
func (r *ResponseMemoryReserver) Find(l *Laboratory, ec echo.Context) error {
	r.take = func() error { return l.opt.Wire.Reserve(ec) }
	return nil
}

// WaitTimeLimiter is embedded in the request structs of routes whose handlers may wait for long. Its method
// wait limits the wait.
type WaitTimeLimiter struct {
	l      *Laboratory
	limits *http.ResponseController
}

// Find stores the controller of the request's connection. A handler that waits then calls the method wait,
// which removes the connection's deadlines. Find implements route.RequestPartDecoder.
func (p *WaitTimeLimiter) Find(l *Laboratory, ec echo.Context) error {
	p.l, p.limits = l, http.NewResponseController(ec.Response())
	return nil
}

// wait returns a context for a request that waits. It ends after the real time d, or when the server shuts
// down. The deadlines of the connection are removed for this request. The caller must call end.
func (p *WaitTimeLimiter) wait(ctx context.Context, d time.Duration) (patient context.Context, end func()) {
	// This fails only on the connection of a test, which has no deadlines.
	_ = p.limits.SetReadDeadline(time.Time{})
	_ = p.limits.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	fires, stop := p.l.opt.Wall.After(d)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-fires:
		case <-p.l.opt.Draining:
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

// draining reports whether the server is shutting down.
func (l *Laboratory) draining() bool {
	select {
	case <-l.opt.Draining:
		return true
	default:
		return false
	}
}

var waits = map[string]store.ContainerWaitCondition{
	"expired": store.WaitExpired, "purged": store.WaitPurged, "feed": store.WaitFeed,
	"quiet": store.WaitQuiet,
}

// waitForItemRequest is the body of a request that waits until an item has expired, is purged or appears in
// the change feed, or until the container has nothing to purge (quiet).
type waitForItemRequest struct {
	ContainerPath
	Until        string       `json:"until" enum:"expired,purged,feed,quiet"`
	ID           *string      `json:"id,omitempty" description:"Required unless 'until' is quiet."`
	PartitionKey partitionKey `json:"partitionKey,omitempty"`
	After        int64        `json:"after,omitempty" minimum:"0" maximum:"9007199254740992" description:"With 'feed': an LSN that the change must exceed."`
	Timeout      int64        `json:"timeout,omitempty" minimum:"1" maximum:"600" default:"30" description:"Seconds to wait at most."`
	WaitTimeLimiter
	_ struct{} `additionalProperties:"false"`
}

// WaitForItemResult is the response to a request that waits until an item has expired, was purged or has
// changed, or until a container has nothing to purge: the condition that has become true, and the item's
// state at that time.
type WaitForItemResult struct {
	Until string      `json:"until" enum:"expired,purged,feed,quiet"`
	Item  *ItemExpiry `json:"item,omitempty"` // not for "quiet"
	LSN   uint64      `json:"lsn,omitempty" description:"With feed: the LSN of the change."`

	Kind string `json:"operationType,omitempty" description:"Kind of the change, in a feed of all versions."`

	Now string `json:"now" format:"date-time"`
}

// wait responds when the requested condition holds, or with 408 after in.Timeout seconds of real time.
func (l *Laboratory) wait(ctx context.Context, in *waitForItemRequest) (WaitForItemResult, error) {
	what, known := waits[in.Until]
	switch {
	case !known:
		return WaitForItemResult{},
			route.BadRequest("'until' must be 'expired', 'purged', 'feed' or 'quiet'.")
	case what != store.WaitQuiet && in.ID == nil:
		return WaitForItemResult{}, route.BadRequest("The body must have an 'id'.")
	}
	req := store.ItemConditionWaitRequest{For: what, After: uint64(in.After)}
	if what != store.WaitQuiet {
		req.Key = store.ItemKey{Partition: in.PartitionKey.PartitionKey, ID: *in.ID}
	}
	timeout := time.Duration(in.Timeout) * time.Second
	patient, end := in.WaitTimeLimiter.wait(ctx, timeout)
	defer end()
	out, err := in.container.Wait(patient, req)
	switch {
	case err == nil:
	case l.draining():
		return WaitForItemResult{}, route.Unavailable("The server is shutting down.")
	case fault.ErrorCode(err) == fault.CodeCanceled:
		text := "The condition was not met within " + timeout.String() + "."
		if what != store.WaitQuiet {
			text += " " + out.Expiry.Sentence()
		}
		return WaitForItemResult{}, &route.Error{Status: http.StatusRequestTimeout, Message: text}
	default:
		return WaitForItemResult{}, err
	}
	answer := WaitForItemResult{Until: in.Until, LSN: out.LSN, Now: second(out.Expiry.Now)}
	if what != store.WaitQuiet {
		e := itemExpiry(out.Expiry)
		answer.Item = &e
	}
	if what == store.WaitFeed && out.Change != store.ChangeLatest {
		answer.Kind = out.Change.String()
	}
	return answer, nil
}
