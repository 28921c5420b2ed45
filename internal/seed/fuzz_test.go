package seed

import (
	"errors"
	"os"
	"testing"
	"testing/fstest"

	"github.com/mayflydb/mayfly/internal/tree"
)

// FuzzOpen checks that OpenFS accepts a file with random text, or fails with a *tree.ErrorAtFilePosition,
// which has the position in the file.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"one.yaml", "entities.yaml", "Config.json"} {
		data, err := os.ReadFile("testdata/shop/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, text := range []string{"databases: [null]",
		"databases: [{id: a, containers: null, users: [null]}]",
		"UserConfig:", "databases: [{id: a, containers: [{id: c, partitionKey: }]}]", "queues: [{name: }]",
		"databases: [{id: a, containers: [{id: c, partitionKey: /a, documents: [null], settings: null}]}]",
		"topics: [{name: t, subscriptions: [{name: s, rules: [{name: r, correlation: null}]}]}]",
		"databases: [{id: a, containers: [{id: c, partitionKey: [], triggers: [{id: p, file: /x}]}]}]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := OpenFS(fstest.MapFS{"s.yaml": &fstest.MapFile{Data: []byte(text)}}, ".")
		var placed *tree.ErrorAtFilePosition
		if err != nil && !errors.As(err, &placed) {
			t.Error(err)
		}
	})
}
