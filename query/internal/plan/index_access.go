package plan

import (
	"bytes"
	"fmt"
	"strings"
)

// IndexAccess is a node of a plan that lists candidate documents: the rids under some keys of an index. It
// holds no state; a run opens it. The candidates include all documents that match the condition of the
// access, and may include others.
type IndexAccess interface {
	fmt.Stringer
	// Lists reports whether the rids come sorted from posting lists. The rids of other accesses are read
	// first and then sorted.
	Lists() bool
}

// IndexKeysAccess finds the documents that have an index entry with at least one key of a list.
type IndexKeysAccess struct {
	Keys [][]byte
	text string
}

// SpansAccess lists the documents in any of some ranges of index keys. If it has a test, documents whose term
// fails it are left out.
type SpansAccess struct {
	Spans []KeySpan
	Test  *IndexTermTest
	Whole bool // the spans cover the whole path, so that only the test excludes documents
	text  string
}

// IntersectionAccess lists the documents that each of its accesses lists.
type IntersectionAccess struct{ List []IndexAccess }

// UnionAccess lists the documents that at least one of its accesses lists.
type UnionAccess struct{ List []IndexAccess }

// Lists reports whether the rids come in ascending order, so that they need not be sorted. They do if there
// are at most MaxOpen keys, since the posting lists of so few keys are merged.
func (a *IndexKeysAccess) Lists() bool { return len(a.Keys) <= MaxOpen }

// Lists returns false: the rids do not come in ascending order. They are read from intervals of index keys
// and must then be sorted.
func (a *SpansAccess) Lists() bool { return false }

// Lists reports whether the rids come in ascending order, so that they need not be sorted. This is so if the
// rids of each part of the intersection do.
func (a *IntersectionAccess) Lists() bool {
	for _, b := range a.List {
		if !b.Lists() {
			return false
		}
	}
	return true
}

// Lists reports whether the rids come in ascending order, so that they need not be sorted. This is so if the
// rids of each part of the union do.
func (a *UnionAccess) Lists() bool {
	return len(a.List) <= MaxOpen && (&IntersectionAccess{a.List}).Lists()
}

// String returns the access as text, for the output of a plan.
func (a *IndexKeysAccess) String() string { return a.text }

// String returns the access as text, for the output of a plan.
func (a *SpansAccess) String() string {
	if a.Whole {
		return "terms " + a.text
	}
	return "range " + a.text
}

// String returns the access as text, for the output of a plan.
func (a *IntersectionAccess) String() string { return "intersect (" + joined(a.List) + ")" }

// String returns the access as text, for the output of a plan.
func (a *UnionAccess) String() string { return "union (" + joined(a.List) + ")" }

func joined(list []IndexAccess) string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	return shortened(strings.Join(texts, "; "))
}

// MaxOpen is the maximum number of posting lists that are merged while they are read. If there are more,
// their rids are read first and then sorted.
const MaxOpen = 16

// Later returns the greater of two keys.
func Later(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}
