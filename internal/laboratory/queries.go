package laboratory

import (
	"bytes"
	"context"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// SavedQuery is a query stored under a name.
type SavedQuery definition.SavedQuery

// Verbatim implements route.VerbatimResponse: characters that HTML reserves are not escaped.
func (*SavedQuery) Verbatim() {}

// SavedQueries holds the saved queries of a container, ordered by name.
type SavedQueries struct {
	Queries []SavedQuery `json:"queries" nullable:"false"`
}

// Verbatim implements route.VerbatimResponse: characters that HTML reserves are not escaped.
func (*SavedQueries) Verbatim() {}

func (l *Laboratory) listQueries(_ context.Context, in *ContainerPath) (SavedQueries, error) {
	out := SavedQueries{[]SavedQuery{}}
	for _, q := range in.container.Settings().Queries {
		out.Queries = append(out.Queries, SavedQuery(q))
	}
	return out, nil
}

// SavedQueryPath is the part of a request that names a saved query in its path.
type SavedQueryPath struct {
	ContainerPath
	Query string `path:"query" description:"Name of the saved query."`
}

// savedQueryParameters are the parameters of a query that a request saves.
type savedQueryParameters struct{ list []definition.QueryParameter }

// DecodeMember implements route.JSONMemberDecoder: it parses the JSON array of a query's parameters, objects
// with the members name and value.
func (p *savedQueryParameters) DecodeMember(_ string, v jsondoc.Value) error {
	if _, err := store.ParseParameters(v); err != nil {
		return err
	}
	v.Each(func(_ string, e jsondoc.Value) bool {
		one := definition.QueryParameter{Name: e.Member("name").Str()}
		if value := e.Member("value"); value.Kind() != jsondoc.Undefined {
			one.Value = bytes.Clone(value.Raw())
		}
		p.list = append(p.list, one)
		return true
	})
	return nil
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of an array of parameters, objects with the
// members name and value.
func (savedQueryParameters) JSONSchema() (jsonschema.Schema, error) {
	return sqlQueryParameters{}.JSONSchema()
}

type saveQueryRequest struct {
	SavedQueryPath
	Text       route.RequiredText   `json:"query" missing:"The body must have a 'query'."`
	Parameters savedQueryParameters `json:"parameters,omitempty"`

	_ struct{} `takes:"a saved query takes %"`
	_ struct{} `additionalProperties:"false"`
}

// saveQuery stores a query under a name. It replaces an existing query of that name.
func (l *Laboratory) saveQuery(ctx context.Context, in *saveQueryRequest) (SavedQuery, error) {
	q := definition.SavedQuery{Name: in.Query, Query: string(in.Text), Parameters: in.Parameters.list}
	_, err := in.container.ChangeSettings(ctx, func(s *store.ContainerSettings) error {
		s.SaveQuery(q)
		return nil
	})
	return SavedQuery(q), err
}

type renameQueryRequest struct {
	SavedQueryPath
	Name route.RequiredText `json:"name" missing:"The body must have a 'name'." description:"New query name."`

	_ struct{} `takes:"a saved query is renamed with %"`
	_ struct{} `additionalProperties:"false"`
}

// renameQuery renames a saved query. The new name must not be in use.
func (l *Laboratory) renameQuery(ctx context.Context,
	in *renameQueryRequest) (SavedQuery, error) {
	var q definition.SavedQuery
	_, err := in.container.ChangeSettings(ctx, func(s *store.ContainerSettings) error {
		var ok bool
		if q, ok = s.Query(in.Query); !ok {
			return noQuery(in.Query)
		}
		if _, taken := s.Query(string(in.Name)); taken && string(in.Name) != in.Query {
			return fault.New(fault.CodeConflict, "There is a saved query '"+string(in.Name)+"' already.")
		}
		s.RemoveQuery(in.Query)
		q.Name = string(in.Name)
		s.SaveQuery(q)
		return nil
	})
	return SavedQuery(q), err
}

func (l *Laboratory) deleteQuery(ctx context.Context, in *SavedQueryPath) (route.NoBody, error) {
	_, err := in.container.ChangeSettings(ctx, func(s *store.ContainerSettings) error {
		if !s.RemoveQuery(in.Query) {
			return noQuery(in.Query)
		}
		return nil
	})
	return route.NoBody{}, err
}

func noQuery(name string) error {
	return fault.New(fault.CodeNotFound, "There is no saved query '"+name+"'.")
}

func ofQueries() routeTable {
	const queries = container + "/queries"
	return routeTable{
		on(get, queries, "The saved queries of a container", (*Laboratory).listQueries),
		on(put, queries+"/{query}", "Save a query under a name", (*Laboratory).saveQuery),
		on(patch, queries+"/{query}", "Rename a saved query", (*Laboratory).renameQuery).Failing(409),
		on(del, queries+"/{query}", "Delete a saved query", (*Laboratory).deleteQuery),
	}
}
