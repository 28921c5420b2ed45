package definition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/store/fault"
)

// SavedQuery is a named query that users save with a container. The store does not run it.
type SavedQuery struct {
	Name       string           `json:"name"`
	Query      string           `json:"query"`
	Parameters []QueryParameter `json:"parameters,omitempty"`
}

// QueryParameter is a parameter of a saved query.
type QueryParameter struct {
	Name  string          `json:"name"`            // with its '@'
	Value json.RawMessage `json:"value,omitempty"` // JSON; empty: undefined
}

// Limits of the saved queries of a container. They are part of its record, which is kept in memory.
const (
	MaxSavedQueries    = 100
	MaxSavedQueryName  = 64        // characters
	MaxSavedQuery      = 16 << 10  // bytes of a query with its parameters
	MaxSavedQueryTotal = 256 << 10 // bytes of all queries of a container
)

// size returns the number of bytes of the query's text and parameters.
func (q SavedQuery) size() int {
	n := len(q.Query)
	for _, p := range q.Parameters {
		n += len(p.Name) + len(p.Value)
	}
	return n
}

// validate fails for a query that cannot be saved.
func (q SavedQuery) validate() error {
	refuse := func(format string, about ...any) error {
		return fault.New(fault.CodeBadRequest, fmt.Sprintf(format, about...))
	}
	switch {
	case !validName(q.Name):
		return refuse("The name of a saved query must have 1 to %d characters, none of them a control "+
			"character, and no blank at its ends.", MaxSavedQueryName)
	case strings.TrimSpace(q.Query) == "":
		return refuse("The saved query '%s' has no text.", q.Name)
	case q.size() > MaxSavedQuery:
		return refuse("The saved query '%s' has %d bytes with its parameters, which is more than %d.", q.Name,
			q.size(), MaxSavedQuery)
	}
	for _, p := range q.Parameters {
		if !strings.HasPrefix(p.Name, "@") || len(p.Name) < 2 {
			return refuse("Each parameter of the saved query '%s' needs a 'name' that begins with '@'.",
				q.Name)
		}
		if p.Value != nil && !json.Valid(p.Value) {
			return refuse("The value of the parameter %s of the saved query '%s' is not JSON.", p.Name,
				q.Name)
		}
	}
	return nil
}

func validName(name string) bool {
	n := utf8.RuneCountInString(name)
	return n > 0 && n <= MaxSavedQueryName && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// ValidateQueries fails with CodeBadRequest if the saved queries cannot be stored.
func (s *ContainerSettings) ValidateQueries() error {
	if len(s.Queries) > MaxSavedQueries {
		return fault.New(fault.CodeBadRequest, fmt.Sprintf("A container can have at most %d saved queries.",
			MaxSavedQueries))
	}
	total := 0
	for i, q := range s.Queries {
		if err := q.validate(); err != nil {
			return err
		}
		if i > 0 && s.Queries[i-1].Name == q.Name {
			return fault.New(fault.CodeBadRequest, "Two saved queries have the name '"+q.Name+"'.")
		}
		total += q.size()
	}
	if total > MaxSavedQueryTotal {
		return fault.New(fault.CodeBadRequest, fmt.Sprintf("The saved queries of a container may "+
			"have %d bytes together, not %d.", MaxSavedQueryTotal, total))
	}
	return nil
}

// Query returns the saved query with the given name. ok is false if there is none.
func (s *ContainerSettings) Query(name string) (q SavedQuery, ok bool) {
	i, ok := s.findQuery(name)
	if !ok {
		return q, false
	}
	return s.Queries[i], true
}

// SaveQuery adds a query, or replaces the one with its name. Queries are sorted by name. SaveQuery creates
// a new list, since copies of the settings may share the old one.
func (s *ContainerSettings) SaveQuery(q SavedQuery) {
	i, ok := s.findQuery(q.Name)
	next := slices.Clone(s.Queries)
	if ok {
		next[i] = q
	} else {
		next = slices.Insert(next, i, q)
	}
	s.Queries = next
}

// RemoveQuery removes the query with the given name, and reports whether there was one. Like SaveQuery, it
// creates a new list.
func (s *ContainerSettings) RemoveQuery(name string) bool {
	i, ok := s.findQuery(name)
	if ok {
		s.Queries = slices.Delete(slices.Clone(s.Queries), i, i+1)
	}
	return ok
}

func (s *ContainerSettings) findQuery(name string) (i int, ok bool) {
	return slices.BinarySearchFunc(s.Queries, name, func(q SavedQuery, name string) int {
		return cmp.Compare(q.Name, name)
	})
}
