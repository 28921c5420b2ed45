package ttl

import (
	"bytes"
	"encoding/json"
	"math"
)

// A Lifetime holds the values that decide when an item expires. All times are whole seconds since 1970 of the
// server's clock. A write sets TS, Own and Generation together. Taking, renewing or ending a lease sets
// only LeaseUntil.
type Lifetime struct {
	TS         int64   // _ts: the second of the last write, or the time that an import set
	Own        Seconds // the item's own ttl; a value that ParseItem never returns counts as Absent
	Generation uint32  // Policy.Generation at that write
	LeaseUntil int64   // a lease is held before this second; 0: no lease

	Base int64
	// Based means that the item's time to live counts from second Base and not from TS.
	Based bool
	// Ended means that the item had already expired, in second Base, when its container began to count
	// times to live from another property: see PropertyPathPeriod. Only a lease can keep such an item live.
	Ended bool
}

// From returns the second from which the item's time to live counts.
func (l *Lifetime) From() int64 {
	if l.Based {
		return l.Base
	}
	return l.TS
}

// A Policy is a container's default time to live, with a record of earlier ones. The zero Policy is the
// first policy of a container without TTL; Policy{Default: n} is the first one of a container with TTL.
// With returns later ones. A Policy is immutable and may be read by any number of goroutines.
type Policy struct {
	Default    Seconds
	Generation uint32 // 0 for the first policy, one more with each change of the default
	ChangedAt  int64  // the second of the last change; 0 for the first policy
	// BasedAt is the second of the last change of the property from which times to live count; 0: never
	// changed.
	BasedAt int64

	inherit  stayExpiredCutoffs // compared with Lifetime.From, for items without a ttl of their own
	override stayExpiredCutoffs // compared with Lifetime.From + ttl, for items with one
}

// Expired reports whether the item is expired at second now, which must not be before p.ChangedAt.
//
// An item with a lease is not expired until the lease ends. Then the rule applies as if the lease had
// never existed, also to the past: an item whose deadline passed during the lease is expired when the
// lease ends, even if TTL was switched off in between. A lease postpones expiry but does not prevent it.
func (p *Policy) Expired(l Lifetime, now int64) bool {
	if now < l.LeaseUntil {
		return false
	}
	// Subtracting from the clock's time cannot overflow; adding to a time that may be imported could.
	from := l.From()
	switch {
	case l.Ended:
		return true
	case l.Own > 0:
		return p.Default != Absent && from <= now-int64(l.Own) || p.override.expires(l.Generation, from,
			l.Own)
	case l.Own == Never:
		return false
	default:
		return p.Default > 0 && from <= now-int64(p.Default) || p.inherit.expires(l.Generation, from, 0)
	}
}

// With returns the policy after a change of the default to next in second now. The old default still
// applies in that second: items that it expires stay expired. A change to the same default changes
// nothing, not even the generation. A now before p.ChangedAt counts as p.ChangedAt, because items that
// have expired by then must stay expired too.
func (p *Policy) With(next Seconds, now int64) Policy {
	if next == p.Default {
		return *p
	}
	q := *p
	q.Default = next
	q.Generation++
	q.ChangedAt = max(now, p.ChangedAt)
	if p.Default > 0 {
		q.inherit = p.inherit.raise(stayExpiredCutoff{q.Generation, q.ChangedAt - int64(p.Default)})
	}
	if next == Absent {
		q.override = p.override.raise(stayExpiredCutoff{q.Generation, q.ChangedAt})
	}
	return q
}

// ExpiresAt returns the second from which on the item is expired if nothing changes. ok is false if it never
// expires. For every now that is not before p.ChangedAt, Expired(l, now) equals ok && at <= now.
//
// If an item expired under an earlier policy, its exact time is not known any more, only that it is not after
// p.ChangedAt, the second of the last change of the policy. Then at is the deadline by the current policy if
// that is before p.ChangedAt, and p.ChangedAt otherwise. An item whose base is so early that it was never
// live has expired in the second of its write. An item that expired by a change of the base expired in the
// second of that change. A lease postpones at to its end.
func (p *Policy) ExpiresAt(l Lifetime) (at int64, ok bool) {
	if l.Ended {
		return max(l.Base, l.LeaseUntil), true
	}
	at = math.MaxInt64
	from := l.From()
	switch {
	case l.Own > 0:
		if p.Default != Absent {
			at = from + int64(l.Own)
		}
		if p.override.expires(l.Generation, from, l.Own) {
			at = min(at, p.ChangedAt)
		}
	case l.Own == Never:
	default:
		if p.Default > 0 {
			at = from + int64(p.Default)
		}
		if p.inherit.expires(l.Generation, from, 0) {
			at = min(at, p.ChangedAt)
		}
	}
	if at == math.MaxInt64 {
		return 0, false
	}
	if l.Based {
		at = max(at, l.TS)
	}
	return max(at, p.BasedAt, l.LeaseUntil), true
}

