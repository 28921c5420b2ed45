package ttl

// A container defines from when the times to live of its items count: from the _ts, or from a property of
// the document. When that changes, every item counts from another second. Expiry must stay final: an item
// that had expired by the old second must not become live by the new one. Floors cannot ensure this,
// because a floor compares only one kind of second. So the policy before the change, with its floors, is
// kept as a PropertyPathPeriod until each of its items has been checked. An item that had expired at the end of
// the period is marked Ended. Any other item counts anew, as an item of the next generation. Until an item is
// rewritten, each reader computes the same result from the item's document.

// A PropertyPathPeriod is a span of time in which the times to live of a container counted from the same
// property. It ends with a change of the property.
type PropertyPathPeriod struct {
	Policy Policy `json:"policy"` // as of the end of the period
	Until  int64  `json:"until"`  // the second of the change; the policy of the period still applied in it
}

// Rebase is called when a container's times to live begin to count from another property, in second now. It
// returns the first policy after the change, with the default next, and the PropertyPathPeriod that the
// change ends. A now before p.ChangedAt counts as p.ChangedAt.
func (p *Policy) Rebase(next Seconds, now int64) (Policy, PropertyPathPeriod) {
	now = max(now, p.ChangedAt)
	return Policy{Default: next, Generation: p.Generation + 1, ChangedAt: now, BasedAt: now},
		PropertyPathPeriod{*p, now}
}

// Holds reports whether an item with this life was written in or before this period, that is, before the
// change of the ttlPropertyPath that ended the period.
func (e *PropertyPathPeriod) Holds(l Lifetime) bool { return l.Generation <= e.Policy.Generation }

// Next returns the Lifetime that an item of the period has after the change of the property that ended the
// period. If the item had expired before, it stays expired. Otherwise its time to live now counts from the
// second base, or from its _ts if based is false. A lease of the item stays unchanged: it postpones expiry
// but does not prevent it.
func (e *PropertyPathPeriod) Next(l Lifetime, base int64, based bool) Lifetime {
	free := l
	free.LeaseUntil = 0
	if at, ok := e.Policy.ExpiresAt(free); ok && at <= e.Until {
		l.Ended, l.Based, l.Base = true, false, at
	} else {
		l.Based, l.Base = based, base
	}
	l.Generation = e.Policy.Generation + 1
	return l
}
