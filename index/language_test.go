package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func TestLanguages(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{"en-US", "The running bikes", "run@1 bike@2"},
		{"fr-FR", "Ils mangeaient l’avion de la maison, manger", "mang@1 avion@2 maison@5 mang@6"},
		{"fr-FR", "aujourd'hui the", "aujourd'hui@0 the@1"},
		{"de-DE", "Die Häuser der Katzen laufen", "haus@1 katz@3 lauf@4"},
		{"it-IT", "Le gatte dell'amica mangiavano", "gatt@1 amic@2 mang@3"},
		{"pt-BR", "Os meninos correram para a casa", "menin@1 corr@2 cas@5"},
		{"pt-PT", "as casas", "cas@1"},
		{"es-ES", "Los gatos corrieron por las casas", "gat@1 corr@2 cas@5"},
		{"EN-us", "to be", ""},
		{"", "cats", "cat@0"},
	} {
		language, ok := LanguageOf(c.language)
		if !ok {
			t.Errorf("%s is not known", c.language)
		}
		var list []string
		for _, token := range language.AppendTokens(nil, c.text) {
			list = append(list, fmt.Sprintf("%s@%d", token.Term, token.Position))
		}
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%s: %s gives %s, want %s", c.language, c.text, got, c.want)
		}
	}
	if language, known := LanguageOf("1033"); !known || language != English {
		t.Errorf("1033 is %v, %v", language, known)
	}
	for _, name := range []string{"xx-YY", "en", "english", "fr", "1031", "01033"} {
		if _, known := LanguageOf(name); known {
			t.Errorf("%s is known", name)
		}
	}
}

// TestLanguageOfDefinition checks that two index definitions are different if they have different
// languages for an indexed text, and that the entries of one language are not used for the other.
func TestLanguageOfDefinition(t *testing.T) {
	policy, err := Parse([]byte(`{"fullTextIndexes":[{"path":"/text"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	english := IndexingSettings{Policy: policy}
	french := IndexingSettings{Policy: policy, Languages: map[string]Language{"/text": French}}
	other := IndexingSettings{Policy: policy, Languages: map[string]Language{"/other": French}}
	if english.Equal(french) || !english.Equal(other) ||
		english.Equal(IndexingSettings{Policy: policy, Language: German}) {
		t.Error("the language decides what the entries are")
	}
	x, err := NewIndexer(french, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, err := NewIndexer(english, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := PathTo(jsondoc.PathOf("text"))
	if !x.TextIndexed(path) || x.WithOlder(old).TextIndexed(path) || x.Language(path) != French ||
		x.Language(PathTo(jsondoc.PathOf("a"))) != English {
		t.Error("entries of another language are of no use")
	}
}
