package query

import (
	"bytes"
	"fmt"
	"strings"
)

// access is a node of a plan that proposes documents: the rids below some keys of an index. It holds no
// state; a run opens it. All the documents that fulfil the condition that it stands for are among those that
// it proposes. There may be others.
type access interface {
	fmt.Stringer
	// Lists tells that the rids come in order as they lie in posting lists. The others are read first and put
	// in order.
	lists() bool
}

// keysAccess are the documents below one of some index keys.
type keysAccess struct {
	keys [][]byte
	text string
}

// spansAccess are the documents in one of some ranges of index keys. Where it has a test, those are left out
// whose term fails it.
type spansAccess struct {
	spans []span
	test  *termTest
	whole bool // the spans are all of the path: the test alone says something
	text  string
}

// allOfAccess are the documents that all of a list of posting lists propose.
type allOfAccess struct{ list []access }

// anyOfAccess are the documents that one of a list proposes.
type anyOfAccess struct{ list []access }

func (a *keysAccess) lists() bool  { return len(a.keys) <= maxOpen }
func (a *spansAccess) lists() bool { return false }

func (a *allOfAccess) lists() bool {
	for _, b := range a.list {
		if !b.lists() {
			return false
		}
	}
	return true
}

func (a *anyOfAccess) lists() bool {
	return len(a.list) <= maxOpen && (&allOfAccess{a.list}).lists()
}

func (a *keysAccess) String() string { return a.text }

func (a *spansAccess) String() string {
	if a.whole {
		return "terms " + a.text
	}
	return "range " + a.text
}

func (a *allOfAccess) String() string { return "intersect (" + joined(a.list) + ")" }
func (a *anyOfAccess) String() string { return "union (" + joined(a.list) + ")" }

func joined(list []access) string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	return shortened(strings.Join(texts, "; "))
}

// maxOpen is how many posting lists are merged as they are read. More are gathered.
const maxOpen = 16

func later(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}
