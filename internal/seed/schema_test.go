package seed

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mayflydb/mayfly/internal/tree"
)

// TestSchemaIsCurrent checks that the committed schema.json is what Schema generates.
func TestSchemaIsCurrent(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("schema.json")
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("go run ./cmd/mayfly seed schema > internal/seed/schema.json (%v)", err)
	}
}

// TestSchemaValidation checks that schema.json accepts the seed files of the tests and the files of a
// server's description, and rejects invalid files.
func TestSchemaValidation(t *testing.T) {
	data, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", resource); err != nil {
		t.Fatal(err)
	}
	validate := func(part, file string, text []byte) error {
		t.Helper()
		s, err := compiler.Compile("schema.json" + part)
		if err != nil {
			t.Fatal(err)
		}
		v, err := tree.Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.AppendJSON(nil)))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(instance)
	}
	for file, part := range map[string]string{"entities.yaml": "", "Config.json": "", "one.yaml": "",
		"shop/db.yaml": "#/definitions/Database", "shop/carts/container.yaml": "#/definitions/Container",
		"shop/products/container.json": "#/definitions/Container"} {
		text, err := os.ReadFile(filepath.Join("testdata/shop", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(part, file, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	w := newTestServer(t)
	w.must(everything(t))
	for file, content := range w.describe().Files {
		part := ""
		if _, base := filepath.Split(file); base == "db.json" {
			part = "#/definitions/Database"
		} else if base == "container.json" {
			part = "#/definitions/Container"
		}
		if err := validate(part, file, []byte(content)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, wrong := range []string{"databases: [{id: a, throughput: many}]", "queues: [{}]",
		"queues: [{name: q, lockDuration: 5}]", "databases: [{ident: a}]",
		"databases: [{id: a, containers: [{id: c, partitionKey: 5}]}]", "database: []"} {
		if validate("", "wrong.yaml", []byte(wrong)) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}
