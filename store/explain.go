package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// ItemState says what has become of an item.
type ItemState uint8

// The states, in the order in which an item goes through them.
const (
	// StateUnknown: there is no such item, and nothing is left that would tell whether there was one.
	StateUnknown ItemState = iota
	// StateLive: readers see it.
	StateLive
	// StateGhost: it has expired. Nobody sees it, and its id is free, but the reaper has not freed its space
	// yet.
	StateGhost
	// StatePurged: it expired and was purged. Only a container that keeps all versions or a log of expiries
	// knows, for as long as it keeps them.
	StatePurged
)

var stateNames = [...]string{"unknown", "live", "ghost", "purged"}

// String names the state in lower case.
func (s ItemState) String() string { return stateNames[s] }

// TTLSource says what decides when an item expires.
type TTLSource uint8

// The sources.
const (
	// SourceOff: the container's TTL is off, and nothing expires, whatever an item's own ttl is.
	SourceOff TTLSource = iota
	// SourceItem: the item's own ttl.
	SourceItem
	// SourceContainer: the container's default.
	SourceContainer
	// SourceFloor: an earlier default, under which the item had expired when it was changed. Expiry is final.
	SourceFloor
	// SourceLease: the item would have expired before, but a lease is held on it, or was.
	SourceLease
)

var sourceNames = [...]string{"off", "item", "container", "floor", "lease"}

// String names the source in lower case.
func (s TTLSource) String() string { return sourceNames[s] }

// Expiry tells of one item when it expires and why. All moments are seconds since 1970 of the container's
// clock.
type Expiry struct {
	State ItemState
	Now   int64 // the moment at which this holds

	// What follows is zero for an item that is unknown; of one that is purged only Timestamp is known, and
	// PurgedAt or, from the log of expiries, ExpiresAt.

	Timestamp  int64       // _ts: when its time to live began
	Own        ttl.Seconds // its own ttl
	TTL        ttl.Seconds // what applies: seconds, ttl.Never, or ttl.Absent where TTL is off, and for SourceFloor
	Source     TTLSource
	Mortal     bool  // it expires, or has, at ExpiresAt, unless something changes
	ExpiresAt  int64 // of one that an earlier default ended (SourceFloor) it is the latest moment at which it died
	LeaseUntil int64 // 0: it has no lease
	PurgedAt   int64 // 0: not known

	Default          ttl.Seconds // of the container, now
	DefaultChangedAt int64       // the last change of it, or the container's creation
}

// Remaining is for how many seconds the item still lives: 0 where it has expired or does not expire.
func (e *Expiry) Remaining() int64 {
	if !e.Mortal {
		return 0
	}
	return max(e.ExpiresAt-e.Now, 0)
}

// Sentence says it for people.
func (e *Expiry) Sentence() string {
	switch e.State {
	case StateUnknown:
		return "There is no such item, and nothing is left that would tell whether there was one."
	case StatePurged:
		if e.Mortal {
			return "It expired at " + clockText(e.ExpiresAt) + " and is purged."
		}
		return "It expired and was purged at " + clockText(e.PurgedAt) + "."
	}
	return e.verdict() + ": " + e.reason() + "."
}

func (e *Expiry) verdict() string {
	switch {
	case e.State == StateGhost && e.Source == SourceFloor:
		return "It expired at " + clockText(e.ExpiresAt) + " or before, and is not purged yet"
	case e.State == StateGhost:
		return "It expired at " + clockText(e.ExpiresAt) + ", and is not purged yet"
	case e.Mortal:
		return fmt.Sprintf("It expires in %d s, at %s", e.Remaining(), clockText(e.ExpiresAt))
	default:
		return "It does not expire"
	}
}

func (e *Expiry) reason() string {
	since := " s from its last write at " + clockText(e.Timestamp)
	switch e.Source {
	case SourceItem:
		if e.TTL == ttl.Never {
			return "its own ttl is -1"
		}
		return fmt.Sprint("its own ttl is ", e.TTL, since)
	case SourceContainer:
		if e.TTL == ttl.Never {
			return "it has no ttl of its own, and the container's default is -1"
		}
		return fmt.Sprint("it has no ttl of its own, and the container's default is ", e.TTL, since)
	case SourceFloor:
		return "it had expired when the container's default was changed at " + clockText(e.DefaultChangedAt) + " or earlier, and expiry is final"
	case SourceLease:
		if e.State == StateGhost {
			return "a lease suspended its expiry until " + clockText(e.LeaseUntil)
		}
		return "a lease suspends its expiry until " + clockText(e.LeaseUntil)
	}
	if e.Own > 0 {
		return fmt.Sprint("its own ttl of ", e.Own, " has no effect, since the container's time to live is off")
	}
	return "the container's time to live is off"
}

// explainLife tells when an item expires under a policy. The state is StateLive or StateGhost.
func explainLife(p *ttl.Policy, l ttl.Life, now int64) Expiry {
	e := Expiry{State: StateLive, Now: now, Timestamp: l.TS, Own: l.Own, LeaseUntil: l.LeaseUntil,
		Default: p.Default, DefaultChangedAt: p.ChangedAt}
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
		e.Source, e.TTL = SourceItem, ttl.Never // whatever the default
	}
	e.ExpiresAt, e.Mortal = p.ExpiresAt(l)
	free := l
	free.LeaseUntil = 0
	at, mortal := p.ExpiresAt(free)
	switch {
	case !mortal:
	case l.LeaseUntil > at:
		e.Source = SourceLease
	case e.TTL <= 0 || at < l.TS+int64(e.TTL): // the policy in force would have let it live
		e.Source, e.TTL = SourceFloor, ttl.Absent
	}
	return e
}

