package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A Query is the text of a query and its parameters.
type Query struct {
	Text   string
	Params []QueryParameter
}

// QueryParameter is a parameter of a Query: its name and its value.
type QueryParameter struct {
	Name  string // including the @
	Value string // JSON token
}

// RandomQuery draws a query about documents with RandomFields. The query is valid, but may have an ORDER BY
// that needs a missing index (see Refused). It limits the number of rows only if their order is significant
// (see Ordered).
func RandomQuery(r *rand.Rand) Query {
	g := queryGenerator{r: r}
	var text string
	switch r.IntN(16) {
	case 0, 1, 2, 3, 4, 5:
		text = g.plain()
	case 6, 7:
		text = g.sorted()
	case 8, 9:
		text = g.joined()
	case 10, 11:
		text = g.aggregated()
	case 12:
		text = g.grouped()
	case 13:
		text = g.distinct()
	case 14:
		text = g.inside()
	default:
		text = g.derived()
	}
	return g.query(text)
}

// query returns a Query with the given text. It omits parameters that were drawn but are not used.
func (g *queryGenerator) query(text string) Query {
	q := Query{Text: text}
	for _, p := range g.params {
		if strings.Contains(text, p.Name) {
			q.Params = append(q.Params, p)
		}
	}
	return q
}

// RandomRows draws a query whose rows have the id of their document and are returned page by page: without
// TOP, OFFSET and LIMIT, and without rows that combine several documents.
func RandomRows(r *rand.Rand) Query {
	g := queryGenerator{r: r}
	p := g.path()
	text := "SELECT c.id, " + p + " AS v FROM c" + g.where()
	if g.chance(4) {
		text = "SELECT c.id, t AS v FROM c JOIN t IN c.tags" + g.where()
	}
	switch g.r.IntN(4) {
	case 0, 1:
		text += " ORDER BY " + g.key()
	case 2:
		text += g.orderBy(pick(r, composites()...))
	}
	return g.query(text)
}

// queryGenerator draws a query and its parameters.
type queryGenerator struct {
	r      *rand.Rand
	params []QueryParameter
}

func (g *queryGenerator) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *queryGenerator) pick(from ...string) string { return pick(g.r, from...) }

// path draws the path of a value that is a scalar in most documents.
func (g *queryGenerator) path() string {
	return g.pick("c.n", "c.n", "c.n", "c.s", "c.s", "c.s", "c.m", "c.m", "c.o.x", "c.o.x", "c.o.y", "c.b",
		"c.o.z.w", `c["n"]`, `c["a-b"]`,
		"c.id", "c.pk", "c._ts", "c.missing", "c.tags[0]", "c.list[0].k", "c.o", "c.tags", "c.v", "c.u")
}

// constantFor draws a value to compare a path with, mostly of the type that documents have there.
func (g *queryGenerator) constantFor(path string) string {
	token := scalar(g.r)
	if !g.chance(5) {
		switch path {
		case "c.n", `c["n"]`, "c.o.y", `c["a-b"]`:
			token = g.pick(numbers()...)
		case "c.s":
			token = g.pick(stringTokens()...)
		case "c.b":
			token = g.pick("true", "false")
		case "c.m", "c.o", "c.tags":
			token = anything(g.r)
		case "c.id":
			token = g.pick(`"a"`, `"b"`, `"n7"`, `"7"`, `"12"`)
		case "c.pk":
			token = g.pick(`"x"`, `"y"`, `"p"`, `"p"`, "null", "true", "1", "-0.0", "9007199254740992")
		case "c._ts":
			token = strconv.Itoa(began + g.r.IntN(60))
		}
	}
	return g.constant(token)
}

// constant returns how a random query writes a JSON token: as it is or, sometimes, as a new parameter with
// this value.
func (g *queryGenerator) constant(token string) string {
	if !g.chance(4) {
		return token
	}
	p := QueryParameter{"@p" + strconv.Itoa(len(g.params)), token}
	g.params = append(g.params, p)
	return p.Name
}

// where draws a WHERE clause, or none.
func (g *queryGenerator) where() string {
	if g.chance(5) {
		return ""
	}
	return " WHERE " + g.condition(2)
}

// condition draws a tree of AND, OR and NOT over predicates.
func (g *queryGenerator) condition(depth int) string {
	if depth == 0 || g.chance(3) {
		return g.predicate()
	}
	switch g.r.IntN(7) {
	case 0, 1, 2:
		return "(" + g.condition(depth-1) + " AND " + g.condition(depth-1) + ")"
	case 3, 4:
		return "(" + g.condition(depth-1) + " OR " + g.condition(depth-1) + ")"
	case 5:
		return "NOT (" + g.condition(depth-1) + ")"
	}
	path := g.path() // two ends of a range
	return fmt.Sprintf("(%s %s %s AND %s %s %s)", path, g.pick(">", ">="), g.constantFor(path), path,
		g.pick("<", "<=", "!="), g.constantFor(path))
}

func (g *queryGenerator) predicate() string {
	if g.chance(20) { // a long chain of conditions on one or two paths
		path, other := g.path(), g.path()
		var terms []string
		for range 3 + g.r.IntN(6) {
			terms = append(terms, g.pick(path, path, other)+" "+g.pick("=", "=", "=", ">", "!=")+" "+
				g.constantFor(path))
		}
		return "(" + strings.Join(terms, g.pick(" OR ", " OR ", " AND ")) + ")"
	}
	if g.chance(8) {
		return g.pick("true", "false", "undefined", "null", g.path(), "NOT "+g.path(),
			g.path()+" = "+g.path(), g.path()+" < "+g.path())
	}
	if g.chance(4) {
		return g.arrayPredicate()
	}
	return g.about(g.path())
}

