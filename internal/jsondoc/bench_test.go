package jsondoc

import (
	"fmt"
	"strings"
	"testing"
)

// sample returns a compact JSON document of about 1 KB: a purchase order.
func sample(t testing.TB) string {
	var b strings.Builder
	b.WriteString(`{"id":"order-000123","pk":"customer-77","type":"order","total":129.95,"currency":"EUR","paid":true,"note":null,` +
		`"address":{"street.name":"Musterstraße 5","city":"Köln","zip":"50667","geo":{"lat":50.94,"lon":6.96}},"items":[`)
	for i := range 7 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"SKU-%05d","name":"Article number %d","qty":%d,"price":%d.5,"tags":["a","b"]}`, i, i, i+1, i*10)
	}
	b.WriteString(`],"description":"Lorem ipsum dolor sit amet, consetetur sadipscing elitr, sed diam nonumy eirmod tempor invidunt` +
		` ut labore et dolore magna aliquyam erat","createdAt":"2024-05-06T07:08:09Z","ttl":3600,"status":"open"}`)
	if b.Len() < 1000 || b.Len() > 1100 {
		t.Fatalf("the sample has %d bytes", b.Len())
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	run := func(name, text string) {
		b.Run(name, func(b *testing.B) {
			raw := []byte(text)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(raw, Limits{MaxBytes: 8 << 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	compact := sample(b)
	run("1KB", compact)
	run("1KB-indented", indent(b, compact))
	run("200000-members", manyMembers(200_000))
	run("2MB-text", `{"id":"a","text":"`+strings.Repeat("lorem ipsum ", 170_000)+`"}`)
}

func BenchmarkGet(b *testing.B) {
	body := mustParse(b, sample(b)).Body
	for _, path := range []string{"/id", "/address/geo/lon", `/address/"street.name"`, "/status",
		"/missing"} {
		b.Run(path[1:], func(b *testing.B) {
			p := mustPath(b, path)
			b.ReportAllocs()
			for b.Loop() {
				Get(body, p)
			}
		})
	}
}

func BenchmarkAppendOrdered(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"number", "129.95"},
		{"string", `"order-000123"`},
		{"array", `["a",1,true]`},
		{"1KB", sample(b)},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := Of([]byte(c.text))
			dst := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendOrdered(dst[:0], v)
			}
		})
	}
}

func BenchmarkSystemAppend(b *testing.B) {
	body := mustParse(b, sample(b)).Body
	s := SystemProperties{RID: "HpxDAIt3MtQBAAAAAAAAAA==",
		Self: "dbs/HpxDAA==/colls/HpxDAIt3MtQ=/docs/HpxDAIt3MtQBAAAAAAAAAA==/",
		ETag: `"00000000-0000-0000-0000-000000000001"`, TS: 1700000000}
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst = s.Append(dst[:0], body)
	}
}
