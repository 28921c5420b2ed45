package exec

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
)

// indexTermFilter tests whether index terms match a condition. Equal terms are adjacent in a walk and are
// tested once.
type indexTermFilter struct {
	test *plan.IndexTermTest
	f    *eval.Frame
	key  []byte
	in   bool
	sure bool
	text []byte // of the smallest document
}

func (x *Execution) newTermFilter(t *plan.IndexTermTest) *indexTermFilter {
	if t == nil {
		return nil
	}
	return &indexTermFilter{test: t, f: eval.NewFrame(x.Run, x.Plan.FrameSettings)}
}

// take reports whether a document that has the index term key may match the condition (in). sure reports that
// the term alone decides this: then all documents with the term match, or none does.
func (s *indexTermFilter) take(key []byte) (in, sure bool) {
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

// document returns the smallest JSON document with the value v at the path of the index, such as
// {"a":{"b":1}}. It is valid until the next call.
func (s *indexTermFilter) document(v jsondoc.Value) []byte {
	s.text = append(v.AppendJSON(append(s.text[:0], s.test.Head...)), s.test.Tail...)
	return s.text
}
