package metamorphic

import (
	"strconv"
	"strings"
)

// The forms of whole queries. Each form is a method that draws one.

// list draws a select list.
func (g *queryGenerator) list() string {
	p, q := g.path(), g.path()
	return g.pick("*", "*", "VALUE c", "VALUE c.id", "c.id", "VALUE "+p, p+", "+q+" AS second",
		"c.id, "+p+" AS second", "c", p+" AS a, "+q+" AS b",
		`VALUE {"i": c.id, "v": `+p+"}", "VALUE ["+p+", "+q+"]", "VALUE "+p+" = "+g.constantFor(p), "VALUE "+
			g.about(p),
		"c.id, ARRAY(SELECT VALUE t FROM t IN c.tags WHERE "+g.element("t")+") AS ts",
		"c.id, (SELECT MAX(t) AS hi, COUNT(t) AS n FROM t IN c.tags) AS s",
		`VALUE {"i": c.id, "p": c.o.x ?? "none", "q": c.n * 2 - 1, "k": c.list[0].k}`)
}

// key draws a path to sort by.
func (g *queryGenerator) key() string {
	return g.pick("c.n", "c.n", "c.n", "c.s", "c.s", "c.m", "c.m", "c.o.x", "c.o.x", "c.o.y", "c.b", "c.id",
		"c.pk", "c._ts", "c.tags", "c.o",
		"c.missing", `c["n"]`, "c.o.z.w") + g.pick("", "", " ASC", " DESC", " DESC")
}

// cut draws a clause that limits the number of rows. It returns top, which follows SELECT, or limit, which
// ends the query; the other is empty.
func (g *queryGenerator) cut() (top, limit string) {
	switch g.r.IntN(4) {
	case 0:
		return "TOP " + g.constant(strconv.Itoa(g.r.IntN(8))) + " ", ""
	case 1:
		return "", " OFFSET " + g.constant(strconv.Itoa(g.r.IntN(5))) + " LIMIT " +
			g.constant(strconv.Itoa(g.r.IntN(8)))
	}
	return "", ""
}

// plain draws a query with SELECT, WHERE, and perhaps ORDER BY one key.
func (g *queryGenerator) plain() string {
	order := ""
	if g.chance(2) {
		order = " ORDER BY " + g.key()
	}
	top, limit := g.cut()
	return "SELECT " + top + g.list() + " FROM c" + g.where() + order + limit
}

// sorted draws a query with ORDER BY several keys, mostly those of a composite index, and perhaps with
// equality conditions on the index's first paths.
func (g *queryGenerator) sorted() string {
	keys := pick(g.r, composites()...)
	if g.chance(8) {
		keys = []OrderByKey{{"n", g.chance(2)}, {"id", g.chance(2)}}
	}
	where := g.where()
	if first := "c." + keys[0].Path; g.chance(2) {
		where = " WHERE " + first + g.pick(" = ", " = ", " >= ", " < ") + g.constantFor(first)
		if second := "c." + keys[1].Path; g.chance(2) {
			where += " AND " + second + g.pick(" = ", " > ", " <= ") + g.constantFor(second)
		}
		if g.chance(2) && len(keys) == 2 {
			keys = keys[1:] // the keys that remain to be sorted by
		}
	}
	top, limit := g.cut()
	return "SELECT " + top + g.list() + " FROM c" + where + g.orderBy(keys) + limit
}

// orderBy formats keys with their directions, or with all directions reversed.
func (g *queryGenerator) orderBy(keys []OrderByKey) string {
	opposite := g.chance(2)
	var order []string
	for _, k := range keys {
		text := "c." + k.Path
		if k.Desc != opposite {
			text += " DESC"
		}
		order = append(order, text)
	}
	return " ORDER BY " + strings.Join(order, ", ")
}

// joined draws a query with a join over elements of the document.
func (g *queryGenerator) joined() string {
	from, elem := " FROM c JOIN t IN c.tags", "t"
	switch g.r.IntN(10) {
	case 5:
		from, elem = " FROM c JOIN (SELECT COUNT(1) AS n, MAX(x) AS hi FROM x IN c.tags) AS t", "t.hi"
	case 6:
		from, elem = " FROM c JOIN (SELECT DISTINCT VALUE x.k FROM x IN c.list) AS t", "t"
	case 7:
		from, elem = " FROM c JOIN c.o AS t", "t.x"
	case 8:
		from, elem = " FROM c JOIN t IN c.tags JOIN t2 IN c.tags", "t2"
	case 9:
		from, elem = " FROM c JOIN u IN c.list JOIN u.v AS t", "t"
	case 0:
		from, elem = " FROM c JOIN t IN c.list", "t.k"
	case 1:
		from, elem = " FROM c JOIN (SELECT VALUE x FROM x IN c.tags WHERE "+g.element("x")+") AS t", "t"
	case 2:
		from, elem = " FROM c JOIN u IN c.list JOIN t IN c.tags", "t"
	case 3:
		from, elem = " FROM c JOIN t IN c.m", "t"
	case 4:
		from, elem = " FROM c JOIN t IN (SELECT VALUE c.tags)", "t"
	}
	where := " WHERE " + g.element(elem)
	if g.chance(2) {
		where += g.pick(" AND ", " OR ") + g.condition(1)
	}
	order := ""
	if g.chance(3) {
		order = " ORDER BY " + g.key()
	}
	top, limit := g.cut()
	return "SELECT " + top + g.pick("c.id, "+elem+" AS e", "VALUE t", `VALUE {"i": c.id, "t": t, "n": c.n}`,
		"c.s, t") + from + where + order + limit
}

