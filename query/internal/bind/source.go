package bind

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// source binds one source of a FROM clause. If the first source is a name that is not in scope, the name
// stands for the container.
func (b *Binder) source(bl *QueryBlock, s *nameScope, src *syntax.FromSource, i int) {
	if src.Sub != nil {
		outermost := s.empty()
		sub := b.Block(src.Sub, bl, s, true)
		b.uniqueAlias(s, src)
		kind := stepRows
		if src.In {
			kind = StepFlatten
		}
		bl.Container = bl.Container || outermost && sub.Container
		b.bind(bl, s, &FromSource{Kind: kind, Sub: sub}, &FromAlias{Name: src.Alias})
		return
	}
	root, steps, _ := syntax.PathOf(src.Path)
	if again := !src.In && src.Alias == "" && len(steps) == 0; !again {
		b.uniqueAlias(s, src)
	}
	from := s.find(root.Name)
	if from == nil {
		if i > 0 || !s.empty() {
			b.failCode(root, queryerror.CodeUnresolved, "Identifier '%s' could not be resolved.", root.Name)
			from = &FromAlias{Block: bl}
		} else {
			bl.Container = true
			from = &FromAlias{Item: true, known: true, single: true, Block: bl}
			bl.Steps = append(bl.Steps, &FromSource{Kind: StepItem, Alias: from})
		}
	}
	b.Idents[root] = from
	name, _ := sourceName(src)
	if len(steps) == 0 && !src.In {
		// FROM c, where c is the container or an outer alias: the source is another name for it
		again := *from
		again.Name, again.Block = name, bl
		if from.Block == bl && len(bl.Steps) > 0 {
			again.Level = len(bl.Steps) - 1
			bl.Steps[again.Level].Alias = &again
		} else if from.Item {
			again.Level = len(bl.Steps)
			bl.Steps = append(bl.Steps, &FromSource{Kind: StepItem, Alias: &again})
		} else {
			b.bind(bl, s, &FromSource{Kind: StepBind, X: src.Path}, &again)
			return
		}
		s.aliases = append(s.aliases, &again)
		return
	}
	a := &FromAlias{Name: name, known: from.known, entersArray: from.entersArray, single: from.single,
		route: slices.Clone(from.route)}
	for _, st := range steps {
		a.route = append(a.route, index.PathSegment{Name: st.Name})
		a.known = a.known && !st.IsIndex
	}
	kind := StepBind
	if src.In {
		kind = StepElements
		a.route, a.entersArray, a.single = append(a.route, index.PathSegment{Element: true}), true, false
	}
	b.bind(bl, s, &FromSource{Kind: kind, X: src.Path}, a)
}

// sourceName returns the name that a source binds, and its position.
func sourceName(src *syntax.FromSource) (name string, at syntax.TextSpan) {
	name, at = src.Alias, src.TextSpan
	if name == "" && src.Path != nil {
		root, steps, _ := syntax.PathOf(src.Path)
		if name = root.Name; len(steps) > 0 {
			name = steps[len(steps)-1].Name
		}
	}
	if n := utf8.RuneCountInString(name); src.In {
		at.End = at.Start + n
	} else {
		at.Start = at.End - n
	}
	return name, at
}

// uniqueAlias refuses a source whose name is already bound in this scope or an outer one.
func (b *Binder) uniqueAlias(s *nameScope, src *syntax.FromSource) {
	name, at := sourceName(src)
	if name != "" && s.find(name) != nil {
		b.fail(at, &queryerror.Error{Code: queryerror.CodeSameAlias,
			Message: fmt.Sprintf("The input set name or alias '%s' is specified more than once in the FROM clause.", name)})
	}
}

// bind appends a step (a source of FROM) to a block. The name that the step binds, a, gets an index of its
// own in the frame, where the values of the current row are.
func (b *Binder) bind(bl *QueryBlock, s *nameScope, st *FromSource, a *FromAlias) {
	a.Block, a.Level, a.Slot, a.Item = bl, len(bl.Steps), b.Slots, false
	b.Slots++
	st.Alias = a
	bl.Steps = append(bl.Steps, st)
	if a.Name != "" {
		s.aliases = append(s.aliases, a)
	}
}
