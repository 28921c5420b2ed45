package ttl

import (
	"bytes"
	"encoding/json"
	"math"
)

// A Life is what decides an item's expiry. All times are whole seconds since 1970 of the server's clock. A
// write sets TS, Own and Generation together; taking, renewing or ending a lease sets LeaseUntil alone.
type Life struct {
	TS         int64   // _ts: when the item was last written, or the time an import gave it
	Own        Seconds // the item's own ttl; a value that no ParseItem returns counts as Absent
	Generation uint32  // Policy.Generation at that write
	LeaseUntil int64   // a lease is held before this second; 0 is no lease

	Base int64
	// Based says that the item's time to live counts from second Base, and not from TS.
	Based bool
	// Ended says that the item had expired, in second Base, when its container began to count times to live
	// from something else: see Era. Nothing but a lease counts for it any more.
	Ended bool
}

// From returns the second from which the item's time to live counts.
func (l *Life) From() int64 {
	if l.Based {
		return l.Base
	}
	return l.TS
}

// A Policy is a container's default time to live with what must be remembered of earlier ones. The zero
// Policy is the first of a container without TTL; Policy{Default: n} is the first of one with it. Later ones
// come from With. Policies are values: none is changed after it was made, and any number of goroutines may
// read one.
type Policy struct {
	Default    Seconds
	Generation uint32 // 0 for the first policy, one more with each change of the default
	ChangedAt  int64  // the second of the last change; 0 for the first policy
	// BasedAt is the second of the last change of what times to live count from; 0 where there was none.
	BasedAt int64

	inherit  floors // compared with Life.From, for items without a ttl of their own
	override floors // compared with Life.From + ttl, for items with one
}

// Expired reports whether the item is expired at second now, which must not lie before p.ChangedAt.
//
// A lease that is held suspends the rule. When it ends the rule applies as if it had not been, and that
// includes the past: an item whose deadline passed during the lease is dead when the lease ends, even if TTL
// was switched off in between. A lease postpones a death, it does not save from it.
func (p *Policy) Expired(l Life, now int64) bool {
	if now < l.LeaseUntil {
		return false
	}
	// Subtracting from a time of ours, not adding to one that may have been imported, cannot overflow.
	from := l.From()
	switch {
	case l.Ended:
		return true
	case l.Own > 0:
		return p.Default != Absent && from <= now-int64(l.Own) || p.override.kills(l.Generation, from, l.Own)
	case l.Own == Never:
		return false
	default:
		return p.Default > 0 && from <= now-int64(p.Default) || p.inherit.kills(l.Generation, from, 0)
	}
}

// With returns the policy after the default has been changed to next in second now. The old default still
// decides in that second: what it calls expired stays expired. Changing to the same default changes nothing,
// not even the generation. A now before p.ChangedAt counts as p.ChangedAt, since what has died by then must
// not come back either.
func (p *Policy) With(next Seconds, now int64) Policy {
	if next == p.Default {
		return *p
	}
	q := *p
	q.Default = next
	q.Generation++
	q.ChangedAt = max(now, p.ChangedAt)
	if p.Default > 0 {
		q.inherit = p.inherit.raise(floor{q.Generation, q.ChangedAt - int64(p.Default)})
	}
	if next == Absent {
		q.override = p.override.raise(floor{q.Generation, q.ChangedAt})
	}
	return q
}

// ExpiresAt returns the second from which on the item is expired if nothing changes, or false where it never
// will be. For every now that is not before p.ChangedAt, Expired(l, now) is the same as ok && at <= now.
//
// For an item that an earlier policy ended, at is the deadline by the policy in force or, where that has none
// or a later one, p.ChangedAt: it died then at the latest, and floors do not tell how much earlier. An item
// whose base lies so far back that it was never alive died in the second of its write, and one that a new
// base ended in the second of that change. A lease puts at off to its end.
func (p *Policy) ExpiresAt(l Life) (at int64, ok bool) {
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
		if p.override.kills(l.Generation, from, l.Own) {
			at = min(at, p.ChangedAt)
		}
	case l.Own == Never:
	default:
		if p.Default > 0 {
			at = from + int64(p.Default)
		}
		if p.inherit.kills(l.Generation, from, 0) {
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

// IndexEntry returns where an item stands in an index of expiry: among those that have a ttl of their own, by
// the second in which it ends, or among those that inherit the default, by the second from which that counts.
// ok is false for one that never expires. One that Ended is among the first. Seconds before the first of 1970
// stand at that.
func (l *Life) IndexEntry() (own bool, second int64, ok bool) {
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

// FirstSecond is the lowest second in an index of expiry.
const FirstSecond = 1

// Cutoffs returns how far an index of expiry has to be read at second now: an item that inherits the default
// can be expired only if its IndexEntry is at or below inheritTS, one with a ttl of its own only if it is at
// or below due. Both are math.MinInt64 where none can be. They propose, Expired decides: below them there may
// be items that live, by their generation or by a lease.
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

// Active reports whether anything in the container can be expired or become so: TTL is on, or has been.
func (p *Policy) Active() bool {
	return p.Default != Absent || len(p.inherit) > 0 || len(p.override) > 0 || p.BasedAt > 0
}

// An InvalidPolicyError says why a stored policy cannot be used.
type InvalidPolicyError struct {
	Reason string
	Err    error // what the JSON decoder said, or nil
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
	Default    *Seconds `json:"default"`
	Generation uint32   `json:"generation"`
	ChangedAt  int64    `json:"changedAt"`
	BasedAt    int64    `json:"basedAt,omitempty"`
	Inherit    floors   `json:"inheritFloors,omitempty"`
	Override   floors   `json:"overrideFloors,omitempty"`
}

// MarshalJSON writes the policy in its stored form.
func (p Policy) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedPolicy{&p.Default, p.Generation, p.ChangedAt, p.BasedAt, p.inherit, p.override})
}

// UnmarshalJSON reads the stored form. It refuses a policy without a default, one that With cannot have made
// and one with a field that it does not know: half a policy would bring expired items back. The error is an
// *InvalidPolicyError.
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
