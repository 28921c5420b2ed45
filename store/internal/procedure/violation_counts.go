package procedure

import (
	"errors"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/store/fault"
)

// As in Cosmos DB, a script is blocked after several runs in a row have reached its limits of time or
// memory, because nobody else can write to its partition range while it runs. Replacing the script, or
// deleting it and creating it anew, unblocks it. Blocks are not stored: after a restart of the server every
// script may run.

// A run that exceeds its limits counts as two violations. A run that takes longSharePercent of its time
// limit or more counts as one. A script is blocked at maxViolations. A shorter run in between resets the
// count.
const (
	maxViolations    = 6
	longSharePercent = 80
)

// maxViolators is the maximum number of scripts of a container for which violations of the time and memory
// limits are counted. When it is reached, all counts are dropped, to bound the memory.
const maxViolators = 1000

// scriptVersion identifies a script and, by the etag, its version.
type scriptVersion struct{ rid, etag, id string }

// LimitViolationCounters counts the violations of limits by the scripts of a container.
type LimitViolationCounters struct {
	mu sync.Mutex
	of map[string]scriptLimitViolationCount // keyed by rid
}

// scriptLimitViolationCount counts how often one version of a script, which is identified by its etag, has
// exceeded its limits.
type scriptLimitViolationCount struct {
	etag  string
	count int
}

// admit returns an error with CodeForbidden if this version of a script is blocked because it has exceeded
// its limits too often. limit is the name of the limit for the error's text.
func (o *LimitViolationCounters) admit(v scriptVersion, limit string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.of[v.rid]; now.etag == v.etag && now.count >= maxViolations {
		return fault.New(fault.CodeForbidden, "The script with id '"+v.id+
			"' is blocked for execution because it has violated its allowed "+limit+" limit several times.")
	}
	return nil
}

// note counts violations of limits by a run of a script version, which ended with err after the time took:
// two if it was stopped because of its time or memory, one if it has used most of its time limit. A run
// without a violation sets the count to 0. A limit of 0 means script.DefaultTime.
func (o *LimitViolationCounters) note(v scriptVersion, took, limit time.Duration, err error) {
	if v.etag == "" {
		return // built-in scripts are not counted: nobody could replace them to unblock them
	}
	if limit <= 0 {
		limit = script.DefaultTime
	}
	var late *script.TimeoutError
	var large *script.SizeOrMemoryLimitError
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
		now = scriptLimitViolationCount{etag: v.etag}
	}
	if o.of == nil || len(o.of) >= maxViolators {
		o.of = make(map[string]scriptLimitViolationCount)
	}
	now.count += count
	o.of[v.rid] = now
}
