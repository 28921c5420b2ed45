package eval

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/record"
)

// MaxGroups is how many bytes the groups of one page may take. Where there are more, those with the lowest
// keys are made first, and the others by later pages.
const MaxGroups = 32 << 20

// CutKey is what a cursor holds of the key of a group.
func CutKey(key []byte) []byte { return key[:min(len(key), record.MaxCursorKey)] }

// Takes reports whether the page makes the group of a key.
func (g *Grouper) Takes(key []byte) bool {
	return !g.Paged || bytes.Compare(CutKey(key), g.From) >= 0 && (g.Bound == "" || string(key) < g.Bound)
}

// shed makes room where the groups take too much: it puts them into a file. Where there is none, it leaves
// the upper half of them to a later page.
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

// halve leaves the upper half of the groups to a later page.
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

// Closes tells a walk that comes by the order of keys whether the page makes no group at a value, nor behind
// it. Where the first source has as many groups as a page is made of, the page ends before the next one;
// other sources have groups among those.
func (g *Grouper) Closes(v jsondoc.Value, most int, first bool) bool {
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
	slices.SortFunc(g.Groups, func(a, b *Bucket) int {
		if !g.f.Run.Spend(16 + min(len(a.key), len(b.key))) {
			return 0
		}
		return strings.Compare(a.key, b.key)
	})
}

// Counted is the result where all aggregates are one count.
func (g *Grouper) Counted(total int64) error {
	for i := range g.Groups[0].State {
		g.Groups[0].State[i] = &lang.Counter{N: total}
	}
	return g.f.Run.Err
}
