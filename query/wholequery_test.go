package query

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// queryGenerator generates random queries with all clauses. Most are valid; some have an aggregate, a name
// or a clause where it is not allowed.
type queryGenerator struct {
	expressionGenerator
	names []string // that are in scope
	made  int      // names so far
	depth int
}

// randomWholeQuery returns a random query of a queryGenerator.
func randomWholeQuery(r *rand.Rand) string {
	g := &queryGenerator{expressionGenerator: expressionGenerator{r}}
	return g.query(false)
}

// chance returns true with a probability of n percent.
func (g *queryGenerator) chance(n int) bool { return g.IntN(100) < n }

func (g *queryGenerator) name() string {
	if len(g.names) == 0 || g.chance(2) {
		return g.pick("c", "nobody", "root")
	}
	return g.names[g.IntN(len(g.names))]
}

func (g *queryGenerator) fresh() string {
	g.made++
	if g.chance(3) {
		return "c"
	}
	return fmt.Sprintf("%s%d", g.pick("s", "t", "u"), g.made)
}

// path returns a random path of a document or of a part of it.
func (g *queryGenerator) path() string {
	return g.name() + g.pick(".a", ".b", ".a", ".b", ".key", ".key", ".o.x", `["a"]`, ".t[0]", ".id", "._ts",
		"", `["b c"]`, ".t")
}

func (g *queryGenerator) constant() string {
	switch g.IntN(9) {
	case 0:
		return g.pick("@p", "@s", "@l", "@o", "@n")
	case 1, 2:
		return g.pick(`"a"`, `"b"`, `'x'`, `""`, `"é😀"`)
	case 3:
		return g.pick("null", "true", "false", "undefined")
	case 4:
		return g.pick("[1, 2]", "[]", `{"a": 1}`, "{}", `["a", {"b": null}]`)
	}
	return g.pick("0", "1", "2", "-1", "1.5", "1e3", "9007199254740993", "-0.5", "100")
}

func (g *queryGenerator) call() string {
	x, y := g.expr(), g.expr()
	switch g.IntN(14) {
	case 0:
		return g.pick("IS_DEFINED", "IS_STRING", "IS_NUMBER", "IS_NULL", "IS_ARRAY", "IsDefined",
			"is_primitive") + "(" + x + ")"
	case 1:
		return g.pick("STARTSWITH", "CONTAINS", "ENDSWITH", "INDEX_OF", "StringEquals", "RegexMatch") + "(" +
			x + ", " + y + g.pick("", "", ", true") + ")"
	case 2:
		return g.pick("ABS", "UPPER", "lower", "LENGTH", "ToString", "FLOOR", "ARRAY_LENGTH", "SIGN", "Year",
			"ARRAY_SUM") + "(" + x + ")"
	case 3:
		return g.pick("udf.f", "UDF.g") + "(" + x + g.pick("", ", "+y) + ")"
	case 4:
		return g.pick("ARRAY_CONTAINS", "SetUnion", "CONCAT", "POWER", "StringSplit") + "(" + x + ", " + y +
			g.pick("", "", ", "+x) + ")"
	case 5:
		return g.pick("HASH", "Now", "Ago", "TicksToDateTime", "DateTimeAdd", "GenerateEmbeddings",
			"NumberBin", "DateTimePart", "ROUND") +
			"(" + g.pick(x, x+", "+y, x, "", x+", "+y+", "+x) + ")"
	case 6:
		return g.pick("VectorDistance", "ST_DISTANCE", "FullTextContains", "FullTextScore") + "(" + g.path() +
			", " + g.pick(g.constant(), y) +
			g.pick("", "", ", "+g.constant()) + ")"
	case 7:
		if g.chance(25) {
			return g.aggregate()
		}
	case 8:
		return g.pick("nothing", "IIF", "CHOOSE", "PI", "RAND", "GetCurrentTimestamp") +
			g.pick("()", "("+x+", "+y+", "+x+")", "()")
	}
	return g.pick("TRIM", "REPLACE", "SUBSTRING", "LEFT", "ARRAY_SLICE") + "(" + g.pick(x+", "+y, x+", 1, 2",
		x) + ")"
}

