package plan

import (
	"bytes"
	"fmt"
	"strings"
)

// Access is a node of a plan that proposes documents: the rids below some keys of an index. It holds no
// state; a run opens it. All the documents that fulfil the condition that it stands for are among those that
// it proposes. There may be others.
type Access interface {
	fmt.Stringer
	// Lists reports whether the rids come in order as they lie in posting lists. The others are read first
	// and put in order.
	Lists() bool
}

// KeysAccess are the documents below one of some index keys.
type KeysAccess struct {
	Keys [][]byte
	text string
}

// SpansAccess are the documents in one of some ranges of index keys. Where it has a test, those are left out
// whose term fails it.
type SpansAccess struct {
	Spans []Span
	Test  *TermTest
	Whole bool // the spans are all of the path: the test alone says something
	text  string
}

// AllOfAccess are the documents that all of a list of posting lists propose.
type AllOfAccess struct{ List []Access }

// AnyOfAccess are the documents that one of a list proposes.
type AnyOfAccess struct{ List []Access }

// Lists implements Access.
func (a *KeysAccess) Lists() bool { return len(a.Keys) <= MaxOpen }

// Lists implements Access.
func (a *SpansAccess) Lists() bool { return false }

// Lists implements Access.
func (a *AllOfAccess) Lists() bool {
	for _, b := range a.List {
		if !b.Lists() {
			return false
		}
	}
	return true
}

// Lists implements Access.
func (a *AnyOfAccess) Lists() bool {
	return len(a.List) <= MaxOpen && (&AllOfAccess{a.List}).Lists()
}

// String implements Access.
func (a *KeysAccess) String() string { return a.text }

// String implements Access.
func (a *SpansAccess) String() string {
	if a.Whole {
		return "terms " + a.text
	}
	return "range " + a.text
}

// String implements Access.
func (a *AllOfAccess) String() string { return "intersect (" + joined(a.List) + ")" }

// String implements Access.
func (a *AnyOfAccess) String() string { return "union (" + joined(a.List) + ")" }

func joined(list []Access) string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	return shortened(strings.Join(texts, "; "))
}

// MaxOpen is how many posting lists are merged as they are read. More are gathered.
const MaxOpen = 16

// Later returns the greater of two keys.
func Later(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}
