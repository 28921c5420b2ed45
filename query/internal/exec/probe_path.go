package exec

import (
	"bytes"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
	"slices"
)

// accessPath is an access in one source, as far as it has been read.
type accessPath struct {
	access plan.Access // nil: the posting of the partition key
	rids   []uint64    // what has been read, as it came
	read   int         // entries, those that a test dropped included
	done   bool        // rids are all
	next   []func() stepper
	at     stepper
}

func (w *accessPath) String() string {
	if w.access == nil {
		return "partition"
	}
	return w.access.String()
}

// vain tells of terms that are tested one by one that the test drops too few of them.
func (w *accessPath) vain() bool {
	return w.sifts() && !w.done && w.read >= siftMost && 2*len(w.rids) > w.read
}

// sifts reports whether all terms of a path are put to a test.
func (w *accessPath) sifts() bool {
	s, ok := w.access.(*plan.SpansAccess)
	return ok && s.Whole
}

// siftMost is how many terms are tested before it is looked at what that is good for.
const siftMost = 1000

func (w *accessPath) lists() bool { return w.access == nil || w.access.Lists() }

// stepper goes through entries one by one.
type stepper interface {
	// Step returns the next rid; ok is false for an entry that is dropped, more at the end.
	step() (rid uint64, ok, more bool)
	Close() error
}

type postingStepper struct{ source.Postings }

func (s postingStepper) step() (uint64, bool, bool) {
	if !s.Next() {
		return 0, false, false
	}
	return s.RID(), true, true
}

type termStepper struct {
	source.Terms
	sieve *termFilter
}

func (s termStepper) step() (uint64, bool, bool) {
	if !s.Next() {
		return 0, false, false
	}
	if s.sieve != nil {
		if in, _ := s.sieve.take(s.Key()); !in {
			return 0, false, true
		}
	}
	return s.RID(), true, true
}

// keysStepper goes through the entries of many keys by one walk.
type keysStepper struct {
	source.Terms
	seek source.Seeker // the walk; nil: it goes step by step
	keys [][]byte      // in order; those before the present entry are left out
	far  bool          // the first of them is not reached
}

func newKeysStepper(src source.Source, keys [][]byte) stepper {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, bytes.Compare)
	terms := src.Terms(keys[0], append(bytes.Clone(keys[len(keys)-1]), 0xFF), false)
	seek, _ := terms.(source.Seeker)
	return &keysStepper{Terms: terms, seek: seek, keys: keys}
}

func (s *keysStepper) step() (rid uint64, ok, more bool) {
	for len(s.keys) > 0 {
		if s.far && s.seek != nil {
			more = s.seek.Seek(s.keys[0])
		} else {
			more = s.Next()
		}
		if !more {
			return 0, false, false
		}
		key := s.Key()
		for len(s.keys) > 0 && bytes.Compare(s.keys[0], key) < 0 {
			s.keys = s.keys[1:]
		}
		if s.far = len(s.keys) == 0 || !bytes.Equal(s.keys[0], key); !s.far {
			return s.RID(), true, true
		}
	}
	return 0, false, false
}

// steppers returns what reads an access, piece by piece.
func (x *Execution) steppers(src source.Source, a plan.Access) (list []func() stepper) {
	switch a := a.(type) {
	case *plan.KeysAccess:
		if len(a.Keys) > plan.MaxOpen {
			return []func() stepper{func() stepper { return newKeysStepper(src, a.Keys) }}
		}
		for _, key := range a.Keys {
			list = append(list, func() stepper { return postingStepper{src.Postings(key)} })
		}
	case *plan.SpansAccess:
		sieve := x.newTermFilter(a.Test)
		for _, s := range a.Spans {
			list = append(list, func() stepper { return termStepper{src.Terms(s.Lo, s.Hi, false), sieve} })
		}
	case *plan.AllOfAccess:
		list = append(list, func() stepper { return postingStepper{x.list(src, a)} })
	case *plan.AnyOfAccess:
		for _, one := range a.List {
			list = append(list, x.steppers(src, one)...)
		}
	}
	return list
}

// more reads up to n entries on.
func (w *accessPath) more(x *Execution, n int) error {
	for n > 0 && !w.done {
		if w.at == nil {
			if w.done = len(w.next) == 0; w.done {
				return nil
			}
			w.at, w.next = w.next[0](), w.next[1:]
		}
		rid, ok, more := w.at.step()
		if !more {
			if err := w.close(); err != nil {
				return err
			}
			continue
		}
		if err := x.passEntry(); err != nil {
			return err
		}
		w.read++
		n--
		if ok {
			w.rids = append(w.rids, rid)
		}
	}
	return nil
}

func (w *accessPath) close() (err error) {
	if w.at != nil {
		err = w.at.Close()
	}
	w.at = nil
	return err
}