// Expiry tells when the item expires if nothing changes, and what decides that, at the present moment.
func (it Item) Expiry() Expiry {
	return explainLife(it.c.state.Load().policy(), it.head.Life, it.c.moment())
}

// ExplainItem tells when an item expires and why, of one that has expired as well. An item that is not there
// is no error but StateUnknown or StatePurged. It fails with CodeBadRequest for a partition key that does not
// fit.
func (c *Container) ExplainItem(ctx context.Context, pk definition.PartitionKey, id string) (Expiry, error) {
	c.db.in.Enter()
	defer c.db.in.Leave()
	p, err := c.keyPlace(pk, id)
	if err != nil {
		return Expiry{}, err
	}
	var e Expiry
	err = c.lookAt(ctx, p, func(st *containerState, s *slot, now int64, r engine.Reader) (err error) {
		e, _, err = c.explain(st, s, p, now, r)
		return err
	})
	return e, err
}

// keyPlace is the place of an item that a caller names by its key.
func (c *Container) keyPlace(pk definition.PartitionKey, id string) (place, error) {
	pk, err := c.def.FullKey(pk, id)
	if err != nil {
		return place{}, err
	}
	if id == "" {
		return place{}, fail(fault.CodeBadRequest, "The id of an item must not be empty.")
	}
	return c.place(pk, id), nil
}

// lookAt runs fn over a snapshot of the range that a place lies in. What fn has seen is durable when lookAt
// returns.
func (c *Container) lookAt(ctx context.Context, p place, fn func(st *containerState, s *slot, now int64, r engine.Reader) error) error {
	var s *slot
	err := c.view(ctx, func(st *containerState, now int64, r engine.Reader) error {
		s = st.rangeOf(p.epk)
		return fn(st, s, now, r)
	})
	if err == nil {
		err = c.db.settle(ctx, s.scope, 0)
	}
	return wrap(err)
}

// explain looks an item up, alive or not. lsn is that of its last write, or of its purge where that is known.
func (c *Container) explain(st *containerState, s *slot, p place, now int64, r engine.Reader) (e Expiry, lsn uint64, err error) {
	h, err := itemHead(r, s, p)
	switch {
	case isAbsent(err) || err == nil && st.fenced(h, func() []byte { return p.pk }): // deleted with its whole partition key
		return c.explainGone(st, s, p, now, r)
	case err != nil:
		return Expiry{}, 0, err
	}
	return explainLife(st.policy(), h.Life, now), h.Sequence.LSN(), nil
}

// itemHead reads the header of the item that a place names; engine.ErrNotFound where there is none.
func itemHead(r engine.Reader, s *slot, p place) (layout.Header, error) {
	v, err := r.Get(p.point)
	if err != nil {
		return layout.Header{}, err
	}
	rid, ok := layout.NumberOf(v)
	if !ok {
		return layout.Header{}, engine.ErrCorrupt
	}
	if v, err = r.Get(layout.AppendSlotKey(nil, s.scope, layout.FamilyItem, rid)); err != nil {
		return layout.Header{}, err
	}
	h, _, err := layout.DecodeItem(v)
	return h, err
}

// explainGone asks what has become of an item that is not there any more: the feed of all versions, or else
// the log of expiries.
func (c *Container) explainGone(st *containerState, s *slot, p place, now int64, r engine.Reader) (e Expiry, lsn uint64, err error) {
	e = Expiry{Now: now, Default: st.policy().Default, DefaultChangedAt: st.policy().ChangedAt}
	if st.retention() > 0 {
		v, lsn, found, err := lastEntry(r, s, layout.FamilyVersions, p, 0)
		if found && ChangeKind(v.Kind) == ChangeExpire {
			e.State, e.Timestamp, e.PurgedAt = StatePurged, v.Previous.TS, v.TS
		}
		return e, lsn, err
	}
	if st.eventRetention() > 0 {
		v, _, found, err := lastEntry(r, s, layout.FamilyExpired, p, 0)
		if found {
			e.State, e.Timestamp, e.Mortal, e.ExpiresAt = StatePurged, v.Previous.TS, true, v.At
		}
		return e, 0, err
	}
	return e, 0, nil
}

// maxEntries is how many entries of a feed or a log are looked at for the last of one item.
const maxEntries = 100_000

// lastEntry finds the last entry of an item behind an LSN, in the feed of all versions or in the log of
// expiries: its kind and its times.
func lastEntry(r engine.Reader, s *slot, family byte, p place, after uint64) (last layout.Expiry, lsn uint64, found bool, err error) {
	rg := layout.SlotFamily(s.scope, family)
	rg.Start = behind(s.scope, family, layout.LastOf(min(after, engine.MaxLSN))).Start
	it := r.Scan(rg, true)
	for n := 0; n < maxEntries && err == nil && !found && it.Next(); n++ {
		var e layout.Expiry
		if family == layout.FamilyExpired {
			e, err = layout.DecodeExpiry(it.Value())
		} else {
			e.Version, err = layout.DecodeVersion(it.Value())
		}
		if err != nil || e.Kind == layout.Floor || !bytes.Equal(e.PK, p.pk) {
			continue
		}
		id := e.ID
		if len(e.Body) > 0 {
			id = doc.Get(e.Body, layout.IDPath).Str()
		}
		if found = id == p.id; found {
			lsn = e.Last.LSN()
			last = layout.Expiry{At: e.At, Version: layout.Version{Kind: e.Kind, TS: e.TS, Previous: layout.Image{TS: e.Previous.TS}}}
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return last, lsn, found, err
}
