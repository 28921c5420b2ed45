package rule

import (
	"strconv"
	"strings"
)

// expressionNode is a node of an expression's tree. write writes the node with enough parentheses that the
// text parses to the same tree.
type expressionNode interface {
	eval(*evaluatedMessage) Value
	write(*strings.Builder)
	// logical reports whether the node is a predicate, whose value is a truth, rather than an expression.
	logical() bool
}

type literalNode struct{ Value }

type propertyNode struct {
	system SystemProperty // 0: an application property
	name   string
}

type parameterNode struct {
	name  string
	value Value
}

type newIDNode struct{}

type propertyFunctionNode struct{ name expressionNode } // property(...)

type unaryNode struct {
	negative bool
	of       expressionNode
}

type binaryNode struct {
	op   byte
	a, b expressionNode
}

type comparisonNode struct {
	op   string
	a, b expressionNode
}

type isNullNode struct {
	of  expressionNode
	not bool
}

type inNode struct {
	of   expressionNode
	list []expressionNode
	not  bool
}

type likeNode struct {
	of      expressionNode
	pattern expressionNode
	escape  expressionNode // nil: none
	not     bool
}

type existsNode struct{ of propertyNode }

type notNode struct{ of expressionNode }

// andOrNode is an AND or OR of two or more operands.
type andOrNode struct {
	or   bool
	list []expressionNode
}

func (literalNode) logical() bool          { return false }
func (propertyNode) logical() bool         { return false }
func (parameterNode) logical() bool        { return false }
func (newIDNode) logical() bool            { return false }
func (propertyFunctionNode) logical() bool { return false }
func (unaryNode) logical() bool            { return false }
func (binaryNode) logical() bool           { return false }
func (comparisonNode) logical() bool       { return true }
func (isNullNode) logical() bool           { return true }
func (inNode) logical() bool               { return true }
func (likeNode) logical() bool             { return true }
func (existsNode) logical() bool           { return true }
func (notNode) logical() bool              { return true }
func (andOrNode) logical() bool            { return true }

func (n literalNode) write(b *strings.Builder) {
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

func (n propertyNode) write(b *strings.Builder) {
	if n.system != 0 {
		b.WriteString("sys." + n.system.String())
		return
	}
	b.WriteString("user.[" + strings.ReplaceAll(n.name, "]", "]]") + "]")
}

func (n parameterNode) write(b *strings.Builder) { b.WriteString("@" + n.name) }

func (newIDNode) write(b *strings.Builder) { b.WriteString("newid()") }

func (n propertyFunctionNode) write(b *strings.Builder) {
	b.WriteString("property(")
	n.name.write(b)
	b.WriteByte(')')
}

func (n unaryNode) write(b *strings.Builder) {
	if n.negative {
		b.WriteString("(-(")
	} else {
		b.WriteString("(+(")
	}
	n.of.write(b)
	b.WriteString("))")
}

func (n binaryNode) write(b *strings.Builder) {
	b.WriteByte('(')
	n.a.write(b)
	b.WriteString(" " + string(n.op) + " ")
	n.b.write(b)
	b.WriteByte(')')
}

func (n comparisonNode) write(b *strings.Builder) {
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

func (n isNullNode) write(b *strings.Builder) {
	b.WriteByte('(')
	n.of.write(b)
	b.WriteString(" IS ")
	writeNot(b, n.not)
	b.WriteString("NULL)")
}

func (n inNode) write(b *strings.Builder) {
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

func (n likeNode) write(b *strings.Builder) {
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

func (n existsNode) write(b *strings.Builder) {
	b.WriteString("EXISTS(")
	n.of.write(b)
	b.WriteByte(')')
}

func (n notNode) write(b *strings.Builder) {
	b.WriteString("(NOT ")
	n.of.write(b)
	b.WriteByte(')')
}

func (n andOrNode) write(b *strings.Builder) {
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
