package cosmos

import "testing"

func TestPartitionKeyHeader(t *testing.T) {
	for header, want := range map[string]string{
		`["a"]`:                      `["a"]`,
		`[]`:                         `[]`,
		`[{}]`:                       `[{}]`,
		`[null]`:                     `[null]`,
		`[true,false,1.0,1E5]`:       `[true,false,1,100000]`,
		` [ "a" , 2 ] `:              `["a",2]`,
		`["\u00e4"]`:                 `["ä"]`,
		`["\ud83d\ude00"]`:           `["😀"]`,
		`["\U0001f600"]`:             `["😀"]`,
		`["\a\v\x07\x7f"]`:           `["\u0007\u000b\u0007` + "\x7f" + `"]`,
		`["\xe4"]`:                   `["ä"]`,
		"[\"\u00e4\"]":               `["ä"]`,
		"[\"\xe4\"]":                 `["ä"]`,
		"[\"tab\there\"]":            `["tab\there"]`,
		`["quote\" back\\ slash\/"]`: `["quote\" back\\ slash/"]`,
		`["x\\a", "\\U0001f600"]`:    `["x\\a","\\U0001f600"]`,
		`["a\x22b"]`:                 `["a\"b"]`,
	} {
		got, err := ParsePartitionKey(header)
		if err != nil || got.String() != want {
			t.Errorf("%s: %s, %v; want %s", header, got, err, want)
		}
	}
}

func FuzzPartitionKey(f *testing.F) {
	for _, s := range []string{`["a"]`, `["\U0001f600\x07\a"]`, "[\"\xe4\"]", `[{},null,1e308,true]`, `["\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		key, err := ParsePartitionKey(header)
		if err != nil {
			if w, defect := Classify(err); defect || w.Status != 400 {
				t.Fatalf("%q: %v", header, err)
			}
			return
		}
		again, err := ParsePartitionKey(key.String())
		if err != nil || again.String() != key.String() {
			t.Fatalf("%q was read as %s and that as %s, %v", header, key, again, err)
		}
	})
}
