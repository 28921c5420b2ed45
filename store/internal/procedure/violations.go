package procedure

import (
	"errors"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/store/fault"
)

// A script that comes to its limits of time or memory several times, one run after the other, is blocked, as
// it is in Cosmos DB: while it runs nobody else writes to its partition range. To replace it, or to delete
// and create it anew, is to unblock it. Of blocks nothing is stored: a server that starts runs every script.

// A run that overruns counts twice, one that takes longSharePercent of its time once. A script is blocked
// when maxViolations are reached without a shorter run between.
const (
	maxViolations    = 6
	longSharePercent = 80
)

// maxViolators is how many scripts that have violations are remembered. Past it all are forgotten: it is a
// bound, not a rule.
const maxViolators = 1000

// scriptVersion is a version of a script.
type scriptVersion struct{ rid, etag, id string }

// Violations counts how often the scripts of a container have come to their limits.
type Violations struct {
	mu sync.Mutex
	of map[string]violator // by rid
}

// violator is a version of a script, and how far it is on its way to be blocked.
type violator struct {
	etag  string
	count int
}

// admit refuses the version of a script that is blocked: CodeForbidden.
func (o *Violations) admit(v scriptVersion, limit string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.of[v.rid]; now.etag == v.etag && now.count >= maxViolations {
		return fault.New(fault.CodeForbidden, "The script with id '"+v.id+
			"' is blocked for execution because it has violated its allowed "+limit+" limit several times.")
	}
	return nil
}

// note takes up how a run of the version of a script has ended, which took so long of the time that it had; 0
// of that is script.DefaultTime.
func (o *Violations) note(v scriptVersion, took, limit time.Duration, err error) {
	if v.etag == "" {
		return // nobody could replace one that every container has
	}
	if limit <= 0 {
		limit = script.DefaultTime
	}
	var late *script.TimeoutError
	var large *script.TooLargeError
	count := 0
	switch {
	case errors.As(err, &late), errors.As(err, &large) && large.What == script.TooLargeMemory:
		count = 2
	case took >= limit*longSharePercent/100:
		count = 1
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.of[v.rid]
	switch {
	case count == 0:
		delete(o.of, v.rid)
		return
	case now.etag != v.etag:
		now = violator{etag: v.etag}
	}
	if o.of == nil || len(o.of) >= maxViolators {
		o.of = make(map[string]violator)
	}
	now.count += count
	o.of[v.rid] = now
}
