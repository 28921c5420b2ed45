package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store/fault"
)

// TestSavedQueries checks that saved queries are sorted by unique names, and that saving and removing them
// does not change copies of the settings made before.
func TestSavedQueries(t *testing.T) {
	var s ContainerSettings
	for _, name := range []string{"b", "c", "a", "b"} {
		s.SaveQuery(SavedQuery{Name: name, Query: fmt.Sprintf("SELECT %d", len(s.Queries))})
	}
	names := func(s ContainerSettings) (list []string) {
		for _, q := range s.Queries {
			list = append(list, q.Name+" "+q.Query)
		}
		return list
	}
	want := []string{"a SELECT 2", "b SELECT 3", "c SELECT 1"}
	kept := s // which shares the list
	if got := names(s); !slices.Equal(got, want) || s.IsZero() || s.ValidateQueries() != nil {
		t.Errorf("%q, not %q", got, want)
	}
	if !s.RemoveQuery("b") || s.RemoveQuery("b") {
		t.Error("a query is not removed once")
	}
	if _, ok := s.Query("b"); ok {
		t.Error("a removed query is still there")
	}
	if got := names(kept); !slices.Equal(got, want) {
		t.Errorf("a copy has changed: %q", got)
	}
}

// TestSavedQueriesRefused checks that saved queries that are invalid, duplicate, too many or too large are
// refused.
func TestSavedQueriesRefused(t *testing.T) {
	one := func(q SavedQuery) (s ContainerSettings) {
		s.SaveQuery(q)
		return s
	}
	var many, large ContainerSettings
	long := SavedQuery{Name: "a", Query: strings.Repeat("x", MaxSavedQuery+1)}
	twice := []SavedQuery{{Name: "a", Query: "x"}, {Name: "a", Query: "y"}}
	for i := range MaxSavedQueries + 1 {
		many.SaveQuery(SavedQuery{Name: fmt.Sprint(i), Query: "SELECT 1"})
	}
	for i := range MaxSavedQueryTotal/MaxSavedQuery + 1 {
		large.SaveQuery(SavedQuery{Name: fmt.Sprint(i), Query: strings.Repeat("x", MaxSavedQuery)})
	}
	parameter := func(name, value string) ContainerSettings {
		list := []QueryParameter{{name, json.RawMessage(value)}}
		return one(SavedQuery{Name: "a", Query: "SELECT 1", Parameters: list})
	}
	for want, s := range map[string]ContainerSettings{
		"must have 1 to 64 characters": one(SavedQuery{Query: "SELECT 1"}),
		"none of them a control":       one(SavedQuery{Name: "a\nb", Query: "SELECT 1"}),
		"no blank at its ends":         one(SavedQuery{Name: "a ", Query: "SELECT 1"}),
		"1 to 64":                      one(SavedQuery{Name: strings.Repeat("é", 65), Query: "SELECT 1"}),
		"has no text":                  one(SavedQuery{Name: "a", Query: " \n"}),
		"which is more than 16384":     one(long),
		"begins with '@'":              parameter("n", "1"),
		"is not JSON":                  parameter("@n", "{"),
		"Two saved queries":            {Queries: twice},
		"at most 100":                  many,
		"262144 bytes together":        large,
	} {
		err := s.ValidateQueries()
		if fault.ErrorCode(err) != fault.CodeBadRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
