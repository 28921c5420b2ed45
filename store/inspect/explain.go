package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// ItemState is the state of an item.
type ItemState uint8

// The states of an item, in the order in which it goes through them.
const (
	// StateUnknown: there is no such item, and nothing shows whether there was one.
	StateUnknown ItemState = iota
	// StateLive: the item exists and has not expired.
	StateLive
	// StateGhost: it has expired. Reads do not return it, and its id is free, but the reaper has not freed
	// its space yet.
	StateGhost
	// StatePurged: it expired and was purged. Only a container that keeps all versions or a log of expiries
	// can report this, as long as it keeps the entries.
	StatePurged
)

var stateNames = [...]string{"unknown", "live", "ghost", "purged"}

// String returns the name of the state in lower case.
func (s ItemState) String() string { return stateNames[s] }

// TTLSource is the setting or event that determines when an item expires.
type TTLSource uint8

// The settings and events that determine when an item expires.
const (
	// SourceOff: the container's TTL is off, so no item expires, not even one with a ttl of its own.
	SourceOff TTLSource = iota
	// SourceItem: the item's own ttl determines when it expires.
	SourceItem
	// SourceContainer: the container's default time to live determines when the item expires.
	SourceContainer
	// SourceFloor: the item had expired under an earlier default time to live before that default was
	// changed. It stays expired, because expiry is final.
	SourceFloor
	// SourceLease: without its current or a former lease the item would have expired earlier.
	SourceLease
)

var sourceNames = [...]string{"off", "item", "container", "floor", "lease"}

// String returns the name of the source in lower case.
func (s TTLSource) String() string { return sourceNames[s] }

// ItemExpiryExplanation reports when one item expires and why. All moments are seconds since 1970 by the
// container's clock.
type ItemExpiryExplanation struct {
	State ItemState
	Now   int64 // the moment to which the report refers

	// The following fields are zero for an unknown item. A purged item has only Timestamp, and PurgedAt or,
	// from the log of expiries, ExpiresAt.

	Timestamp int64       // _ts: when it was last written
	Own       ttl.Seconds // its own ttl
	// Path is the container's ttlPropertyPath, "" if it has none. Based reports whether the item has a
	// number there. If so, its time to live counts from second Base and not from Timestamp.
	Path  string
	Based bool
	Base  int64
	// TTL is the time to live that applies: seconds, ttl.Never, or ttl.Absent if TTL is off or Source is
	// SourceFloor.
	TTL    ttl.Seconds
	Source TTLSource
	Mortal bool // it expires or has expired at ExpiresAt, unless it is written or a setting changes
	// ExpiresAt is the time at which the item expires or has expired. If Source is SourceFloor (the item had
	// expired under an earlier default), it is the latest time at which that can have happened.
	ExpiresAt  int64
	LeaseUntil int64 // 0 if it has no lease
	PurgedAt   int64 // 0 if unknown

	ended bool // the item had already expired when the container's ttlPropertyPath was changed

	Default          ttl.Seconds // of the container, now
	DefaultChangedAt int64       // when it was last changed, or the container was created
}

// Remaining returns the number of seconds until the item expires; 0 if it has expired or does not expire.
func (e *ItemExpiryExplanation) Remaining() int64 {
	if !e.Mortal {
		return 0
	}
	return max(e.ExpiresAt-e.Now, 0)
}

// Sentence returns the report as an English sentence.
func (e *ItemExpiryExplanation) Sentence() string {
	switch e.State {
	case StateUnknown:
		return "There is no such item, and nothing is left that would tell whether there was one."
	case StatePurged:
		if e.Mortal {
			return "It expired at " + view.ClockText(e.ExpiresAt) + " and is purged."
		}
		return "It expired and was purged at " + view.ClockText(e.PurgedAt) + "."
	}
	return e.outcome() + ": " + e.reason() + "."
}

func (e *ItemExpiryExplanation) outcome() string {
	switch {
	case e.State == StateGhost && e.Source == SourceFloor:
		return "It expired at " + view.ClockText(e.ExpiresAt) + " or before, and is not purged yet"
	case e.State == StateGhost:
		return "It expired at " + view.ClockText(e.ExpiresAt) + ", and is not purged yet"
	case e.Mortal:
		return "It expires in " + secondsText(e.Remaining()) + ", at " + view.ClockText(e.ExpiresAt)
	default:
		return "It does not expire"
	}
}

