package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
)

// TestRoundTripOfRandomStores checks that stores with random containers and documents are unchanged by an
// export and an import into another server.
func TestRoundTripOfRandomStores(t *testing.T) {
	t.Parallel()
	first := metamorphic.FirstSeed()
	for n := range uint64(racetest.Fewer(6, 3)) {
		number := first + n
		t.Logf("seed %d", number)
		r := rand.New(rand.NewPCG(number, 8))
		one, two := boot(t, "--memory"), boot(t, "--memory")
		path := file(t, "random.yaml", randomSeed(r))
		one.run(t, "import", path)
		want := one.exported(t)
		two.run(t, "import", want, "--parallel", "1")
		sameFolders(t, want, two.exported(t))
		if t.Failed() {
			t.Fatalf("seed %d", number)
		}
		two.stop(t)
		one.stop(t)
	}
}

// randomSeed returns a seed file with random databases, containers and documents, as JSON, which is valid
// YAML too.
func randomSeed(r *rand.Rand) string {
	list := func(most int, one func(n int) any) []any {
		out := []any{}
		for n := range r.IntN(most + 1) {
			out = append(out, one(n))
		}
		return out
	}
	container := func(n int) any {
		c := map[string]any{"id": fmt.Sprintf("%s%d", randomText(r, 5), n), "partitionKey": "/pk",
			"documents": list(60, func(n int) any {
				return map[string]any{"id": fmt.Sprint(n, "-", randomID(r)), "pk": randomValue(r, 9),
					"v": randomValue(r, 0), randomText(r, 3) + "!": randomValue(r, 1)}
			})}
		if r.IntN(2) == 0 {
			c["throughput"] = 400 + 100*r.IntN(300)
		}
		if r.IntN(3) == 0 {
			c["ranges"] = 1 + r.IntN(9)
		}
		if r.IntN(2) == 0 {
			c["defaultTtl"] = 1 + r.IntN(1<<31-1)
		}
		if r.IntN(3) == 0 {
			c["storedProcedures"] = []any{map[string]any{"id": "p", "body": "/*" + randomText(r, 40) + "*/"}}
		}
		return c
	}
	text, err := json.Marshal(map[string]any{
		"databases": list(3, func(n int) any {
			users := list(3, func(n int) any { return map[string]any{"id": fmt.Sprint("u", n)} })
			return map[string]any{"id": fmt.Sprintf("%s%d", randomText(r, 5), n),
				"containers": list(4, container), "users": users}
		}),
		"queues": list(4, func(n int) any {
			return map[string]any{"name": fmt.Sprint("q", n), "maxDeliveryCount": 1 + r.IntN(1<<31-1),
				"userMetadata": randomText(r, 30), "lockDuration": fmt.Sprint("PT", 5+r.IntN(295), "S")}
		})})
	if err != nil {
		panic(err) // there is nothing in it that is no JSON
	}
	return string(text)
}

// randomID returns a random text whose characters are all allowed in an id.
func randomID(r *rand.Rand) string {
	return strings.Map(func(letter rune) rune {
		if strings.ContainsRune("/\\?#\x00\n\r\t", letter) {
			return -1
		}
		return letter
	}, randomText(r, 8))
}

// randomText returns a random text of fewer than most+2 characters, among them characters that are special
// in file names.
func randomText(r *rand.Rand, most int) string {
	letters := []rune("aZ09 .,:;'\"%*|<>&=+-_~^$()[]{}éßЖ中😀\u2028\u00A0")
	text := []rune{'x'}
	for range r.IntN(most) {
		text = append(text, letters[r.IntN(len(letters))])
	}
	return string(append(text, 'x'))
}

// randomValue returns a random JSON value. depth is the nesting depth of the value itself: beyond 8 only
// values without members are generated.
func randomValue(r *rand.Rand, depth int) any {
	edges := []string{"1e308", "-1.7976931348623157e308", "5e-324", "9007199254740992", "9007199254740993",
		"-0", "-0.0", "0.1", "1E+2", "123456789012345678901234567890", "-9223372036854775808", "1.0"}
	kinds := 8
	if depth > 8 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return json.RawMessage(edges[r.IntN(len(edges))])
	case 3:
		return r.NormFloat64()
	case 4:
		return "\x00\x1f\r\n\t\\\"/" + randomText(r, 20)
	case 5:
		return ""
	case 6:
		out := []any{}
		for range r.IntN(4) {
			out = append(out, randomValue(r, depth+1))
		}
		return out
	}
	out := map[string]any{}
	for range r.IntN(4) {
		out[randomText(r, 4)] = randomValue(r, depth+1)
	}
	return out
}
