package metamorphic

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
)

// ContainerTimeline is the operations on one container whose partitions each have their own sequence of
// events, under the same default time to live and clock. Unlike a history, which covers everything that a
// store does, it only covers which items are alive in which second. So it is cheap enough for a hundred
// thousand sequences.
type ContainerTimeline struct {
	Default int64 // the initial default: 0 is off, -1 on without a default
	Events  []TimelineOperation
}

// Partitions is the number of timelines of a random ContainerTimeline.
const Partitions = 25

// The verbs that a TimelineOperation has in addition to those of a HistoryStep.
const (
	Import  = "import"  // upsert with a _ts of Seconds ago
	Hold    = "lease"   // for Seconds
	Release = "release" // a lease
	// Count is the verb of an operation that makes times to live count from the property Path ("" is _ts) and
	// sets the default TTL.
	Count   = "count"
	Hurry   = "hurry"   // completes the background work of a Count, which otherwise may be pending
	Ceiling = "ceiling" // Seconds is 1 or 0: whether the default limits the items' own ttl
	Pass    = "pass"    // the clock advances by Seconds
)

// TimelineOperation is an operation in a ContainerTimeline: on an item, or, without a partition, on the whole
// ContainerTimeline.
type TimelineOperation struct {
	Verb      string
	Partition string
	ID        string
	TTL       int64 // ttl of the written item, 0 for none; for Default the new default
	Seconds   int64
	V         int // content of the written item: a number that no other event has
	Path      string
	Base      string              // value of BasePath in the written item: see Base
	Other     string              // value of OtherPath
	Batch     []TimelineOperation // operations in one partition, all or nothing
}

// The properties from which the times to live of a ContainerTimeline can count.
const (
	BasePath  = "/base"
	OtherPath = "/o/base"
)

// Base converts a value of a TimelineOperation to JSON. The value +n stands for the n-th second of a timeline
// that began in the second began, and becomes a number of seconds since 1970. Any other value is a JSON token
// already; "" means that the property is absent.
func Base(value string, began int64) string {
	after, relative := strings.CutPrefix(value, "+")
	if n, err := strconv.ParseFloat(after, 64); relative && err == nil {
		return strconv.FormatFloat(float64(began)+n, 'f', -1, 64)
	}
	return value
}

// baseSecond returns the second of the ContainerTimeline that a value stands for, as the server reads it: the
// integer part of a number.
func baseSecond(value string, began int64) (second int64, ok bool) {
	n, err := strconv.ParseFloat(Base(value, began), 64)
	if err != nil {
		return 0, false
	}
	return int64(math.Floor(min(max(n, -1e15), 1e15))) - began, true
}

// String formats the event for error messages.
func (e TimelineOperation) String() string {
	if e.Verb == Batch {
		parts := make([]string, len(e.Batch))
		for i, b := range e.Batch {
			parts[i] = b.String()
		}
		return "batch " + strings.Join(parts, " + ")
	}
	s := e.Verb
	if e.Partition != "" {
		s += fmt.Sprintf(" %s@%s", e.ID, e.Partition)
	}
	if e.TTL != 0 || e.Verb == Default {
		s += fmt.Sprintf(" ttl=%d", e.TTL)
	}
	for _, p := range []struct{ name, value string }{{"path", e.Path}, {"base", e.Base}, {"other", e.Other}} {
		if p.value != "" {
			s += " " + p.name + "=" + p.value
		}
	}
	if e.Seconds != 0 || e.Verb == Ceiling {
		s += fmt.Sprintf(" seconds=%d", e.Seconds)
	}
	return s
}

// String formats the container, one event per line.
func (w ContainerTimeline) String() string {
	lines := []string{fmt.Sprintf("world default=%d", w.Default)}
	for _, e := range w.Events {
		lines = append(lines, e.String())
	}
	return strings.Join(lines, "\n")
}

// ItemExpiryModel is the expected state of a container after the events of a ContainerTimeline. For each
// second that passes, it checks for each item whether the item has expired in this very second. An item that
// has expired once stays expired, whatever changes later.
type ItemExpiryModel struct {
	now     int64 // seconds since the world began
	began   int64 // seconds since 1970
	def     int64
	path    string
	ceiling bool
	items   map[ItemKey]*ExpectedItemState
}

// ExpectedItemState is the expected state of one item in an ItemExpiryModel.
type ExpectedItemState struct {
	V        int               // V of the event that wrote it last
	TS, TTL  int64             // TTL is the item's own: 0 for none
	base     map[string]string // values by path
	lease    int64
	timeOver bool
}

// NewTimelineModel returns the ItemExpiryModel of an empty container in a ContainerTimeline that begins in
// second began since 1970. def is the container's default time to live in seconds: 0 is off, -1 no expiry.
func NewTimelineModel(def, began int64) *ItemExpiryModel {
	return &ItemExpiryModel{def: def, began: began, items: map[ItemKey]*ExpectedItemState{}}
}

// Now returns the current second, counted from the beginning.
func (s *ItemExpiryModel) Now() int64 { return s.now }

