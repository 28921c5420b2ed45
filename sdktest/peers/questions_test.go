//go:build long

package peers

import "fmt"

// queryTestCase is one query in three dialects: Mayfly's, SQLite's and PostgreSQL's. Its parameters have the
// same order in all.
type queryTestCase struct {
	name     string
	mayfly   string // with parameters @p1, @p2 ...
	postgres string // with parameters $1, $2 ...
	sqlite   string // with parameters ?1, ?2 ...
	params   func(s documentSet, k int) []any
	// partition returns the partition key that is sent to Mayfly beside the query; the other databases
	// have a condition for it in the query. nil: there is none.
	partition func(s documentSet, k int) string
	ordered   bool
}

// asked returns the number of a document that a query asks for. k chooses one of 16.
func (s documentSet) asked(k int) int { return (k%16*(s.docs/16) + 777) % s.docs }

// ids returns a hundred document ids, spread evenly over the whole set, for the k-th run of a query. k
// determines which ids they are.
func ids(s documentSet, k int) (list []string) {
	for j := range 100 {
		list = append(list, id((s.asked(k)+j*(s.docs/100)+j)%s.docs))
	}
	return list
}

func price(s documentSet, k int) []any { return []any{s.price(s.asked(k))} }
func none(documentSet, int) []any      { return nil }

// few returns the parameter of a range condition that 50 documents match.
func few(s documentSet, _ int) []any { return []any{s.docs - 50} }

func activePartition(_ documentSet, k int) string { return fmt.Sprintf("p%02d", k*7%(partitions-1)) }
func quietPartition(documentSet, int) string      { return "quiet" }

// latest returns the query for the ten latest documents of a partition.
func latest(name string, partition func(s documentSet, k int) string) queryTestCase {
	return queryTestCase{
		name: name, ordered: true, partition: partition, params: func(s documentSet, k int) []any {
			return []any{partition(s, k)}
		},
		mayfly: `SELECT * FROM c ORDER BY c.ts DESC OFFSET 0 LIMIT 10`,
		postgres: `SELECT doc::text FROM docs WHERE doc->>'pk' = $1
			ORDER BY (doc->>'ts')::bigint DESC LIMIT 10`,
		sqlite: `SELECT doc FROM docs WHERE doc->>'$.pk' = ?1 ORDER BY doc->>'$.ts' DESC LIMIT 10`,
	}
}

func questions() []queryTestCase {
	return []queryTestCase{
		{
			name: "by id", params: func(s documentSet, k int) []any { return []any{id(s.asked(k))} },
			mayfly:   `SELECT * FROM c WHERE c.id = @p1`,
			postgres: `SELECT doc::text FROM docs WHERE id = $1`,
			sqlite:   `SELECT doc FROM docs WHERE id = ?1`,
		}, {
			name: "1 document by price", params: price,
			mayfly:   `SELECT * FROM c WHERE c.price = @p1`,
			postgres: `SELECT doc::text FROM docs WHERE (doc->>'price')::float8 = $1`,
			sqlite:   `SELECT doc FROM docs WHERE doc->>'$.price' = ?1`,
		}, {
			name: "20 in order of price", params: price, ordered: true,
			mayfly: `SELECT * FROM c WHERE c.price >= @p1 ORDER BY c.price OFFSET 0 LIMIT 20`,
			postgres: `SELECT doc::text FROM docs WHERE (doc->>'price')::float8 >= $1
				ORDER BY (doc->>'price')::float8 LIMIT 20`,
			sqlite: `SELECT doc FROM docs WHERE doc->>'$.price' >= ?1 ORDER BY doc->>'$.price' LIMIT 20`,
		}, {
			name: "COUNT price < 500 (half)", params: none,
			mayfly:   `SELECT VALUE COUNT(1) FROM c WHERE c.price < 500`,
			postgres: `SELECT COUNT(*)::text FROM docs WHERE (doc->>'price')::float8 < 500`,
			sqlite:   `SELECT COUNT(*) FROM docs WHERE doc->>'$.price' < 500`,
		}, {
			name: "COUNT active = true (half)", params: none,
			mayfly:   `SELECT VALUE COUNT(1) FROM c WHERE c.active = true`,
			postgres: `SELECT COUNT(*)::text FROM docs WHERE (doc->>'active')::boolean`,
			sqlite:   `SELECT COUNT(*) FROM docs WHERE doc->>'$.active' = 1`,
		}, {
			name: "GROUP BY category, COUNT", params: none,
			mayfly:   `SELECT c.category, COUNT(1) AS n FROM c GROUP BY c.category`,
			postgres: `SELECT doc->>'category' || '|' || COUNT(*) FROM docs GROUP BY doc->>'category'`,
			sqlite:   `SELECT doc->>'$.category' || '|' || COUNT(*) FROM docs GROUP BY doc->>'$.category'`,
		}, {
			name: "DISTINCT category", params: none,
			mayfly:   `SELECT DISTINCT VALUE c.category FROM c`,
			postgres: `SELECT DISTINCT doc->>'category' FROM docs`,
			sqlite:   `SELECT DISTINCT doc->>'$.category' FROM docs`,
		},
		latest("latest 10 of a partition", activePartition),
		latest("latest 10 of a quiet partition", quietPartition),
		{
			name: "two ranges, 50 documents", params: few,
			mayfly: `SELECT * FROM c WHERE c.price >= 1 AND c.seq >= @p1`,
			postgres: `SELECT doc::text FROM docs WHERE (doc->>'price')::float8 >= 1
				AND (doc->>'seq')::bigint >= $1`,
			sqlite: `SELECT doc FROM docs WHERE doc->>'$.price' >= 1 AND doc->>'$.seq' >= ?1`,
		}, {
			name: "equality + range, 20 documents", params: func(s documentSet, k int) []any {
				return []any{category(k), 1e6 / float64(s.docs)}
			},
			mayfly: `SELECT * FROM c WHERE c.category = @p1 AND c.price < @p2`,
			postgres: `SELECT doc::text FROM docs WHERE doc->>'category' = $1
				AND (doc->>'price')::float8 < $2`,
			sqlite: `SELECT doc FROM docs WHERE doc->>'$.category' = ?1 AND doc->>'$.price' < ?2`,
		}, {
			name: "IN of 100 ids", params: func(s documentSet, k int) []any { return []any{ids(s, k)} },
			mayfly:   `SELECT * FROM c WHERE ARRAY_CONTAINS(@p1, c.id)`,
			postgres: `SELECT doc::text FROM docs WHERE id = ANY($1)`,
			sqlite:   `SELECT doc FROM docs WHERE id IN (SELECT value FROM json_each(?1))`,
		}, {
			name: "tags contain, 100 documents", params: func(s documentSet, k int) []any {
				return []any{s.tag(s.asked(k))}
			},
			mayfly: `SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, @p1)`,
			postgres: `SELECT doc::text FROM docs
				WHERE doc @> jsonb_build_object('tags', jsonb_build_array($1::text))`,
			sqlite: `SELECT doc FROM docs
				WHERE EXISTS (SELECT 1 FROM json_each(doc, '$.tags') WHERE value = ?1)`,
		},
	}
}
