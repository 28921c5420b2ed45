package exec

import (
	"bytes"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
	"slices"
)

// candidateAccessPath is one way to find the documents of a source that may match, among which a page
// chooses: an access of the plan to an index, or the posting list of the partition key. It holds the rids
// that have been read so far.
type candidateAccessPath struct {
	access plan.IndexAccess // nil: the posting list of the partition key
	rids   []uint64         // read so far, in the order of reading
	read   int              // entries, including those that a test dropped
	done   bool             // rids is complete
	next   []func() indexEntryStepper
	at     indexEntryStepper
}

func (w *candidateAccessPath) String() string {
	if w.access == nil {
		return "partition"
	}
	return w.access.String()
}

// isUseless reports whether testing each index term of this access path drops too few entries to be worth its
// cost.
func (w *candidateAccessPath) isUseless() bool {
	return w.testsTerms() && !w.done && w.read >= testMost && 2*len(w.rids) > w.read
}

// testsTerms reports whether the access path reads all index entries at its path in the documents, and
// excludes documents only by testing the value in each entry.
func (w *candidateAccessPath) testsTerms() bool {
	s, ok := w.access.(*plan.SpansAccess)
	return ok && s.Whole
}

// testMost is the number of index terms after which an access path that tests each term is given up if
// more than half of them have passed.
const testMost = 1000

func (w *candidateAccessPath) lists() bool { return w.access == nil || w.access.Lists() }

// indexEntryStepper reads the index entries of one access path, one at each call of step.
type indexEntryStepper interface {
	// step returns the next rid. ok is false if the entry does not pass a test; more is false at the end.
	step() (rid uint64, ok, more bool)
	Close() error
}

// postingListStepper reads a posting list (the sorted rids of one index key) one rid at a time, as an
// indexEntryStepper.
type postingListStepper struct{ source.PostingIterator }

func (s postingListStepper) step() (uint64, bool, bool) {
	if !s.Next() {
		return 0, false, false
	}
	return s.RID(), true, true
}

// keyRangeRIDStepper reads the rids of a range of index keys. sieve tests the terms; nil: all pass.
type keyRangeRIDStepper struct {
	source.IndexEntryIterator
	sieve *indexTermFilter
}

func (s keyRangeRIDStepper) step() (uint64, bool, bool) {
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

// indexKeyListStepper reads the index entries of a list of keys with one iterator over the index, in the
// order of the keys.
type indexKeyListStepper struct {
	source.IndexEntryIterator
	seek source.SeekableIndexEntryIterator // Terms; nil: it cannot seek
	keys [][]byte                          // sorted; keys before the current entry are removed
	far  bool                              // the walk has not reached the first key yet
}

func newKeysStepper(src source.DocumentSource, keys [][]byte) indexEntryStepper {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, bytes.Compare)
	terms := src.Terms(keys[0], append(bytes.Clone(keys[len(keys)-1]), 0xFF), false)
	seek, _ := terms.(source.SeekableIndexEntryIterator)
	return &indexKeyListStepper{IndexEntryIterator: terms, seek: seek, keys: keys}
}

func (s *indexKeyListStepper) step() (rid uint64, ok, more bool) {
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

// steppers returns one function for each posting list or key range of an access path, in the order in which
// they are to be read. Each function opens an iterator over the entries of its list or range.
func (x *Execution) steppers(src source.DocumentSource,
	a plan.IndexAccess) (list []func() indexEntryStepper) {
	switch a := a.(type) {
	case *plan.IndexKeysAccess:
		if len(a.Keys) > plan.MaxOpen {
			return []func() indexEntryStepper{func() indexEntryStepper { return newKeysStepper(src, a.Keys) }}
		}
		for _, key := range a.Keys {
			list = append(list, func() indexEntryStepper { return postingListStepper{src.Postings(key)} })
		}
	case *plan.SpansAccess:
		sieve := x.newTermFilter(a.Test)
		for _, s := range a.Spans {
			list = append(list,
				func() indexEntryStepper { return keyRangeRIDStepper{src.Terms(s.Lo, s.Hi, false), sieve} })
		}
	case *plan.IntersectionAccess:
		list = append(list, func() indexEntryStepper { return postingListStepper{x.list(src, a)} })
	case *plan.UnionAccess:
		for _, one := range a.List {
			list = append(list, x.steppers(src, one)...)
		}
	}
	return list
}

// more reads up to n more entries.
func (w *candidateAccessPath) more(x *Execution, n int) error {
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

func (w *candidateAccessPath) close() (err error) {
	if w.at != nil {
		err = w.at.Close()
	}
	w.at = nil
	return err
}
