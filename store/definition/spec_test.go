package definition

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

func TestSpec(t *testing.T) {
	datatest.Run(t, "testdata/spec.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		switch c.Cmd {
		case "create":
			spec, ignored, err := ParseContainerSpec([]byte(c.Input), c.Flag("strict"))
			if err == nil {
				spec.EnsureDefaults()
				err = spec.Validate()
			}
			if err != nil {
				return refusal(t, c, err)
			}
			out := readBack(t, c, spec)
			if len(ignored) > 0 {
				out += fmt.Sprintf("\nignored: %s", ignored)
			}
			return out
		case "replace":
			old, spec := c.Lines()[0], c.Lines()[1]
			was, _, err := ParseContainerSpec([]byte(old), true)
			if err != nil {
				c.Fatalf("%v", err)
			}
			was.EnsureDefaults()
			is, _, err := ParseContainerSpec([]byte(spec), true)
			if err != nil {
				c.Fatalf("%v", err)
			}
			if err := is.CheckReplace(was); err != nil {
				return refusal(t, c, err)
			}
			return "accepted"
		}
		return c.Unknown()
	})
}

func refusal(t *testing.T, c *datatest.TestFileCommand, err error) string {
	var own *fault.Error
	if !errors.As(err, &own) || own.Code != fault.CodeBadRequest {
		t.Errorf("%s: not a bad request: %v", c.Pos, err)
	}
	return "refused: " + err.Error()
}

// readBack returns a definition as the JSON that clients read, and checks that parsing that JSON, which is
// also the stored form, gives the same definition.
func readBack(t *testing.T, c *datatest.TestFileCommand, spec ContainerSpec) string {
	text := spec.AppendJSON([]byte("before"))[len("before"):]
	again, ignored, err := ParseContainerSpec(text, true)
	if err != nil || len(ignored) > 0 {
		c.Fatalf("%s is not read back: %v, %v", text, ignored, err)
	}
	if !again.Indexing.Equal(spec.Indexing) || !again.UniqueKeys.Equal(spec.UniqueKeys) ||
		again.UniqueKeys.IsZero() != spec.UniqueKeys.IsZero() {
		t.Errorf("%s: %s", c.Pos, text)
	}
	// These have their own idea of equality, which has been asked.
	again.Indexing, again.UniqueKeys = spec.Indexing, spec.UniqueKeys
	if !reflect.DeepEqual(again, spec) {
		t.Errorf("%s: not the same after %s:\n%#v\n%#v", c.Pos, text, again, spec)
	}
	if err := again.CheckReplace(spec); err != nil {
		t.Errorf("%s: it cannot be replaced by itself: %v", c.Pos, err)
	}
	return string(text)
}

// TestSpecOfAProgram checks that EnsureDefaults completes a definition in which a Go program has set only
// a few fields.
func TestSpecOfAProgram(t *testing.T) {
	embeddings := []VectorEmbedding{{Path: "/v", DataType: "FLOAT32", DistanceFunction: "Cosine", Dimensions: 2}}
	spec := ContainerSpec{
		ID:              "c",
		PartitionKey:    PartitionKeyDefinition{Paths: []string{"/a", "/b"}, Kind: KindMultiHash},
		VectorEmbedding: &VectorEmbeddingPolicy{Embeddings: embeddings},
	}
	spec.EnsureDefaults()
	if err := spec.Validate(); err != nil {
		t.Fatal(err)
	}
	if spec.PartitionKey.Version != 2 || !spec.Indexing.Equal(index.Default()) || spec.Geospatial != Geography ||
		spec.ConflictResolution.Path != "/_ts" || spec.VectorEmbedding.Embeddings[0].DataType != "float32" {
		t.Errorf("%+v", spec)
	}
	if embeddings[0].DataType != "FLOAT32" {
		t.Error("the caller's slice was changed")
	}
	before := spec
	spec.EnsureDefaults()
	if !reflect.DeepEqual(spec, before) {
		t.Error("EnsureDefaults is not stable")
	}
	var empty ContainerSpec
	empty.EnsureDefaults()
	if err := empty.Validate(); fault.ErrorCode(err) != fault.CodeBadRequest || !empty.PartitionKey.SystemKey {
		t.Errorf("%v, %+v", err, empty.PartitionKey)
	}
	wrong := before
	wrong.DefaultTTL = -5
	if err := wrong.Validate(); fault.ErrorCode(err) != fault.CodeBadRequest {
		t.Errorf("a default ttl of -5: %v", err)
	}
	wrong = before
	wrong.ComputedProperties = make([]ComputedProperty, 21)
	if err := wrong.Validate(); fault.ErrorCode(err) != fault.CodeBadRequest || !strings.Contains(err.Error(), "at most 20") {
		t.Errorf("21 computed properties: %v", err)
	}
}