// Live returns the live item of a key, or nil.
func (s *ItemExpiryModel) Live(k ItemKey) *ExpectedItemState {
	it := s.items[k]
	if it == nil || it.timeOver && s.now >= it.lease {
		return nil
	}
	return it
}

// All returns the live items.
func (s *ItemExpiryModel) All() map[ItemKey]ExpectedItemState {
	all := make(map[ItemKey]ExpectedItemState, len(s.items))
	for k := range s.items {
		if it := s.Live(k); it != nil {
			all[k] = *it
		}
	}
	return all
}

// expire checks all items in the current second, under the current default. It deletes expired items, so that
// nothing can bring them back.
func (s *ItemExpiryModel) expire() {
	for k, it := range s.items {
		if at, mortal := s.deadline(it); mortal && at <= s.now {
			it.timeOver = true
		}
		if s.Live(k) == nil {
			delete(s.items, k)
		}
	}
}

// deadline returns the second in which an item expires by the current rule; mortal is false if it does not
// expire.
func (s *ItemExpiryModel) deadline(it *ExpectedItemState) (at int64, mortal bool) {
	life := it.TTL
	if life == 0 {
		life = s.def
	}
	from := it.TS
	if base, ok := baseSecond(it.base[s.path], s.began); ok {
		from = base
	}
	return from + life, s.def != 0 && life > 0
}

// ExpiresAt returns the second in which a live item will expire if nothing else happens; mortal is false if
// it will not.
func (s *ItemExpiryModel) ExpiresAt(k ItemKey) (at int64, mortal bool) {
	it := s.Live(k)
	if it.timeOver {
		return it.lease, true
	}
	at, mortal = s.deadline(it)
	return max(at, it.lease), mortal
}

// Do applies an event and returns the store's expected answer.
func (s *ItemExpiryModel) Do(e TimelineOperation) string {
	switch e.Verb {
	case Pass:
		for range e.Seconds {
			s.now++
			s.expire()
		}
		return "ok"
	case Default:
		if s.def = e.TTL; s.def == 0 {
			s.path = ""
		}
	case Count:
		s.def, s.path = e.TTL, e.Path
	case Hurry:
	case Ceiling:
		s.ceiling = e.Seconds == 1
	case Batch:
		return s.batch(e)
	default:
		return s.one(e)
	}
	s.expire()
	return "ok"
}

func (s *ItemExpiryModel) one(e TimelineOperation) string {
	k := ItemKey{e.ID, e.Partition}
	it := s.Live(k)
	switch {
	case e.Verb == Create && it != nil:
		return fault.CodeConflict.String()
	case it == nil && e.Verb != Create && e.Verb != Upsert && e.Verb != Import:
		return fault.CodeNotFound.String()
	}
	switch e.Verb {
	case Delete:
		delete(s.items, k)
	case Hold:
		it.lease = s.now + e.Seconds
	case Release:
		it.lease = 0
	case Read:
	default:
		s.write(k, it, e)
	}
	s.expire()
	return "ok"
}

func (s *ItemExpiryModel) write(k ItemKey, old *ExpectedItemState, e TimelineOperation) {
	it := ExpectedItemState{V: e.V, TS: s.now - e.Seconds, TTL: e.TTL, base: map[string]string{
		BasePath: e.Base, OtherPath: e.Other}}
	if old != nil {
		if e.Verb == Patch {
			it.base = maps.Clone(old.base)
			if e.Base != "" {
				it.base[BasePath] = e.Base
			}
			if e.Other != "" {
				it.base[OtherPath] = e.Other
			}
		}
		it.lease = old.lease
		if e.Verb == Patch && e.TTL == 0 {
			it.TTL = old.TTL
		}
	}
	if s.ceiling && s.def > 0 && (it.TTL < 0 || it.TTL > s.def) {
		it.TTL = s.def
	}
	s.items[k] = &it
}

// batch applies all operations or none. The answers are those of the operations, up to the one that fails.
func (s *ItemExpiryModel) batch(e TimelineOperation) string {
	before := map[ItemKey]ExpectedItemState{}
	for k, it := range s.items {
		before[k] = *it
	}
	var answers []string
	for _, op := range e.Batch {
		answer := s.one(op)
		answers = append(answers, answer)
		if answer != "ok" {
			s.items = map[ItemKey]*ExpectedItemState{}
			for k, it := range before {
				s.items[k] = &it
			}
			break
		}
	}
	return strings.Join(answers, " ")
}

// Keys returns all keys that occur in the events, in order.
func (w ContainerTimeline) Keys() []ItemKey {
	seen := map[ItemKey]bool{}
	note := func(e TimelineOperation) {
		if e.Partition != "" {
			seen[ItemKey{e.ID, e.Partition}] = true
		}
	}
	for _, e := range w.Events {
		note(e)
		for _, b := range e.Batch {
			note(b)
		}
	}
	keys := make([]ItemKey, 0, len(seen))
	for k := range seen {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b ItemKey) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition),
			cmp.Compare(a.ID, b.ID))
	})
	return keys
}