// since describes the moment from which a time to live counts.
func (e *ItemExpiryExplanation) since() string {
	switch {
	case e.Based:
		return " from the time in '" + e.Path + "', " + view.ClockText(e.Base)
	case e.Path != "":
		return " from its last write at " + view.ClockText(e.Timestamp) + ", since '" + e.Path +
			"' is no number"
	}
	return " from its last write at " + view.ClockText(e.Timestamp)
}

// secondsText formats a number of seconds as a duration. n may exceed what a time.Duration holds.
func secondsText[N ~int32 | ~int64](n N) string {
	if days := int64(n) / secondsPerDay; days > 100_000 {
		return fmt.Sprint(days, "d")
	}
	return ttl.FormatDuration(time.Duration(n) * time.Second)
}

const secondsPerDay = 24 * 60 * 60

func (e *ItemExpiryExplanation) reason() string {
	since := e.since()
	switch e.Source {
	case SourceItem:
		if e.TTL == ttl.Never {
			return "its own ttl is -1"
		}
		return "its own ttl is " + secondsText(e.TTL) + since
	case SourceContainer:
		if e.TTL == ttl.Never {
			return "it has no ttl of its own, and the container's default is -1"
		}
		return "it has no ttl of its own, and the container's default is " + secondsText(e.TTL) + since
	case SourceFloor:
		if e.ended {
			return "it had expired when the container's 'ttlPropertyPath' was changed, and expiry is final"
		}
		return "it had expired when the container's default was changed at " +
			view.ClockText(e.DefaultChangedAt) + " or earlier, and expiry is final"
	case SourceLease:
		if e.State == StateGhost {
			return "a lease suspended its expiry until " + view.ClockText(e.LeaseUntil)
		}
		return "a lease suspends its expiry until " + view.ClockText(e.LeaseUntil)
	}
	if e.Own > 0 {
		return "its own ttl of " + secondsText(e.Own) +
			" has no effect, since the container's time to live is off"
	}
	return "the container's time to live is off"
}

// ExplainLife reports when an existing item of a container expires. The state of the item is StateLive, or
// StateGhost if it has expired but is not purged yet.
func ExplainLife(state *view.ContainerAtTime, h *layout.ItemHeader, body []byte) ItemExpiryExplanation {
	p, l, now := state.Policy, state.Lives.Of(h, body), state.Now
	e := ItemExpiryExplanation{State: StateLive, Now: now, Timestamp: l.TS, Own: l.Own,
		LeaseUntil: l.LeaseUntil,
		Path:       state.Spec.TTLPropertyPath, Default: p.Default, DefaultChangedAt: p.ChangedAt}
	if e.ended = l.Ended; l.Based {
		e.Based, e.Base = true, l.Base
	}
	if p.Expired(l, now) {
		e.State = StateGhost
	}
	switch {
	case p.Default == ttl.Absent:
	case l.Own != ttl.Absent:
		e.Source, e.TTL = SourceItem, l.Own
	default:
		e.Source, e.TTL = SourceContainer, p.Default
	}
	if l.Own == ttl.Never {
		e.Source, e.TTL = SourceItem, ttl.Never // even if the container has a default
	}
	e.ExpiresAt, e.Mortal = p.ExpiresAt(l)
	free := l
	free.LeaseUntil = 0
	at, mortal := p.ExpiresAt(free)
	switch {
	case !mortal:
	case l.LeaseUntil > at:
		e.Source = SourceLease
	case l.Ended || e.TTL <= 0 || at < l.From()+int64(e.TTL): // it would be alive under the current policy
		e.Source, e.TTL = SourceFloor, ttl.Absent
	}
	return e
}

// ItemKey identifies an item of a container by its id and partition key. The item need not exist.
type ItemKey struct {
	ID    string
	EPK   []byte
	PK    []byte // ordered encoding of the full partition key
	Point []byte // its point key
}

