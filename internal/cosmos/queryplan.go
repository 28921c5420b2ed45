package cosmos

import (
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
)

// planPrefix precedes the message of an error that Cosmos DB finds while it makes a query plan.
const planPrefix = "Gateway Failed to Retrieve Query Plan: "

// queryPlan responds with the plan that a client needs to run a query over several partition ranges.
func (s *Service) queryPlan(c *requestInProgress) error {
	p, _, err := s.within(c)
	if err != nil {
		return err
	}
	text, params, err := decodeQuery(c)
	if err != nil {
		return err
	}
	plan, r, err := p.container.QueryPlan(c.ctx, store.QueryRequest{
		Text: text, Parameters: params, ListOptions: c.in.listOptions(), Continued: c.in.Continued,
	}, c.in.Features)
	c.setReceiptOf(r)
	if err != nil {
		w, internal := Classify(err)
		if internal || w.Status != StatusBadRequest || w.bare {
			return err
		}
		w.prefix = planPrefix
		return &w
	}
	return c.json(StatusOK, plan)
}

// decodeResume parses the position at which a query with ORDER BY continues, in the form of the .NET client:
//
//	"resumeFilter": {"value": [1, "a", [], {"type": "array", "low": -1, "high": 2}], "rid": "...", "exclude": true}
//
// An empty array stands for undefined. An object stands for an ORDER BY value that is an array or an object;
// it contains the hash of that value.
func decodeResume(filter jsondoc.Value) (*store.OrderedQueryResumePosition, error) {
	switch filter.Kind() {
	case jsondoc.Undefined, jsondoc.Null:
		return nil, nil
	}
	values, rid, exclude := filter.Member("value"), filter.Member("rid"), filter.Member("exclude")
	r := &store.OrderedQueryResumePosition{Exclude: exclude.Bool()}
	if k := rid.Kind(); k == jsondoc.String {
		r.RID = rid.Str()
	} else if k != jsondoc.Undefined && k != jsondoc.Null {
		return nil, BadRequest("The 'rid' of a 'resumeFilter' must be a string.")
	}
	if k := exclude.Kind(); k != jsondoc.Undefined && k != jsondoc.Bool {
		return nil, BadRequest("The 'exclude' of a 'resumeFilter' must be a boolean.")
	}
	if values.Kind() != jsondoc.Array {
		return nil, BadRequest("A 'resumeFilter' needs a 'value', an array of what the rows are ordered by.")
	}
	known := true
	values.Each(func(_ string, v jsondoc.Value) bool {
		var at query.OrderByValue
		at, known = decodeOrderValue(v)
		r.Values = append(r.Values, at)
		return known
	})
	if !known {
		return nil, BadRequest("A 'resumeFilter' names an array or an object by its 'type', 'low' and 'high'.")
	}
	return r, nil
}

// decodeOrderValue parses one ORDER BY value of a resume filter. An array or an object is given by its
// hash, whose two halves, low and high, are signed integers. known is false if the value is malformed.
func decodeOrderValue(v jsondoc.Value) (at query.OrderByValue, known bool) {
	switch {
	case v.Kind() < jsondoc.Array:
		return query.OrderedBy(v), true
	case v.Kind() == jsondoc.Array:
		return at, v.Len() == 0
	}
	low, err := strconv.ParseInt(string(v.Member("low").Raw()), 10, 64)
	high, err2 := strconv.ParseInt(string(v.Member("high").Raw()), 10, 64)
	if err != nil || err2 != nil {
		return at, false
	}
	kind, known := map[string]jsondoc.Kind{"array": jsondoc.Array, "object": jsondoc.Object}[v.Member("type").Str()]
	return query.OrderedByHash(kind, jsondoc.MurmurHash128{Low: uint64(low), High: uint64(high)}), known
}