// TestCaseOfProperties checks that a definition may write the version of the partition key as the reference
// of the REST API does, with a capital letter, and no other name in another case.
func TestCaseOfProperties(t *testing.T) {
	spec, ignored, err := ParseContainerSpec(
		[]byte(`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","Version":1}}`), true)
	if err != nil || len(ignored) > 0 || spec.PartitionKey.Version != 1 {
		t.Errorf("%+v, %v, %v", spec.PartitionKey, ignored, err)
	}
	for _, definition := range []string{
		`{"id":"c","partitionKey":{"paths":["/pk"],"VERSION":2}}`,
		`{"id":"c","partitionKey":{"Paths":["/pk"]}}`,
		`{"id":"c","partitionKey":{"paths":["/pk"]},"defaultTTL":5}`,
	} {
		_, _, err := ParseContainerSpec([]byte(definition), false)
		if fault.ErrorCode(err) != fault.CodeBadRequest || !strings.Contains(err.Error(), "it is spelled") {
			t.Errorf("%s: %v", definition, err)
		}
	}
}

func TestValidateID(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, " a": true, "a b": true, "Ünïcode 😀": true, "100%": true, `"'<>&+`: true,
		strings.Repeat("x", 255): true, strings.Repeat("😀", 255): true,
		"": false, strings.Repeat("x", 256): false, "a ": false, "a/b": false, `a\b`: false, "a#": false, "a?": false,
		"a\tb": false, "a\r": false, "a\n": false, "a\x00": false, "a\xff": false,
	} {
		err := ValidateID("database", id)
		if ok != (err == nil) || !ok && fault.ErrorCode(err) != fault.CodeBadRequest {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}

func TestValidateItemID(t *testing.T) {
	for _, c := range []struct {
		json string
		want string
	}{
		{`"a"`, "a"}, {`" a\tb\r\n/\\?#% "`, " a\tb\r\n/\\?#% "}, {`"\u0041😀"`, "A😀"},
		{`"` + strings.Repeat("x", 1023) + `"`, strings.Repeat("x", 1023)},
		{`"` + strings.Repeat("é", 512) + `"`, ""}, {`"` + strings.Repeat("x", 1024) + `"`, ""},
		{`""`, ""}, {`"a\u0000"`, ""}, {`5`, ""}, {`null`, ""}, {`["a"]`, ""}, {`{}`, ""}, {``, ""},
	} {
		id, err := ValidateItemID(jsondoc.Of([]byte(c.json)))
		if id != c.want || (err == nil) != (c.want != "") || err != nil && fault.ErrorCode(err) != fault.CodeBadRequest {
			t.Errorf("%.30s: %.30q, %v", c.json, id, err)
		}
	}
	if _, err := ValidateItemID(jsondoc.Value{}); !strings.Contains(err.Error(), "required properties - 'id; '") {
		t.Error(err)
	}
}

func FuzzSpec(f *testing.F) {
	f.Add([]byte(`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":5}`))
	f.Add([]byte(`{"id":"c","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]}]},"indexingPolicy":{"compositeIndexes":[[{}]]}}`))
	f.Add([]byte(`{"id":"c","computedProperties":[null,{"name":"a","query":"SELECT VALUE"}],"geospatialConfig":{}}`))
	f.Add([]byte(`{"id":"c","clientEncryptionPolicy":{"includedPaths":[{}]},"fullTextPolicy":{"fullTextPaths":[{}]},"vectorEmbeddingPolicy":{"vectorEmbeddings":[{}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		spec, _, err := ParseContainerSpec(raw, false)
		if err == nil {
			spec.EnsureDefaults()
			err = spec.Validate()
		}
		if err != nil {
			if code := fault.ErrorCode(err); code != fault.CodeBadRequest && code != fault.CodeTooLarge {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		text := spec.AppendJSON(nil)
		again, ignored, err := ParseContainerSpec(text, true)
		if err != nil || len(ignored) > 0 {
			t.Fatalf("%q is not read back: %v, %v", text, ignored, err)
		}
		if err := again.CheckReplace(spec); err != nil || string(again.AppendJSON(nil)) != string(text) {
			t.Fatalf("%q reads as %q, %v", text, again.AppendJSON(nil), err)
		}
	})
}
