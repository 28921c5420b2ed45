package bench

// textShapes returns queries that compare the beginning, the end and the inside of texts. Each query matches
// 100 documents.
func textShapes() []queryShape {
	return []queryShape{
		{name: "STARTSWITH", text: `SELECT c.id FROM c WHERE STARTSWITH(c.name, @v)`, with: one("%06d-"),
			growth: served()},
		{name: "LIKE 'a%b'", text: `SELECT c.id FROM c WHERE c.name LIKE @v`, with: one("%06d%%a"),
			growth: served()},
		{name: "STARTSWITH(..., true)", text: `SELECT c.id FROM c WHERE STARTSWITH(c.address.city, @v, true)`,
			with: one("CITY%06d")},
		{name: "STRINGEQUALS(..., true)", with: one("CITY%06d"),
			text: `SELECT c.id FROM c WHERE STRINGEQUALS(c.address.city, @v, true)`},
		{name: "CONTAINS", text: `SELECT c.id FROM c WHERE CONTAINS(c.mail, @v)`, with: one("@%06d.")},
		{name: "CONTAINS(..., true)", text: `SELECT c.id FROM c WHERE CONTAINS(c.mail, @v, true)`,
			with: one("@%06d.ORG")},
		{name: "ENDSWITH", text: `SELECT c.id FROM c WHERE ENDSWITH(c.mail, @v)`, with: one("@%06d.org")},
		{name: "LIKE '%x%'", text: `SELECT c.id FROM c WHERE c.mail LIKE @v`, with: one("%%@%06d%%")},
		{name: "REGEXMATCH", text: `SELECT c.id FROM c WHERE REGEXMATCH(c.mail, @v)`,
			with: one("@%06d[.]org$")},
	}
}

func arrayShapes() []queryShape {
	return []queryShape{
		{name: "ARRAY_CONTAINS", text: `SELECT c.id FROM c WHERE ARRAY_CONTAINS(c.tags, @v)`,
			with:   one("t%06d"),
			growth: served()},
		{name: "ARRAY_CONTAINS(..., false) (50 %), a page", page: 100,
			text: `SELECT c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 'hot', false)`},
		{name: "ARRAY_CONTAINS(..., false)",
			text: `SELECT c.id FROM c WHERE ARRAY_CONTAINS(c.tags, @v, false)`,
			with: one("t%06d"), growth: served()},
		{name: "ARRAY_CONTAINS_ANY", text: `SELECT c.id FROM c WHERE ARRAY_CONTAINS_ANY(c.tags, @v, 'none')`,
			with: one("t%06d"), growth: served()},
		{name: "JOIN t IN tags WHERE t =", text: `SELECT c.id FROM c JOIN t IN c.tags WHERE t = @v`,
			with: one("t%06d"), growth: served()},
		{name: "EXISTS", with: one("t%06d"), growth: served(),
			text: `SELECT c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = @v)`},
		{name: "tags[1] =", text: `SELECT c.id FROM c WHERE c.tags[1] = @v`, with: one("t%06d"),
			growth: served()},
	}
}

func countShapes() []queryShape {
	return []queryShape{
		{name: "COUNT(1)", text: `SELECT VALUE COUNT(1) FROM c`},
		{name: "COUNT where = (25 %)", text: `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'open'`},
		{name: "COUNT where = (1 %)", text: `SELECT VALUE COUNT(1) FROM c WHERE c.cat = @cat`, with: cat},
		{name: "COUNT where = (100)", text: `SELECT VALUE COUNT(1) FROM c WHERE c.address.city = @v`,
			with: one("city%06d"), growth: served()},
		{name: "COUNT where range (50 %)", text: `SELECT VALUE COUNT(1) FROM c WHERE c.n >= @skip`,
			with: skip(50)},
		{name: "COUNT where range (100)", text: `SELECT VALUE COUNT(1) FROM c WHERE c.n >= @from`,
			with: last(100), growth: served()},
		{name: "COUNT(c.rare)", text: `SELECT VALUE COUNT(c.rare) FROM c`, growth: served()},
		{name: "COUNT(c.n)", text: `SELECT VALUE COUNT(c.n) FROM c`},
		{name: "SUM", text: `SELECT VALUE SUM(c.n) FROM c`},
	}
}

// groupShapes returns queries with GROUP BY and DISTINCT. The number in a name is the number of different
// values of the path. A set of less than 200,000 documents has fewer than 100,000 values.
func groupShapes() []queryShape {
	return []queryShape{
		{name: "GROUP BY 4, COUNT", text: `SELECT c.status, COUNT(1) AS n FROM c GROUP BY c.status`},
		{name: "GROUP BY 10, COUNT", text: `SELECT c.ten, COUNT(1) AS n FROM c GROUP BY c.ten`},
		{name: "GROUP BY 10, MIN and MAX of it",
			text: `SELECT c.ten, MIN(c.ten) AS low, MAX(c.ten) AS high FROM c GROUP BY c.ten`},
		{name: "GROUP BY 10, SUM of another", text: `SELECT c.ten, SUM(c.n) AS n FROM c GROUP BY c.ten`},
		{name: "GROUP BY 100, COUNT", text: `SELECT c.cat, COUNT(1) AS n FROM c GROUP BY c.cat`},
		{name: "GROUP BY 100,000, COUNT", text: `SELECT c.grp, COUNT(1) AS n FROM c GROUP BY c.grp`},
		{name: "DISTINCT VALUE of 4", text: `SELECT DISTINCT VALUE c.status FROM c`},
		{name: "DISTINCT VALUE of 4, ORDER BY",
			text: `SELECT DISTINCT VALUE c.status FROM c ORDER BY c.status`},
		{name: "DISTINCT VALUE of 10", text: `SELECT DISTINCT VALUE c.ten FROM c`},
		{name: "DISTINCT VALUE of 100,000", text: `SELECT DISTINCT VALUE c.grp FROM c`},
		{name: "DISTINCT VALUE of 100,000, ORDER BY",
			text: `SELECT DISTINCT VALUE c.grp FROM c ORDER BY c.grp`},
	}
}

// extremeShapes returns queries for the minimum and the maximum, written directly and in the form that the
// SDKs send to a partition range.
func extremeShapes() []queryShape {
	return []queryShape{
		{name: "MAX", text: `SELECT VALUE MAX(c.n) FROM c`, growth: served()},
		{name: "MAX, the SDKs' rewrite", growth: served(),
			text: `SELECT VALUE [{"item": MAX(c.n), "item2":
				{"max": MAX(c.n), "count": COUNT(c.n)}}] FROM c`},
		{name: "MIN, the SDKs' rewrite", growth: served(),
			text: `SELECT VALUE [{"item": MIN(c.n), "item2":
				{"min": MIN(c.n), "count": COUNT(c.n)}}] FROM c`},
		{name: "MAX where = (25 %)", text: `SELECT VALUE MAX(c.n) FROM c WHERE c.status = 'open'`},
		{name: "MAX where = (25 %), no composite",
			text: `SELECT VALUE MAX(c.ts) FROM c WHERE c.status = 'open'`},
		{name: "MIN where range of it", text: `SELECT VALUE MIN(c.n) FROM c WHERE c.n > 5`, growth: served()},
		{name: "MIN and MAX of two paths", text: `SELECT MIN(c.n) AS low, MAX(c.seq) AS high FROM c`,
			growth: served()},
	}
}