// Explain reports whether an item, live or not, exists, and when and why it expires or has expired. lsn is
// that of its last write, or of its purge if that is known.
func Explain(state *view.ContainerAtTime, r engine.Reader,
	p ItemKey) (e ItemExpiryExplanation, lsn uint64, err error) {
	scope := state.RangeOf(p.EPK).Scope
	h, body, err := itemHead(r, scope, p)
	switch {
	case errors.Is(err, engine.ErrNotFound) || err == nil && state.Tombstoned(h, func() []byte { return p.PK }):
		// If the header still exists, the item was deleted with its whole partition key.
		return explainGone(state, r, scope, p)
	case err != nil:
		return ItemExpiryExplanation{}, 0, err
	}
	return ExplainLife(state, &h, body), h.Sequence.LSN(), nil
}

// itemHead reads the header and the document of an item. It fails with engine.ErrNotFound if there is none.
func itemHead(r engine.Reader, scope []byte, p ItemKey) (layout.ItemHeader, []byte, error) {
	v, err := r.Get(p.Point)
	if err != nil {
		return layout.ItemHeader{}, nil, err
	}
	rid, ok := layout.NumberOf(v)
	if !ok {
		return layout.ItemHeader{}, nil, engine.ErrCorrupt
	}
	if v, err = r.Get(layout.AppendScopeKey(nil, scope, layout.FamilyItem, rid)); err != nil {
		return layout.ItemHeader{}, nil, err
	}
	return layout.DecodeItem(v)
}

// explainGone reports what happened to an item that does not exist any more, from the feed of all versions
// or else from the log of expiries.
func explainGone(state *view.ContainerAtTime, r engine.Reader, scope []byte, p ItemKey) (
	e ItemExpiryExplanation, lsn uint64, err error) {
	e = ItemExpiryExplanation{Now: state.Now, Path: state.Spec.TTLPropertyPath, Default: state.Policy.Default,
		DefaultChangedAt: state.Policy.ChangedAt}
	if state.Versions > 0 {
		v, lsn, found, err := LastEntry(r, scope, layout.FamilyVersions, p, 0)
		if found && v.Kind == layout.Expired {
			e.State, e.Timestamp, e.PurgedAt = StatePurged, v.Previous.TS, v.TS
		}
		return e, lsn, err
	}
	if state.Expiries > 0 {
		v, _, found, err := LastEntry(r, scope, layout.FamilyExpired, p, 0)
		if found {
			e.State, e.Timestamp, e.Mortal, e.ExpiresAt = StatePurged, v.Previous.TS, true, v.At
		}
		return e, 0, err
	}
	return e, 0, nil
}

// maxEntries is the maximum number of entries of a feed or a log that are read to find the last one of an
// item.
const maxEntries = 100_000

// LastEntry returns the last entry of an item after an LSN, in the feed of all versions or in the log of
// expiries: only its kind and its times.
func LastEntry(r engine.Reader, scope []byte, family byte, p ItemKey, after uint64) (
	last layout.ExpiryLogEntry, lsn uint64, found bool, err error) {
	rg := layout.ScopeFamily(scope, family)
	rg.Start = layout.Behind(scope, family, layout.LastOf(min(after, engine.MaxLSN))).Start
	it := r.Scan(rg, true)
	for n := 0; n < maxEntries && err == nil && !found && it.Next(); n++ {
		var e layout.ExpiryLogEntry
		if family == layout.FamilyExpired {
			e, err = layout.DecodeExpiry(it.Value())
		} else {
			e.AllVersionsFeedEntry, err = layout.DecodeVersion(it.Value())
		}
		if err != nil || e.Kind == layout.Floor || !bytes.Equal(e.PK, p.PK) {
			continue
		}
		id := e.ID
		if len(e.Body) > 0 {
			id = jsondoc.Get(e.Body, layout.IDPath).Str()
		}
		if found = id == p.ID; found {
			lsn = e.Last.LSN()
			last = layout.ExpiryLogEntry{At: e.At, AllVersionsFeedEntry: layout.AllVersionsFeedEntry{
				Kind: e.Kind, TS: e.TS, Previous: layout.PreviousImage{TS: e.Previous.TS},
			}}
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return last, lsn, found, err
}