// about draws a predicate about the value of one path.
func (g *queryGenerator) about(path string) string {
	value := func() string { return g.constantFor(path) }
	switch g.r.IntN(16) {
	case 0, 1, 2, 3:
		return path + " = " + value()
	case 4, 5:
		return path + " " + g.pick("<", "<=", ">", ">=") + " " + value()
	case 6:
		return value() + " " + g.pick("<", ">=", "=", "!=") + " " + path
	case 7:
		return path + " " + g.pick("!=", "<>") + " " + value()
	case 8:
		return "(" + path + g.pick("", "", " NOT") + " BETWEEN " + value() + " AND " + value() + ")"
	case 9:
		return path + g.pick("", "", " NOT") + " IN (" + value() + ", " + value() + ", " + value() + ")"
	case 10:
		pattern := g.pick(`"a%"`, `"%b"`, `"a_"`, `"a[_%]b"`, `"abc"`, `"%"`, `""`, `"long%x"`, `"[^a]%"`,
			`"1"`)
		return path + g.pick("", "", " NOT") + " LIKE " + g.pick(g.constant(pattern), g.constant(pattern),
			`"%!%b" ESCAPE "!"`)
	case 11:
		name := g.pick("STARTSWITH", "STARTSWITH", "STARTSWITH", "CONTAINS", "ENDSWITH", "STRINGEQUALS")
		return name + "(" + path + ", " + g.constant(g.pick(stringTokens()...)) + g.pick("", "", ", true",
			", false") + ")"
	case 12, 13:
		test := g.pick("DEFINED", "DEFINED", "NULL", "BOOL", "NUMBER", "STRING", "ARRAY", "OBJECT",
			"PRIMITIVE", "FINITE_NUMBER", "INTEGER")
		return g.pick("", "", "NOT ") + "IS_" + test + "(" + path + ")"
	case 14:
		return g.pick("ABS", "FLOOR", "LENGTH", "LOWER", "UPPER", "ARRAY_LENGTH") + "(" + path + ") " +
			g.pick("=", ">=", "<") + " " + value()
	}
	return g.pick("("+path+" + 1 > "+value()+")", "("+path+" ?? 1) = "+value(), "IIF("+path+" = "+value()+
		", true, "+path+")",
		"("+path+" = "+value()+" ? "+path+" : false)", "(("+path+` || "b") = `+value()+")", "["+path+"] = ["+
			value()+"]")
}

// arrayPredicate draws a predicate about the elements of an array.
func (g *queryGenerator) arrayPredicate() string {
	tag := func() string { return g.constant(scalar(g.r)) }
	switch g.r.IntN(13) {
	case 0, 1:
		return "ARRAY_CONTAINS(c.tags, " + tag() + ")"
	case 8:
		return "EXISTS(SELECT VALUE in1 FROM in1 IN c.tags WHERE in1 " + g.pick("=", "!=", ">") + " c.n)"
	case 9:
		return "(SELECT VALUE " + g.pick("MAX(in1)", "MIN(in1)", "SUM(in1)", "AVG(in1)") +
			" FROM in1 IN c.tags) " + g.pick("=", ">", "<=") + " " + tag()
	case 10:
		return "EXISTS(SELECT VALUE in2 FROM in2 IN c.list WHERE EXISTS(SELECT VALUE in1 FROM in1 IN c.tags WHERE in1 = in2.k AND " + g.element("in1") + "))"
	case 11:
		return "ARRAY_LENGTH(ARRAY(SELECT DISTINCT VALUE in1 FROM in1 IN c.tags)) " + g.pick("= 1", "> 1",
			"< ARRAY_LENGTH(c.tags)")
	case 12:
		return "ARRAY(SELECT in1 AS k, COUNT(1) AS n FROM in1 IN c.tags GROUP BY in1)[0].n = 1"
	case 2:
		return "ARRAY_CONTAINS(c.list, " + g.constant(g.pick(`{"k":1}`, `{"k":"a"}`, `{"k":2,"v":1}`)) +
			g.pick("", ", true") + ")"
	case 3:
		return "ARRAY_CONTAINS([" + tag() + ", " + tag() + "], " + g.path() + ")"
	case 4:
		return g.pick("", "NOT ") + "EXISTS(SELECT VALUE in1 FROM in1 IN c.tags WHERE " + g.element("in1") +
			")"
	case 5:
		return "EXISTS(SELECT VALUE 1 FROM in2 IN c.list WHERE " + g.element("in2.k") + " AND " +
			g.element("in2.v") + ")"
	case 6:
		return "(SELECT VALUE COUNT(1) FROM in1 IN c.tags WHERE " + g.element("in1") + ") > " +
			g.pick("0", "1")
	case 7:
		return g.pick("ARRAY_CONTAINS_ANY", "ARRAY_CONTAINS_ALL") + "(c.tags, " + tag() + ", " + tag() + ")"
	}
	return "EXISTS(SELECT in1 FROM in1 IN c.tags JOIN in2 IN c.list WHERE in1 = in2.v)"
}

// element draws a predicate about an array element that the query has bound to an identifier, such as `e >
// 3`.
func (g *queryGenerator) element(name string) string {
	v := g.constant(scalar(g.r))
	return g.pick(name+" = "+v, name+" = "+v, name+" > "+v, name+" != "+v, "IS_STRING("+name+")",
		"IS_DEFINED("+name+")",
		"("+name+" BETWEEN 1 AND 3)", name+` LIKE "a%"`, name+" IN (1, "+v+`, "a")`, "STARTSWITH("+name+
			`, "a")`)
}
