package query

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/record"
)

// maxGroups is how many bytes the groups of one page may take. Where there are more, those with the lowest
// keys are made first, and the others by later pages.
const maxGroups = 32 << 20

// cutKey is what a cursor holds of the key of a group.
func cutKey(key []byte) []byte { return key[:min(len(key), record.MaxCursorKey)] }

// takes tells whether the page makes the group of a key.
func (g *grouper) takes(key []byte) bool {
	return !g.paged || bytes.Compare(cutKey(key), g.from) >= 0 && (g.bound == "" || string(key) < g.bound)
}

// shed makes room where the groups take too much: it puts them into a file. Where there is none, it leaves
// the upper half of them to a later page.
func (g *grouper) shed() {
	if *g.held <= min(maxGroups, g.f.run.LimitHeld()/2) || len(g.groups) < 2 {
		return
	}
	if g.f.run.env.Temp != nil {
		g.spill()
		return
	}
	if g.paged {
		g.halve()
	}
}

// halve leaves the upper half of the groups to a later page.
func (g *grouper) halve() {
	g.sortByKey()
	half := len(g.groups) / 2
	g.bound = g.groups[half].key
	for _, one := range g.groups[half:] {
		*g.held -= one.size
		g.f.run.Used -= one.size
		delete(g.byKey, one.key)
	}
	clear(g.groups[half:])
	g.groups = g.groups[:half]
}

// closes tells a walk that comes by the order of keys whether the page makes no group at a value, nor behind
// it. Where the first source has as many groups as a page is made of, the page ends before the next one;
// other sources have groups among those.
func (g *grouper) closes(v doc.Value, most int, first bool) bool {
	if !g.paged || g.bound == "" && (len(g.groups) < most || g.runs != nil) {
		return false
	}
	g.key = doc.AppendOrdered(g.key[:0], v)
	if g.bound == "" && first {
		g.bound = string(g.key)
	} else if g.bound == "" || len(g.groups) >= 2*most {
		g.halve()
	}
	return string(g.key) >= g.bound
}

func (g *grouper) sortByKey() {
	slices.SortFunc(g.groups, func(a, b *bucket) int {
		if !g.f.run.Spend(16 + min(len(a.key), len(b.key))) {
			return 0
		}
		return strings.Compare(a.key, b.key)
	})
}

// counted is the result where all aggregates are one count.
func (g *grouper) counted(total int64) error {
	for i := range g.groups[0].state {
		g.groups[0].state[i] = &lang.Counter{N: total}
	}
	return g.f.run.Err
}
