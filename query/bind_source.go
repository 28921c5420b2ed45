package query

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/syntax"
)

// source binds one source of a FROM clause. A first source that names nothing in scope is the container.
func (b *binder) source(bl *block, s *scope, src *syntax.Source, i int) {
	if src.Sub != nil {
		outermost := s.empty()
		sub := b.block(src.Sub, bl, s, true)
		b.uniqueAlias(s, src)
		kind := stepRows
		if src.In {
			kind = stepFlatten
		}
		bl.container = bl.container || outermost && sub.container
		b.bind(bl, s, &step{kind: kind, sub: sub}, &alias{name: src.Alias})
		return
	}
	root, steps, _ := syntax.PathOf(src.Path)
	if again := !src.In && src.Alias == "" && len(steps) == 0; !again {
		b.uniqueAlias(s, src)
	}
	from := s.find(root.Name)
	if from == nil {
		if i > 0 || !s.empty() {
			b.failCode(root, fault.CodeUnresolved, "Identifier '%s' could not be resolved.", root.Name)
			from = &alias{block: bl}
		} else {
			bl.container = true
			from = &alias{item: true, known: true, single: true, block: bl}
			bl.steps = append(bl.steps, &step{kind: stepItem, alias: from})
		}
	}
	b.idents[root] = from
	name, _ := sourceName(src)
	if len(steps) == 0 && !src.In {
		again := *from // FROM c, where c is the container or an alias outside: another name for it
		again.name, again.block = name, bl
		if from.block == bl && len(bl.steps) > 0 {
			again.level = len(bl.steps) - 1
			bl.steps[again.level].alias = &again
		} else if from.item {
			again.level = len(bl.steps)
			bl.steps = append(bl.steps, &step{kind: stepItem, alias: &again})
		} else {
			b.bind(bl, s, &step{kind: stepBind, x: src.Path}, &again)
			return
		}
		s.aliases = append(s.aliases, &again)
		return
	}
	a := &alias{name: name, known: from.known, entered: from.entered, single: from.single,
		route: slices.Clone(from.route)}
	for _, st := range steps {
		a.route = append(a.route, index.Segment{Name: st.Name})
		a.known = a.known && !st.IsIndex
	}
	kind := stepBind
	if src.In {
		kind = stepElements
		a.route, a.entered, a.single = append(a.route, index.Segment{Element: true}), true, false
	}
	b.bind(bl, s, &step{kind: kind, x: src.Path}, a)
}

// sourceName is the name that a source binds, and where it is written.
func sourceName(src *syntax.Source) (name string, at syntax.Span) {
	name, at = src.Alias, src.Span
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

// uniqueAlias refuses a source whose name is bound already, here or outside.
func (b *binder) uniqueAlias(s *scope, src *syntax.Source) {
	name, at := sourceName(src)
	if name != "" && s.find(name) != nil {
		b.fail(at, &fault.Error{Code: fault.CodeSameAlias,
			Message: fmt.Sprintf("The input set name or alias '%s' is specified more than once in the FROM clause.", name)})
	}
}

// bind appends a step whose values get a slot of their own.
func (b *binder) bind(bl *block, s *scope, st *step, a *alias) {
	a.block, a.level, a.slot, a.item = bl, len(bl.steps), b.slots, false
	b.slots++
	st.alias = a
	bl.steps = append(bl.steps, st)
	if a.name != "" {
		s.aliases = append(s.aliases, a)
	}
}
