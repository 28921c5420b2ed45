package inspect

import (
	"bytes"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// TTLChangeEffectOnItem is the effect that a change of a container's default time to live has on a live item.
type TTLChangeEffectOnItem uint8

// The effects that a change of the default time to live can have. Each live item has exactly one.
const (
	EffectNone     TTLChangeEffectOnItem = iota // it expires at the same time, or never as before
	EffectDies                                  // it expires at once
	EffectMortal                                // it will expire, and would not have without the change
	EffectImmortal                              // it will never expire, and would have without the change
	EffectSooner                                // it expires earlier, but not at once
	EffectLater                                 // it expires later

	// TTLEffects is the number of different values of TTLChangeEffectOnItem.
	TTLEffects
)

var effectNames = [TTLEffects]string{
	"unchanged", "diesAtOnce", "becomesMortal", "becomesImmortal", "diesSooner", "diesLater",
}

// String returns the name of the effect.
func (e TTLChangeEffectOnItem) String() string { return effectNames[e] }

// DeadlineLimits are the upper bounds of the elements of TTLChangeDryRunResult.After, in seconds from now: at
// once, within a minute, an hour, a day, a week, a month of 30 days. TTLChangeDryRunResult.After has two more
// elements: later, and never.
var DeadlineLimits = [...]int64{0, 60, 3600, 86400, 7 * 86400, 30 * 86400}

// TTLChangeDryRunOptions are the options of a dry run. The zero value is a good default.
type TTLChangeDryRunOptions struct {
	// Path is the ttlPropertyPath that the container would get together with the default; "" means none. If
	// Path is nil, the container keeps its own, unless TTL is turned off.
	Path     *string
	Examples int   // of each effect, at most; 0: 5, negative: none
	Exact    int64 // with up to this number of items, each item is read; 0: 100,000
}

// TTLChangeExampleItem is an item that a change of the default time to live would affect. Before and After
// are when it expires, without and with the change, in seconds since 1970; 0: never.
type TTLChangeExampleItem struct {
	Partition     definition.PartitionKey
	ID            string
	Before, After int64 // when it expires
}

// TTLChangeEffectSummary is the number of items on which a change of the default time to live would have one
// particular effect, such as an earlier expiry, and some of these items as examples.
type TTLChangeEffectSummary struct {
	Count    int64
	Examples []TTLChangeExampleItem // empty for EffectNone
}

// TTLChangeDryRunResult describes the effects that a change of a container's default time to live would have
// now. The dry run itself changes nothing.
type TTLChangeDryRunResult struct {
	Now      int64 // the moment to which the result refers, by the container's clock
	From, To ttl.Seconds
	// FromPath and ToPath are the container's ttlPropertyPath before and after the change; "" is none.
	FromPath, ToPath string
	// Exact reports whether every item was read. If not, most expiry times come from the expiry index, which
	// does not contain leases (suspensions of an item's expiry): a lease is then considered only for the
	// first 10,000 due items of each partition range.
	Exact    bool
	Complete bool  // false: the time did not suffice, and all counts are lower bounds
	Expired  int64 // items that have expired already and are not purged: they stay expired
	Effects  [TTLEffects]TTLChangeEffectSummary
	// After counts the live items by the time from now until they expire after the change. Its elements
	// belong to the upper bounds in DeadlineLimits, then one for later and one for never.
	After [len(DeadlineLimits) + 2]int64
}

// DryRunTTL reports how many items would expire, or live longer, if a container's default TTL changed to
// next. state is the container's state, r a snapshot that matches it. more is called before each step and
// reports whether there is time for it. DryRunTTL fails if the change itself would fail. The caller sets
// TTLChangeDryRunResult.Complete.
func DryRunTTL(state *view.ContainerAtTime, r engine.Reader, next ttl.Seconds, o TTLChangeDryRunOptions,
	more func() bool) (
	TTLChangeDryRunResult, error) {
	if o.Examples == 0 {
		o.Examples = 5
	}
	if o.Exact == 0 {
		o.Exact = ExactItems
	}
	changed := *state.Spec
	if changed.DefaultTTL = next; o.Path != nil {
		changed.TTLPropertyPath = *o.Path
	} else if next == ttl.Absent {
		changed.TTLPropertyPath = ""
	}
	d := TTLChangeDryRunResult{Now: state.Now, From: state.Policy.Default, To: next,
		FromPath: state.Spec.TTLPropertyPath,
		ToPath:   changed.TTLPropertyPath}
	if err := changed.ValidateTTL(); err != nil {
		return d, err
	}
	n := itemExpiryScan{state: state, r: r, more: more, limit: o.Exact}
	policies := [2]ttl.Policy{*state.Policy, state.Policy.With(next, state.Now)}
	var rebased *view.TTLStartPropertyChange // nil if the ttlPropertyPath does not change
	if definition.PathKey(d.FromPath) != definition.PathKey(d.ToPath) {
		basis, err := view.NewBasis(d.ToPath)
		if err != nil {
			return d, err
		}
		rebased, n.whole = &view.TTLStartPropertyChange{After: basis}, true
		policies[1], rebased.PropertyPathPeriod = state.Policy.Rebase(next, state.Now)
	}
	n.each = func(l ttl.Lifetime, body func() ([]byte, error)) error {
		then := l
		if rebased != nil {
			text, err := body()
			if err != nil {
				return err
			}
			base, based := rebased.After.Of(text)
			then = rebased.Next(l, base, based)
		}
		return d.judge(&policies, &state.Keys.Def, [2]ttl.Lifetime{l, then}, o.Examples, body)
	}
	n.immortal = func(n int64) {
		d.Effects[EffectNone].Count += n
		d.After[len(d.After)-1] += n
	}
	var err error
	d.Exact, err = n.run()
	return d, err
}

// judge counts one item. p and l are the policy and the item's life before and after the change. body returns
// the document; it is called if the item becomes one of the examples of its effect. examples is their maximal
// number.
func (d *TTLChangeDryRunResult) judge(p *[2]ttl.Policy, def *definition.PartitionKeyDefinition,
	l [2]ttl.Lifetime,
	examples int,
	body func() ([]byte, error)) error {
	if p[0].Expired(l[0], d.Now) {
		d.Expired++
		return nil
	}
	before, was := p[0].ExpiresAt(l[0])
	after, is := p[1].ExpiresAt(l[1])
	effect := EffectNone
	switch {
	case is && after <= d.Now:
		effect = EffectDies
	case is && !was:
		effect = EffectMortal
	case was && !is:
		effect = EffectImmortal
	case after < before:
		effect = EffectSooner
	case after > before:
		effect = EffectLater
	}
	class := len(d.After) - 1
	if is {
		for class = 0; class < len(DeadlineLimits) && after-d.Now > DeadlineLimits[class]; {
			class++
		}
	}
	d.After[class]++
	e := &d.Effects[effect]
	e.Count++
	if effect == EffectNone || len(e.Examples) >= examples {
		return nil
	}
	text, err := body()
	if err != nil {
		return err
	}
	text = bytes.Clone(text) // the key refers to it
	e.Examples = append(e.Examples, TTLChangeExampleItem{
		Partition: def.Extract(text), ID: jsondoc.Get(text, layout.IDPath).Str(), Before: before, After: after,
	})
	return nil
}