// aggregate draws one aggregate function.
func (g *queryGenerator) aggregate() string {
	p := g.path()
	return g.pick("COUNT(1)", "COUNT("+p+")", "SUM(c.n)", "SUM("+p+")", "AVG(c.n)", "AVG(c.o.y)",
		"MIN("+p+")", "MAX("+p+")", "MIN(c.n)", "MAX(c.s)",
		"SUM(c.n * 2)", "COUNTIF("+g.about(p)+")", "MIN(c._ts)", "MAX(c.id)", "MAX(c.m)")
}

func (g *queryGenerator) aggregates() string {
	text := g.aggregate() + " AS a1"
	for i := range g.r.IntN(3) {
		text += ", " + g.aggregate() + " AS a" + strconv.Itoa(i+2)
	}
	return text
}

// aggregated draws a query with one row, which is computed from all documents.
func (g *queryGenerator) aggregated() string {
	list := "VALUE " + g.aggregate()
	if g.chance(2) {
		list = g.aggregates()
	}
	from := " FROM c"
	if g.chance(5) {
		from, list = " FROM c JOIN t IN c.tags", g.pick("VALUE COUNT(t)", "VALUE MAX(t)",
			"COUNT(1) AS n, MIN(t) AS lo, SUM(t) AS s")
	}
	return "SELECT " + list + from + g.where()
}

func (g *queryGenerator) grouped() string {
	p, q := g.path(), g.path()
	switch g.r.IntN(4) {
	case 0:
		return "SELECT " + p + " AS k1, " + q + " AS k2, " + g.aggregates() + " FROM c" + g.where() +
			" GROUP BY " + p + ", " + q
	case 1:
		return `SELECT VALUE {"k": ` + p + `, "n": ` + g.aggregate() + "} FROM c" + g.where() + " GROUP BY " +
			p
	case 2:
		return "SELECT t AS k, COUNT(1) AS n, MIN(c.n) AS lo FROM c JOIN t IN c.tags" + g.where() +
			" GROUP BY t"
	}
	return "SELECT " + p + " AS k, " + g.aggregates() + " FROM c" + g.where() + " GROUP BY " + p
}

func (g *queryGenerator) distinct() string {
	p, q := g.path(), g.path()
	if g.chance(2) {
		key := g.key()
		shown, _, _ := strings.Cut(key, " ")
		top, limit := g.cut()
		return "SELECT DISTINCT " + top + g.pick("VALUE "+shown, "VALUE "+shown, shown+" AS a", "VALUE "+p) +
			" FROM c" + g.where() + " ORDER BY " + key + limit
	}
	return "SELECT DISTINCT " + g.pick("VALUE "+p, p+" AS a", p+" AS a, "+q+" AS b", "*") + " FROM c" +
		g.where()
}

// inside draws a query whose rows are parts of documents.
func (g *queryGenerator) inside() string {
	top, limit := g.cut()
	switch g.r.IntN(5) {
	case 3:
		return "SELECT " + top + g.pick("VALUE w", "*", "w") + " FROM " + g.pick("c.o.z.w", `c["o"].z.w`,
			"c.o.z.w AS w") + limit
	case 4:
		return "SELECT " + top + "VALUE k FROM k IN c.list[0].v" + limit
	case 0:
		return "SELECT " + top + g.pick("VALUE t", "*", "t") + " FROM t IN c.tags WHERE " + g.element("t") +
			limit
	case 1:
		return "SELECT " + top + g.pick("VALUE l", "l.k, l.v", "VALUE l.v") + " FROM l IN c.list WHERE " +
			g.element("l.k") + g.pick(" AND ", " OR ") + g.element("l.v") + limit
	}
	order := g.pick("", " ORDER BY o.x", " ORDER BY o.y DESC")
	return "SELECT " + top + g.pick("*", "VALUE o.x", "o.x, o.y") + " FROM c.o AS o WHERE " +
		g.element("o.x") + order + limit
}

// derived draws a query over the rows of another one.
func (g *queryGenerator) derived() string {
	p := g.path()
	switch g.r.IntN(6) {
	case 4:
		return "SELECT VALUE s.id FROM (SELECT * FROM c" + g.where() + ") AS s WHERE s." +
			strings.TrimPrefix(g.pick("c.n", "c.s", "c.o.x"), "c.") + " = " + g.constant(scalar(g.r))
	case 5:
		return "SELECT MAX(s.k) AS hi, COUNT(1) AS n FROM (SELECT " + p + " AS k FROM c" + g.where() +
			") AS s"
	case 0:
		return "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE " + p + " FROM c" + g.where() + ")"
	case 1:
		return "SELECT VALUE s FROM (SELECT " + p + " AS k, COUNT(1) AS n FROM c" + g.where() + " GROUP BY " +
			p + ") AS s WHERE s.n > 1"
	case 2:
		return "SELECT s.i, s.k FROM (SELECT c.id AS i, " + p + " AS k FROM c" + g.where() + ") AS s WHERE " +
			g.element("s.k")
	}
	return "SELECT VALUE " + g.pick(`(1 + 2)`, `"a" || "b"`, "[1, undefined, 2]", "IS_DEFINED(undefined)") +
		g.pick("", " WHERE true", " WHERE false")
}
