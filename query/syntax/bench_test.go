package syntax

import (
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"short", "SELECT * FROM c WHERE c.id = @id"},
		{"usual", `SELECT TOP 10 c.id, c.name AS n, {"a": c.a.b} AS o FROM c JOIN t IN c.tags
			WHERE c.type = 'order' AND c.total > 100.5 AND (t IN ("a", "b") OR STARTSWITH(c.name, @p)) ORDER BY c.ts DESC`},
		{"long", "SELECT * FROM c WHERE c.id IN ('" + strings.Repeat("0123456789', '", 20000) + "')"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bench.text)))
			for b.Loop() {
				if _, err := Parse(bench.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPrint(b *testing.B) {
	q, err := Parse("SELECT c.id, c.name FROM c JOIN t IN c.tags WHERE c.type = 'order' AND t != 1.5 ORDER BY c.ts DESC")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Print(q)
	}
}
