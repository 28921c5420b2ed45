package seed

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// SavedQuery is a query that is saved with its container.
type SavedQuery struct {
	Self       *tree.Value           `json:"-" tree:"self"`
	Name       string                `json:"name" required:"true"`
	Query      string                `json:"query" required:"true"`
	Parameters []SavedQueryParameter `json:"parameters,omitempty"`
}

// SavedQueryParameter is a parameter of a saved query.
type SavedQueryParameter struct {
	Name  string   `json:"name" required:"true" description:"Name of the parameter, beginning with @."`
	Value AnyValue `json:"value,omitempty"`
}

// takeQueries converts the queries to values of package store. It fails if one is invalid.
func (s *MayflyContainerSettings) takeQueries() error {
	if s == nil {
		return nil
	}
	for _, q := range s.Queries {
		if slices.ContainsFunc(s.saved, func(o definition.SavedQuery) bool { return o.Name == q.Name }) {
			return q.Self.Place.Fail("the query '%s' is defined a second time", q.Name)
		}
		one := definition.ContainerSettings{Queries: []definition.SavedQuery{q.value()}}
		if err := one.ValidateQueries(); err != nil {
			return q.Self.Place.Wrap("", err)
		}
		s.saved = append(s.saved, one.Queries[0])
	}
	return nil
}

func (q *SavedQuery) value() definition.SavedQuery {
	saved := definition.SavedQuery{Name: q.Name, Query: q.Query}
	for _, p := range q.Parameters {
		one := definition.QueryParameter{Name: p.Name}
		if p.Value.value != nil {
			one.Value = p.Value.value.AppendJSON(nil)
		}
		saved.Parameters = append(saved.Parameters, one)
	}
	return saved
}

// overlayQueries adds the saved queries of the seed to the settings to. If none is set, it first removes all
// queries that the settings have.
func (s *MayflyContainerSettings) overlayQueries(none bool, to *store.ContainerSettings) {
	if none {
		to.Queries = nil
	}
	for _, q := range s.saved {
		to.SaveQuery(q)
	}
}
