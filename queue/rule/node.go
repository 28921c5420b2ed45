package rule

import (
	"strconv"
	"strings"
)

// node is a node of an expression's tree. write writes the node with enough parentheses that the text parses
// to the same tree.
type node interface {
	eval(*evalScope) Value
	write(*strings.Builder)
	// logical reports whether the node is a predicate, whose value is a truth, rather than an expression.
	logical() bool
}

type literal struct{ Value }

type property struct {
	system System // 0: an application property
	name   string
}

type parameter struct {
	name  string
	value Value
}

type newID struct{}

type computed struct{ name node } // property(...)

type unary struct {
	negative bool
	of       node
}

type binary struct {
	op   byte
	a, b node
}

type comparison struct {
	op   string
	a, b node
}

type isNull struct {
	of  node
	not bool
}

type inList struct {
	of   node
	list []node
	not  bool
}

type like struct {
	of      node
	pattern node
	escape  node // nil: none
	not     bool
}

type exists struct{ of property }

type negation struct{ of node }

// junction is an AND or OR of two or more operands.
type junction struct {
	or   bool
	list []node
}

func (literal) logical() bool    { return false }
func (property) logical() bool   { return false }
func (parameter) logical() bool  { return false }
func (newID) logical() bool      { return false }
func (computed) logical() bool   { return false }
func (unary) logical() bool      { return false }
func (binary) logical() bool     { return false }
func (comparison) logical() bool { return true }
func (isNull) logical() bool     { return true }
func (inList) logical() bool     { return true }
func (like) logical() bool       { return true }
func (exists) logical() bool     { return true }
func (negation) logical() bool   { return true }
func (junction) logical() bool   { return true }

func (n literal) write(b *strings.Builder) {
	switch n.Kind {
	case Null:
		b.WriteString("NULL")
	case Text:
		b.WriteString("'" + strings.ReplaceAll(n.text, "'", "''") + "'")
	case Float:
		text := strconv.FormatFloat(n.Float(), 'e', -1, 64)
		b.WriteString(text)
	default:
		b.WriteString(n.display())
	}
}

func (n property) write(b *strings.Builder) {
	if n.system != 0 {
		b.WriteString("sys." + n.system.String())
		return
	}
	b.WriteString("user.[" + strings.ReplaceAll(n.name, "]", "]]") + "]")
}

func (n parameter) write(b *strings.Builder) { b.WriteString("@" + n.name) }

func (newID) write(b *strings.Builder) { b.WriteString("newid()") }

func (n computed) write(b *strings.Builder) {
	b.WriteString("property(")
	n.name.write(b)
	b.WriteByte(')')
}

func (n unary) write(b *strings.Builder) {
	if n.negative {
		b.WriteString("(-(")
	} else {
		b.WriteString("(+(")
	}
	n.of.write(b)
	b.WriteString("))")
}

func (n binary) write(b *strings.Builder) {
	b.WriteByte('(')
	n.a.write(b)
	b.WriteString(" " + string(n.op) + " ")
	n.b.write(b)
	b.WriteByte(')')
}

func (n comparison) write(b *strings.Builder) {
	b.WriteByte('(')
	n.a.write(b)
	b.WriteString(" " + n.op + " ")
	n.b.write(b)
	b.WriteByte(')')
}

func writeNot(b *strings.Builder, not bool) {
	if not {
		b.WriteString("NOT ")
	}
}

func (n isNull) write(b *strings.Builder) {
	b.WriteByte('(')
	n.of.write(b)
	b.WriteString(" IS ")
	writeNot(b, n.not)
	b.WriteString("NULL)")
}

func (n inList) write(b *strings.Builder) {
	b.WriteByte('(')
	n.of.write(b)
	b.WriteByte(' ')
	writeNot(b, n.not)
	b.WriteString("IN (")
	for i, e := range n.list {
		if i > 0 {
			b.WriteString(", ")
		}
		e.write(b)
	}
	b.WriteString("))")
}

func (n like) write(b *strings.Builder) {
	b.WriteByte('(')
	n.of.write(b)
	b.WriteByte(' ')
	writeNot(b, n.not)
	b.WriteString("LIKE ")
	n.pattern.write(b)
	if n.escape != nil {
		b.WriteString(" ESCAPE ")
		n.escape.write(b)
	}
	b.WriteByte(')')
}

func (n exists) write(b *strings.Builder) {
	b.WriteString("EXISTS(")
	n.of.write(b)
	b.WriteByte(')')
}

func (n negation) write(b *strings.Builder) {
	b.WriteString("(NOT ")
	n.of.write(b)
	b.WriteByte(')')
}

func (n junction) write(b *strings.Builder) {
	word := " AND "
	if n.or {
		word = " OR "
	}
	b.WriteByte('(')
	for i, e := range n.list {
		if i > 0 {
			b.WriteString(word)
		}
		e.write(b)
	}
	b.WriteByte(')')
}
