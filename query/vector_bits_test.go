package query

import (
	"os"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TestVectorBits checks that vector distances equal those of Cosmos DB's query compiler, recorded in
// testdata/vectors.txt, to the last bit.
func TestVectorBits(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		expression, value, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue
		}
		n++
		v, err := answerTo("SELECT VALUE " + expression)
		if want := jsondoc.Of([]byte(value)); err != nil || v.Kind() != jsondoc.Number || v.Num() != want.Num() {
			t.Errorf("%s: %s, %v, want %s", expression, v.Raw(), err, value)
		}
	}
	if n < 100 {
		t.Errorf("%d distances are too few", n)
	}
}