func (g *queryGenerator) aggregate() string {
	name := g.pick("COUNT", "SUM", "MIN", "MAX", "AVG", "count", "COUNTIF", "MakeList", "MakeSet")
	return name + "(" + g.pick("1", g.path(), g.path(), g.path(), g.expr()) + ")"
}

// expr returns a random expression, mostly a short one.
func (g *queryGenerator) expr() string {
	if g.depth > 3 {
		return g.pick(g.path(), g.constant())
	}
	g.depth++
	defer func() { g.depth-- }()
	switch n := g.IntN(30); {
	case n < 11:
		return g.path()
	case n < 17:
		return g.constant()
	case n < 19:
		return g.expr() + g.pick(" + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ ", " || ", " << ",
			" >>> ") + g.expr()
	case n == 19:
		return "(" + g.condition() + ")"
	case n == 20:
		return "(" + g.expr() + " ?? " + g.expr() + ")"
	case n == 21:
		return "(" + g.condition() + " ? " + g.expr() + " : " + g.expr() + ")"
	case n == 22:
		return "[" + g.expr() + ", " + g.expr() + "]"
	case n == 23:
		return `{"x": ` + g.expr() + g.pick("", `, y: `+g.expr(), `, "x": 1`) + "}"
	case n == 24:
		return g.pick("-", "+", "~", "NOT ") + g.expr()
	case n == 25 && g.chance(60):
		return g.subquery(g.pick("(", "(", "ARRAY(", "EXISTS("))
	}
	return g.call()
}

// condition returns a random condition, often one on a single path.
func (g *queryGenerator) condition() string {
	if g.depth > 3 {
		return g.path() + " = " + g.constant()
	}
	g.depth++
	defer func() { g.depth-- }()
	compare := g.pick(" = ", " = ", " = ", " < ", " >= ", " != ", " <> ")
	switch n := g.IntN(24); {
	case n < 7:
		return g.path() + compare + g.constant()
	case n < 9:
		return g.expr() + compare + g.expr()
	case n < 12:
		return "(" + g.condition() + g.pick(" AND ", " OR ") + g.condition() + ")"
	case n < 14:
		return g.condition() + g.pick(" AND ", " OR ", " and ") + g.condition()
	case n == 14:
		return g.path() + g.pick(" IN (", " NOT IN (") + g.constant() + ", " + g.expr() + ")"
	case n == 15:
		return g.path() + g.pick(" BETWEEN ", " NOT BETWEEN ") + g.constant() + " AND " + g.expr()
	case n == 16:
		return g.path() + g.pick(" LIKE ", " NOT LIKE ") + g.pick(`"a%"`, `"%"`, `"a_[b]"`, "@s", g.expr()) +
			g.pick("", "", ` ESCAPE "!"`)
	case n == 17:
		return "NOT " + g.condition()
	case n == 18:
		return g.subquery("EXISTS(")
	case n == 19:
		return g.pick("true", "false", "1 = 1", "c.key = null", g.path()+" IS NULL", g.path()+" IS NOT NULL")
	}
	return g.call()
}

func (g *queryGenerator) subquery(open string) string {
	if g.depth > 4 {
		return "1"
	}
	kept, depth := g.names, g.depth
	defer func() { g.names, g.depth = kept, depth }()
	g.depth += 2
	return open + g.query(true) + ")"
}

