package rule

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// evaluatedMessage is the message on which an expression is evaluated.
type evaluatedMessage struct{ Message }

// truthIn returns the truth value of a node on the message s. A value that is not Boolean is unknown.
func truthIn(s *evaluatedMessage, n expressionNode) truthValue {
	if v := n.eval(s); v.Kind == Boolean {
		return truthOf(v.Bool())
	}
	return unknown
}

// asValue returns a truth value as a Boolean Value, or Missing if it is unknown.
func (t truthValue) asValue() Value {
	switch t {
	case yes:
		return Bool(true)
	case no:
		return Bool(false)
	}
	return Value{}
}

func (n literalNode) eval(*evaluatedMessage) Value { return n.Value }

func (n propertyNode) eval(s *evaluatedMessage) Value {
	if n.system != 0 {
		return s.System(n.system)
	}
	return s.User(n.name)
}

func (n parameterNode) eval(*evaluatedMessage) Value { return n.value }

func (newIDNode) eval(*evaluatedMessage) Value { return String(uuid.NewString()) }

func (n propertyFunctionNode) eval(s *evaluatedMessage) Value {
	if name := n.name.eval(s); name.Kind == Text {
		return s.User(name.text)
	}
	return Value{}
}

func (n unaryNode) eval(s *evaluatedMessage) Value {
	v := n.of.eval(s)
	switch {
	case !v.isNumber():
		return Value{}
	case !n.negative:
		return v
	case v.Kind == Float:
		return Number(-v.Float())
	case v.number == math.MinInt64:
		return Value{}
	}
	return Int(-v.number)
}

func (n binaryNode) eval(s *evaluatedMessage) Value {
	a, b := n.a.eval(s), n.b.eval(s)
	switch {
	case n.op == '+' && a.Kind == Text && b.Kind == Text:
		return String(a.text + b.text)
	case a.Kind == Integer && b.Kind == Integer:
		return integers(n.op, a.number, b.number)
	case a.isNumber() && b.isNumber():
		return floats(n.op, a.Float(), b.Float())
	}
	return Value{}
}

// integers returns the result of the arithmetic operator op on a and b. The result is Missing on overflow
// and on division by zero.
func integers(op byte, a, b int64) Value {
	switch op {
	case '+':
		if sum := a + b; (sum > a) == (b > 0) {
			return Int(sum)
		}
	case '-':
		if diff := a - b; (diff < a) == (b > 0) {
			return Int(diff)
		}
	case '*':
		if a == 0 || b == 0 {
			return Int(0)
		}
		if product := a * b; product/b == a && !(a == -1 && b == math.MinInt64) &&
			!(b == -1 && a == math.MinInt64) {
			return Int(product)
		}
	case '/':
		if b != 0 && !(a == math.MinInt64 && b == -1) {
			return Int(a / b)
		}
	case '%':
		if b == -1 {
			return Int(0)
		}
		if b != 0 {
			return Int(a % b)
		}
	}
	return Value{}
}

func floats(op byte, a, b float64) Value {
	var f float64
	switch op {
	case '+':
		f = a + b
	case '-':
		f = a - b
	case '*':
		f = a * b
	case '/':
		f = a / b
	case '%':
		f = math.Mod(a, b)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}
	}
	return Number(f)
}

func (n comparisonNode) eval(s *evaluatedMessage) Value {
	a, b := n.a.eval(s), n.b.eval(s)
	switch n.op {
	case "=":
		return equal(a, b).asValue()
	case "<>", "!=":
		return equal(a, b).not().asValue()
	}
	order, ok := compare(a, b)
	if !ok {
		return Value{}
	}
	switch n.op {
	case ">":
		return Bool(order > 0)
	case ">=":
		return Bool(order >= 0)
	case "<":
		return Bool(order < 0)
	}
	return Bool(order <= 0)
}

func (n isNullNode) eval(s *evaluatedMessage) Value { return Bool(n.of.eval(s).known() == n.not) }

func (n inNode) eval(s *evaluatedMessage) Value {
	v := n.of.eval(s)
	found := no
	for _, e := range n.list {
		switch equal(v, e.eval(s)) {
		case yes:
			return Bool(!n.not)
		case unknown:
			found = unknown
		}
	}
	if n.not {
		found = found.not()
	}
	return found.asValue()
}

func (n likeNode) eval(s *evaluatedMessage) Value {
	v, pattern := n.of.eval(s), n.pattern.eval(s)
	if v.Kind != Text || pattern.Kind != Text {
		return Value{}
	}
	escape := utf8.RuneError
	if n.escape != nil {
		e := n.escape.eval(s)
		if e.Kind != Text || utf8.RuneCountInString(e.text) != 1 {
			return Value{}
		}
		escape, _ = utf8.DecodeRuneInString(e.text)
	}
	return Bool(matches(v.text, cut(pattern.text, escape)) != n.not)
}

func (n existsNode) eval(s *evaluatedMessage) Value {
	if n.of.system != 0 {
		return Bool(s.System(n.of.system).known())
	}
	return Bool(s.User(n.of.name).Kind != Missing)
}

func (n notNode) eval(s *evaluatedMessage) Value { return truthIn(s, n.of).not().asValue() }

func (n andOrNode) eval(s *evaluatedMessage) Value {
	decides, found := no, yes
	if n.or {
		decides, found = yes, no
	}
	for _, e := range n.list {
		switch t := truthIn(s, e); t {
		case decides:
			return decides.asValue()
		case unknown:
			found = unknown
		}
	}
	return found.asValue()
}

// likePatternPiece is one element of a LIKE pattern: a character or a wildcard.
type likePatternPiece struct {
	r    rune
	any  bool // any single character
	many bool // matches any sequence of characters
}

// cut splits a pattern of LIKE into pieces. escape is its escape character, or utf8.RuneError for none.
func cut(pattern string, escape rune) (list []likePatternPiece) {
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			list, escaped = append(list, likePatternPiece{r: r}), false
		case r == escape && escape != utf8.RuneError:
			escaped = true
		case r == '%':
			list = append(list, likePatternPiece{many: true})
		case r == '_':
			list = append(list, likePatternPiece{any: true})
		default:
			list = append(list, likePatternPiece{r: r})
		}
	}
	return list
}

// matches reports whether a text matches a LIKE pattern. On a mismatch it goes back only to the last % of the
// pattern, so that its time is at most proportional to the product of both lengths.
func matches(text string, pattern []likePatternPiece) bool {
	p, from, restart := 0, -1, 0
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case p < len(pattern) && pattern[p].many:
			from, restart = p, at
			p++
		case p < len(pattern) && (pattern[p].any || pattern[p].r == r):
			p++
			at += size
		case from >= 0:
			_, skip := utf8.DecodeRuneInString(text[restart:])
			restart += skip
			p, at = from+1, restart
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p].many {
		p++
	}
	return p == len(pattern)
}

// textOf returns the text of an expression's tree.
func textOf(n expressionNode) string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}
