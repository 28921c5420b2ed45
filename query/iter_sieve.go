package query

import (
	"bytes"

	"github.com/mayflydb/mayfly/doc"
)

// termSieve puts the terms of a walk to a test. Equal terms follow one another and are tested once.
type termSieve struct {
	test *termTest
	f    *frame
	key  []byte
	in   bool
	sure bool
	text []byte // of the least document
}

func (x *execution) newSieve(t *termTest) *termSieve {
	if t == nil {
		return nil
	}
	return &termSieve{test: t, f: newFrame(x.run, x.plan.layout)}
}

// take tells whether documents below a key may fulfil the conditions, and whether all of them do.
func (s *termSieve) take(key []byte) (in, sure bool) {
	if s == nil {
		return true, true
	}
	if s.key != nil && bytes.Equal(key, s.key) {
		return s.in, s.sure
	}
	s.key = append(s.key[:0], key...)
	v, exact := exactTerm(key)
	if s.in, s.sure = true, exact; exact {
		s.f.body = s.document(v)
		s.f.run.Spend(len(s.f.body))
		s.in = s.test.holds(s.f)
	}
	return s.in, s.sure
}

// document returns the least document that has a value at the path. It is good until the next one.
func (s *termSieve) document(v doc.Value) []byte {
	s.text = append(v.AppendJSON(append(s.text[:0], s.test.head...)), s.test.tail...)
	return s.text
}