// IndexEntry returns the position of an item in an expiry index. If own is true, it is in the part for
// items with a ttl of their own, sorted by the second of their deadline. Otherwise it is in the part for
// items that inherit the default, sorted by the second from which the default counts. An item that is Ended
// is in the first part. ok is false for an item that never expires. Seconds below FirstSecond are stored as
// FirstSecond.
func (l *Lifetime) IndexEntry() (own bool, second int64, ok bool) {
	switch {
	case l.Ended:
		return true, max(l.Base, FirstSecond), true
	case l.Own == Never:
		return false, 0, false
	case l.Own > 0:
		return true, max(l.From()+int64(l.Own), FirstSecond), true
	default:
		return false, max(l.From(), FirstSecond), true
	}
}

// FirstSecond is the lowest second in an expiry index.
const FirstSecond = 1

// Cutoffs returns how far an expiry index must be read at second now. An item that inherits the default
// can be expired only if its IndexEntry is at or below inheritTS, an item with a ttl of its own only if
// it is at or below due. A cutoff is math.MinInt64 if no item can be expired. Items at or below the
// cutoffs may still be live, because of their generation or of a lease: Expired decides.
func (p *Policy) Cutoffs(now int64) (inheritTS, due int64) {
	inheritTS, due = math.MinInt64, math.MinInt64
	if len(p.inherit) > 0 {
		inheritTS = p.inherit[0].At
	}
	if p.Default > 0 {
		inheritTS = max(inheritTS, now-int64(p.Default), FirstSecond)
	}
	if len(p.override) > 0 {
		due = p.override[0].At
	}
	if p.Default != Absent {
		due = max(due, now, FirstSecond)
	}
	if p.BasedAt > 0 {
		due = max(due, p.BasedAt)
	}
	return inheritTS, due
}

// Active reports whether any item of the container can be expired or become expired: TTL is on, or has
// been on.
func (p *Policy) Active() bool {
	return p.Default != Absent || len(p.inherit) > 0 || len(p.override) > 0 || p.BasedAt > 0
}

// An InvalidPolicyError is the error for a stored policy that cannot be used.
type InvalidPolicyError struct {
	Reason string
	Err    error // the error of the JSON decoder, or nil
}

func (e *InvalidPolicyError) Error() string {
	if e.Err != nil {
		return "invalid TTL policy: " + e.Reason + ": " + e.Err.Error()
	}
	return "invalid TTL policy: " + e.Reason
}

// Unwrap returns the error of the JSON decoder.
func (e *InvalidPolicyError) Unwrap() error { return e.Err }

// storedPolicy is the JSON form of a Policy. Its names are part of the data format.
type storedPolicy struct {
	Default    *Seconds           `json:"default"`
	Generation uint32             `json:"generation"`
	ChangedAt  int64              `json:"changedAt"`
	BasedAt    int64              `json:"basedAt,omitempty"`
	Inherit    stayExpiredCutoffs `json:"inheritFloors,omitempty"`
	Override   stayExpiredCutoffs `json:"overrideFloors,omitempty"`
}

// MarshalJSON writes the policy in its stored form.
func (p Policy) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedPolicy{&p.Default, p.Generation, p.ChangedAt, p.BasedAt, p.inherit, p.override})
}

// UnmarshalJSON decodes the stored form. It returns an *InvalidPolicyError for a policy without a default,
// for one that With cannot have returned, and for one with an unknown field, because ignoring a part of a
// policy could revive expired items.
func (p *Policy) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var s storedPolicy
	if err := d.Decode(&s); err != nil {
		return &InvalidPolicyError{"it cannot be decoded", err}
	}
	switch {
	case s.Default == nil:
		return &InvalidPolicyError{Reason: "it has no default"}
	case *s.Default < Never:
		return &InvalidPolicyError{Reason: "its default is below -1"}
	case !s.Inherit.valid(s.Generation) || !s.Override.valid(s.Generation):
		return &InvalidPolicyError{Reason: "its floors are not in order"}
	case s.BasedAt < 0 || s.BasedAt > s.ChangedAt:
		return &InvalidPolicyError{Reason: "it was based anew after its last change"}
	}
	*p = Policy{*s.Default, s.Generation, s.ChangedAt, s.BasedAt, s.Inherit, s.Override}
	return nil
}
