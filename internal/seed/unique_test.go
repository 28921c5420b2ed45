package seed

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// TestUniqueKeys checks that two documents of a seed with the same unique key are an error. A document of
// the seed that conflicts with one that a user has written is skipped with a warning.
func TestUniqueKeys(t *testing.T) {
	const seed = `
databases:
  - id: d
    containers:
      - id: c
        partitionKey: /k
        uniqueKeyPolicy: {uniqueKeys: [{paths: [/n]}]}
        documents:
          - {id: a, k: 1, n: 1}
          - {id: b, k: 1, n: %d}
`
	bad, good := text(t, fmt.Sprintf(seed, 1)), text(t, fmt.Sprintf(seed, 2))
	w := newTestServer(t)
	for what, err := range map[string]error{
		"rehearsed": bad.DryRun(t.Context()), "planted": second(w.plant(bad))} {
		var at *tree.ErrorAtFilePosition
		if !errors.As(err, &at) || at.FilePosition.Line != 10 {
			t.Errorf("%s: %v", what, err)
		}
	}
	if r := w.must(good); r.Documents != 2 {
		t.Errorf("%+v", r)
	}
	d, err := w.db.Database("d")
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Container("c")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Replace(t.Context(), definition.PartitionKey{}, "b", []byte(`{"id":"own","k":1,"n":2}`),
		store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r, err := good.Apply(t.Context(), ApplyTarget{DB: w.db, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil || r.Documents != 0 || strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("%+v, %v: %s", r, err, &log)
	}
}

func second[T any](_ T, err error) error { return err }
