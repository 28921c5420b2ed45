//go:build long

package peers

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// documentSet is the set of generated documents on which the databases are compared; docs is their number.
type documentSet struct{ docs int }

const (
	docBytes   = 1024
	categories = 50
	partitions = 100
	firstTS    = 1_800_000_000
)

// Primes that are larger than any set of documents. i times such a prime, modulo the number of documents,
// is a permutation of the document numbers, a different one for each prime.
const (
	stridePrice    = 2_147_483_647
	strideCategory = 1_610_612_741
	strideActive   = 805_306_457
)

func (s documentSet) shuffled(i, stride int) int { return i * stride % s.docs }

func id(i int) string { return fmt.Sprintf("%08d", i) }

// price returns the property price of document i. It is below 1000 and different for each document.
func (s documentSet) price(i int) float64 {
	return float64(s.shuffled(i, stridePrice)) * 1000 / float64(s.docs)
}

// partition returns the partition key of document i. It is "quiet" for the first hundredth of the
// documents, which are written before all others.
func (s documentSet) partition(i int) string {
	if i < s.docs/partitions {
		return "quiet"
	}
	return fmt.Sprintf("p%02d", i%(partitions-1))
}

func category(k int) string { return fmt.Sprintf("category-%02d", k%categories) }

// tag returns a word that document i has in common with about a hundred documents.
func (s documentSet) tag(i int) string { return fmt.Sprintf("tag%06d", i%(s.docs/100)) }

func (s documentSet) json(i int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	b := make([]byte, 0, docBytes)
	b = fmt.Appendf(b, `{"id":"%s","pk":"%s","category":"%s","price":%v,"active":%t,`,
		id(i), s.partition(i), category(s.shuffled(i, strideCategory)*categories/s.docs), s.price(i),
		s.shuffled(i, strideActive) < s.docs/2)
	b = fmt.Appendf(b, `"seq":%d,"ts":%d,"address":{"street":"%s","city":"%s","zip":%d},`, i, firstTS+i,
		letters(r, 12), letters(r, 8), r.IntN(100_000))
	b = fmt.Appendf(b, `"tags":["%s","new","t%d"],"pad":"`, s.tag(i), r.IntN(10))
	b = append(b, letters(r, docBytes-len(b)-len(`"}`))...)
	return append(b, `"}`...)
}

func letters(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte('a' + byte(r.IntN(26)))
	}
	return b.String()
}
