package eval

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/record"
)

// MaxGroups is the maximum size in bytes of the groups of one page. If the groups need more, the page makes
// those with the lowest keys and leaves the others to later pages.
const MaxGroups = 32 << 20

// CutKey returns the part of a group's key that is stored in a continuation token: its first
// record.MaxCursorKey bytes.
func CutKey(key []byte) []byte { return key[:min(len(key), record.MaxCursorKey)] }

// InPage reports whether the group with this key belongs to the current page. Each page of a paged query
// returns the groups whose keys lie in one interval; without paging all groups belong to it.
func (g *Grouper) InPage(key []byte) bool {
	return !g.Paged || bytes.Compare(CutKey(key), g.From) >= 0 && (g.Bound == "" || string(key) < g.Bound)
}

// makeRoom moves the groups to a file if they need too much memory. If there are no temporary files, it
// leaves the upper half of the groups to a later page.
func (g *Grouper) makeRoom() {
	if *g.held <= min(MaxGroups, g.f.Run.LimitHeld()/2) || len(g.Groups) < 2 {
		return
	}
	if g.f.Run.Env.Temp != nil {
		g.Spill()
		return
	}
	if g.Paged {
		g.halve()
	}
}

// halve drops the half of the groups with the greater keys; a later page makes them.
func (g *Grouper) halve() {
	g.sortByKey()
	half := len(g.Groups) / 2
	g.Bound = g.Groups[half].key
	for _, one := range g.Groups[half:] {
		*g.held -= one.size
		g.f.Run.Used -= one.size
		delete(g.byKey, one.key)
	}
	clear(g.Groups[half:])
	g.Groups = g.Groups[:half]
}

// EndsPage is called by a walk over an index in the order of keys. It reports whether neither v, the value at
// which the walk is, nor any later value has a group on this page. most is the maximum number of groups of a
// page, and first reports whether the walk is over the first source. When the first source has made that many
// groups, the page ends before its next group. Other sources then add rows only to groups before that end.
func (g *Grouper) EndsPage(v jsondoc.Value, most int, first bool) bool {
	if !g.Paged || g.Bound == "" && (len(g.Groups) < most || g.Runs != nil) {
		return false
	}
	g.key = jsondoc.AppendOrdered(g.key[:0], v)
	if g.Bound == "" && first {
		g.Bound = string(g.key)
	} else if g.Bound == "" || len(g.Groups) >= 2*most {
		g.halve()
	}
	return string(g.key) >= g.Bound
}

func (g *Grouper) sortByKey() {
	slices.SortFunc(g.Groups, func(a, b *GroupState) int {
		if !g.f.Run.Spend(16 + min(len(a.key), len(b.key))) {
			return 0
		}
		return strings.Compare(a.key, b.key)
	})
}

// Counted sets the result of all aggregates to total. It may be called only if all of them are the same
// count.
func (g *Grouper) Counted(total int64) error {
	for i := range g.Groups[0].State {
		g.Groups[0].State[i] = &lang.CountAggregate{N: total}
	}
	return g.f.Run.Err
}
