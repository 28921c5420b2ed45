package store

import (
	"context"

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

var effectNames = [TTLEffects]string{"unchanged", "diesAtOnce", "becomesMortal", "becomesImmortal", "diesSooner", "diesLater"}

// String names the effect.
func (e TTLEffect) String() string { return effectNames[e] }

// DeadlineLimits are the upper bounds of the classes of DryRun.After, in seconds from now: at once, within a
// minute, an hour, a day, a week, a month of 30 days. Two more classes are later than that, and never.
var DeadlineLimits = [...]int64{0, 60, 3600, 86400, 7 * 86400, 30 * 86400}

// DryRunOptions say how much a dry run shall tell. The zero value is a good default.
type DryRunOptions struct {
	Examples int   // of each effect, at most; 0: 5, negative: none
	Exact    int64 // items up to which each is looked at; 0: 100,000
}

// DryRunExample is an item on which a change has an effect. Moments are seconds since 1970; 0 is never.
type DryRunExample struct {
	Key           Key
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
	Exact    bool  // every item was looked at; else leases were not, nor what had expired beyond 10,000 a partition range
	Complete bool  // false: a second was not enough, and all counts are lower bounds
	Expired  int64 // items that have expired already and are not purged: they stay so
	Effects  [TTLEffects]DryRunEffect
	After    [len(DeadlineLimits) + 2]int64 // living items by when they expire after the change: see DeadlineLimits
}

// DryRunTTL tells what a change of the container's DefaultTTL would do at this moment. It is refused with
// what the change itself would be refused with, and takes about a second at most: see DryRun.Complete.
func (c *Container) DryRunTTL(ctx context.Context, next ttl.Seconds, o DryRunOptions) (DryRun, error) {
	c.db.in.Enter()
	defer c.db.in.Leave()
	if o.Examples == 0 {
		o.Examples = 5
	}
	if o.Exact == 0 {
		o.Exact = exactItems
	}
	var d DryRun
	var policies [2]ttl.Policy
	n := census{c: c, watch: c.db.startWatch(ctx), limit: o.Exact}
	n.each = func(l ttl.Life, key func() (Key, error)) error { return d.judge(&policies, l, o.Examples, key) }
	n.immortal = func(n int64) {
		d.Effects[EffectNone].Count += n
		d.After[len(d.After)-1] += n
	}
	err := n.run(ctx, func(st *containerState, now int64) error {
		changed := st.spec
		if changed.DefaultTTL = next; next == ttl.Absent {
			changed.TTLPropertyPath = ""
		}
		policies = [2]ttl.Policy{*st.policy(), st.policy().With(next, now)}
		d = DryRun{Now: now, From: policies[0].Default, To: next}
		return changed.ValidateTTL()
	})
	d.Exact, d.Complete = n.exact, !n.watch.late
	return d, err
}

// judge counts one item by what the two policies, before and after, say of it.
func (d *DryRun) judge(p *[2]ttl.Policy, l ttl.Life, examples int, key func() (Key, error)) error {
	if p[0].Expired(l, d.Now) {
		d.Expired++
		return nil
	}
	before, was := p[0].ExpiresAt(l)
	after, is := p[1].ExpiresAt(l)
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
	k, err := key()
	if err != nil {
		return err
	}
	e.Examples = append(e.Examples, DryRunExample{Key: k, Before: before, After: after})
	return nil
}
