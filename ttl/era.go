package ttl

// What an item's time to live counts from is its container's to say: the _ts, or a property of the document.
// When that changes, every item counts from another second, and expiry must stay final all the same: what had
// expired by the old second must not come back by the new one. Floors cannot tell, since they compare one
// kind of second. So the policy of before, with its floors, is kept as an Era until each item of it has been
// judged: one that had expired when the era ended is marked Ended, any other counts anew, as an item of the
// generation that followed. Until an item has been marked, whoever asks about it works out the same from its
// document.

// An Era is the time in which the times to live of a container counted from one thing. It ends with a change
// to another.
type Era struct {
	Policy Policy `json:"policy"` // as it was at the end
	Until  int64  `json:"until"`  // the second of the change, in which the era's policy still decided
}

// Rebase returns the first policy of the next era, whose default is next, and the era that ends with it in
// second now. A now before p.ChangedAt counts as p.ChangedAt.
func (p *Policy) Rebase(next Seconds, now int64) (Policy, Era) {
	now = max(now, p.ChangedAt)
	return Policy{Default: next, Generation: p.Generation + 1, ChangedAt: now, BasedAt: now}, Era{*p, now}
}

// Holds reports whether a life is of the era or of an earlier one, and not yet of the next.
func (e *Era) Holds(l Life) bool { return l.Generation <= e.Policy.Generation }

// Next returns the life of an item of the era in the era that followed, in which it counts from second base,
// or from its _ts where based is false. A lease that the item has stays as it is: it puts off an end, it
// does not save from it.
func (e *Era) Next(l Life, base int64, based bool) Life {
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
