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

// TTLEffect says what a change of the default does to an item that is alive.
type TTLEffect uint8

// The effects. Each item that is alive has one.
const (
	EffectNone     TTLEffect = iota // it expires when it would have, or never as before
	EffectDies                      // it expires at once
	EffectMortal                    // it will expire, and would not have
	EffectImmortal                  // it will not expire, and would have
	EffectSooner                    // it will expire, but earlier than it would have
	EffectLater                     // and later

	// TTLEffects is how many there are.
	TTLEffects
)

var effectNames = [TTLEffects]string{
	"unchanged", "diesAtOnce", "becomesMortal", "becomesImmortal", "diesSooner", "diesLater",
}

// String names the effect.
func (e TTLEffect) String() string { return effectNames[e] }

// DeadlineLimits are the upper bounds of the classes of DryRun.After, in seconds from now: at once, within a
// minute, an hour, a day, a week, a month of 30 days. Two more classes are later than that, and never.
var DeadlineLimits = [...]int64{0, 60, 3600, 86400, 7 * 86400, 30 * 86400}

// DryRunOptions say how much a dry run shall tell. The zero value is a good default.
type DryRunOptions struct {
	// Path is the ttlPropertyPath that the container would get with the default, "" for none; nil: it keeps
	// the one that it has, unless TTL goes off.
	Path     *string
	Examples int   // of each effect, at most; 0: 5, negative: none
	Exact    int64 // items up to which each is looked at; 0: 100,000
}

// DryRunExample is an item on which a change has an effect. Moments are seconds since 1970; 0 is never.
type DryRunExample struct {
	Partition     definition.PartitionKey
	ID            string
	Before, After int64 // when it expires
}

// DryRunEffect is how many items a change does something to.
type DryRunEffect struct {
	Count    int64
	Examples []DryRunExample // none of EffectNone
}

// DryRun is what a change of a container's default would do now. Nothing has been changed.
type DryRun struct {
	Now      int64 // the moment for which it holds, of the container's clock
	From, To ttl.Seconds
	// FromPath and ToPath are the ttlPropertyPath; "" is none.
	FromPath, ToPath string
	// Exact reports whether every item was looked at; else leases were not, nor what had expired beyond
	// 10,000 a partition range.
	Exact    bool
	Complete bool  // false: a second was not enough, and all counts are lower bounds
	Expired  int64 // items that have expired already and are not purged: they stay so
	Effects  [TTLEffects]DryRunEffect
	// After has the living items by when they expire after the change: see DeadlineLimits.
	After [len(DeadlineLimits) + 2]int64
}

// DryRunTTL reports what a change of the default of a container would do at the moment of its state, for the
// store, which has made the snapshot. more counts a step and reports whether there is time for it. An error
// may be that of the change itself. Complete is the caller's to fill.
func DryRunTTL(state *view.State, r engine.Reader, next ttl.Seconds, o DryRunOptions, more func() bool) (
	DryRun, error) {
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
	d := DryRun{Now: state.Now, From: state.Policy.Default, To: next, FromPath: state.Spec.TTLPropertyPath,
		ToPath: changed.TTLPropertyPath}
	if err := changed.ValidateTTL(); err != nil {
		return d, err
	}
	n := census{state: state, r: r, more: more, limit: o.Exact}
	policies := [2]ttl.Policy{*state.Policy, state.Policy.With(next, state.Now)}
	var rebased *view.Era // nil: times to live go on to count from what they do
	if definition.PathKey(d.FromPath) != definition.PathKey(d.ToPath) {
		basis, err := view.NewBasis(d.ToPath)
		if err != nil {
			return d, err
		}
		rebased, n.whole = &view.Era{After: basis}, true
		policies[1], rebased.Era = state.Policy.Rebase(next, state.Now)
	}
	n.each = func(l ttl.Life, body func() ([]byte, error)) error {
		then := l
		if rebased != nil {
			text, err := body()
			if err != nil {
				return err
			}
			base, based := rebased.After.Of(text)
			then = rebased.Next(l, base, based)
		}
		return d.judge(&policies, &state.Keys.Def, [2]ttl.Life{l, then}, o.Examples, body)
	}
	n.immortal = func(n int64) {
		d.Effects[EffectNone].Count += n
		d.After[len(d.After)-1] += n
	}
	var err error
	d.Exact, err = n.run()
	return d, err
}

// judge counts one item by what the two policies, before and after, say of its lives.
func (d *DryRun) judge(p *[2]ttl.Policy, def *definition.PartitionKeyDefinition, l [2]ttl.Life, examples int,
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
	text = bytes.Clone(text) // the key lies in it
	e.Examples = append(e.Examples, DryRunExample{
		Partition: def.Extract(text), ID: jsondoc.Get(text, layout.IDPath).Str(), Before: before, After: after,
	})
	return nil
}