// from returns a random FROM clause and brings its names into scope. sub is set for a subquery.
func (g *queryGenerator) from(sub bool) string {
	var b strings.Builder
	switch n := g.IntN(20); {
	case sub && n < 15 && len(g.names) > 0:
		name := g.fresh()
		b.WriteString(" FROM " + name + " IN " + g.name() + g.pick(".t", ".a", ".t[0]", ".o.x"))
		g.names = append(g.names[:len(g.names):len(g.names)], name)
	case n == 15:
		b.WriteString(" FROM " + g.pick("c.t AS t", "c.o o", "c.t"))
		g.names = append(g.names[:len(g.names):len(g.names)], "t")
	case n == 16:
		b.WriteString(" FROM t IN c.t")
		g.names = append(g.names[:len(g.names):len(g.names)], "t")
	case n == 17:
		text := g.subquery("(")
		name := g.fresh()
		b.WriteString(" FROM " + text + " AS " + name)
		g.names = append(g.names[:len(g.names):len(g.names)], name)
	case n == 18 && g.chance(40):
		return ""
	default:
		name := g.pick("c", "c", "c", "c", "root c", "c AS d")
		b.WriteString(" FROM " + name)
		g.names = append(g.names[:len(g.names):len(g.names)], name[len(name)-1:])
	}
	for g.chance(14) {
		if g.chance(30) {
			text := g.subquery("(")
			name := g.fresh()
			b.WriteString(" JOIN " + g.pick("", name+" IN ") + text)
			if !strings.Contains(b.String(), name+" IN (") {
				b.WriteString(" " + name)
			}
			g.names = append(g.names, name)
			continue
		}
		name := g.fresh()
		b.WriteString(" JOIN " + name + " IN " + g.name() + g.pick(".t", ".a", ".o.x"))
		g.names = append(g.names, name)
	}
	return b.String()
}

// list returns a random select list. keys are the keys of GROUP BY, if there is one.
func (g *queryGenerator) list(keys []string) string {
	item := func() string {
		switch {
		case len(keys) > 0 && g.chance(55):
			return keys[g.IntN(len(keys))]
		case len(keys) > 0 && g.chance(85), g.chance(6):
			return g.pick("", "", "1 + ") + g.aggregate()
		}
		return g.expr()
	}
	switch n := g.IntN(10); {
	case n < 2 && len(keys) == 0 && g.chance(80):
		return "*"
	case n < 5:
		return "VALUE " + g.pick("", "", "") + item()
	}
	text := item() + g.pick("", " AS x")
	for g.chance(40) {
		text += ", " + item() + g.pick("", fmt.Sprintf(" AS y%d", g.IntN(9)))
	}
	return text
}

// query returns a random query, or a random subquery if sub is set.
func (g *queryGenerator) query(sub bool) string {
	from := g.from(sub)
	var keys []string
	where, group, order, window := "", "", "", ""
	if g.chance(50) {
		where = " WHERE " + g.condition()
	}
	if g.chance(14) {
		for ok := true; ok; ok = g.chance(30) {
			keys = append(keys, g.pick(g.path(), g.path(), g.path(), g.expr()))
		}
		group = " GROUP BY " + strings.Join(keys, ", ")
	}
	seldom := 30
	if sub {
		seldom = 3
	}
	if g.chance(seldom) {
		order = g.order(keys)
	}
	if g.chance(seldom / 2) {
		window = " OFFSET " + g.pick("0", "1", "@p", "2") + " LIMIT " + g.pick("1", "10", "@p")
	}
	head := "SELECT "
	if g.chance(9) {
		head += "DISTINCT "
	}
	if g.chance(seldom / 3) {
		head += "TOP " + g.pick("1", "10", "@p", "0") + " "
	}
	return head + g.list(keys) + from + where + group + order + window
}

func (g *queryGenerator) order(keys []string) string {
	if g.chance(8) {
		score := func() string {
			return g.pick(`FullTextScore(`+g.path()+`, "a", "b")`, `FullTextScore(`+g.path()+`, @s)`,
				"VectorDistance("+g.path()+", [1, 2])", g.expr())
		}
		return " ORDER BY RANK " + g.pick(score(), "RRF("+score()+", "+score()+g.pick("", ", [1, 2]")+")")
	}
	text := " ORDER BY "
	for i := 0; i == 0 || g.chance(25); i++ {
		if i > 0 {
			text += ", "
		}
		switch {
		case len(keys) > 0 && g.chance(70):
			text += keys[g.IntN(len(keys))]
		case g.chance(80):
			text += g.path()
		default:
			text += g.pick(g.expr(), "VectorDistance("+g.path()+", [1, 2])")
		}
		text += g.pick("", "", " DESC", " ASC")
	}
	return text
}
