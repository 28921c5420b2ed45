package exec

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
)

// termFilter puts the terms of a walk to a test. Equal terms follow one another and are tested once.
type termFilter struct {
	test *plan.TermTest
	f    *eval.Frame
	key  []byte
	in   bool
	sure bool
	text []byte // of the least document
}

func (x *Execution) newTermFilter(t *plan.TermTest) *termFilter {
	if t == nil {
		return nil
	}
	return &termFilter{test: t, f: eval.NewFrame(x.Run, x.Plan.Layout)}
}

// take reports whether documents below a key may fulfil the conditions, and whether all of them do.
func (s *termFilter) take(key []byte) (in, sure bool) {
	if s == nil {
		return true, true
	}
	if s.key != nil && bytes.Equal(key, s.key) {
		return s.in, s.sure
	}
	s.key = append(s.key[:0], key...)
	v, exact := plan.ExactTerm(key)
	if s.in, s.sure = true, exact; exact {
		s.f.Body = s.document(v)
		s.f.Run.Spend(len(s.f.Body))
		s.in = s.test.Holds(s.f)
	}
	return s.in, s.sure
}

// document returns the least document that has a value at the path. It is good until the next one.
func (s *termFilter) document(v jsondoc.Value) []byte {
	s.text = append(v.AppendJSON(append(s.text[:0], s.test.Head...)), s.test.Tail...)
	return s.text
}
