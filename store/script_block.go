package store

import (
	"errors"
	"sync"

	"github.com/mayflydb/mayfly/script"
	"github.com/mayflydb/mayfly/store/fault"
)

// A script that overruns its limits of time or memory several times, one run after the other, is blocked, as
// it is in Cosmos DB: while it runs nobody else writes to its partition range. To replace it, or to delete
// and create it anew, is to unblock it. Of blocks nothing is stored.

// maxOverruns is how many runs in a row may overrun before a script is blocked.
const maxOverruns = 3

// maxOverran is how many scripts that have overrun are remembered. Past it all are forgotten: it is a bound,
// not a rule.
const maxOverran = 1000

// overruns counts the overruns of the scripts of a container.
type overruns struct {
	mu sync.Mutex
	of map[string]overrun // by rid
}

// overrun is how often the version of a script with that etag has overrun, since it last did not.
type overrun struct {
	etag  string
	times int
}

// admit refuses the version of a script that is blocked: CodeForbidden.
func (o *overruns) admit(rid, etag, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.of[rid]; now.etag == etag && now.times >= maxOverruns {
		return fault.New(fault.CodeForbidden, "The script with id '"+id+
			"' is blocked for execution because it has violated its allowed resource limit several times.")
	}
	return nil
}

// note takes up how a run of the version of a script has ended.
func (o *overruns) note(rid, etag string, err error) {
	var late *script.TimeoutError
	var large *script.TooLargeError
	overran := errors.As(err, &late) || errors.As(err, &large) && large.What == script.TooLargeMemory
	if etag == "" {
		return // nobody could replace one that every container has
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.of[rid]
	switch {
	case !overran:
		delete(o.of, rid)
		return
	case now.etag != etag:
		now = overrun{etag: etag}
	}
	if o.of == nil || len(o.of) >= maxOverran {
		o.of = make(map[string]overrun)
	}
	now.times++
	o.of[rid] = now
}
