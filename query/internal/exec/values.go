package exec

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// Value is a JSON object of a short list that is queried without being stored in a container. Its text is
// complete: it has only those system properties that are in the text.
type Value struct {
	// greater than 0; ascends along the list and stays the same when other values are added or removed
	Position uint64
	Text     []byte
}

// RunValues makes one page of a query over a list: see Plan.RunValues of package query.
func RunValues(ctx context.Context, p *plan.Plan, list []Value, env eval.Env, o RunOptions) (Page, error) {
	sources := []source.Source{&values{list: list}}
	page, err := Run(ctx, p, sources, env, o)
	if err != nil || page.Cursor == "" {
		return page, err
	}
	o.Cursor, o.MaxItems = page.Cursor, 1
	ahead, err := Run(ctx, p, sources, env, o)
	if err != nil {
		return Page{Stats: page.Stats}, err
	}
	if len(ahead.Rows) == 0 && ahead.Cursor == "" {
		page.Cursor = ""
	}
	return page, nil
}

// values is a Source over a list, without an index. The rid of a value is its position.
type values struct{ list []Value }

func (s *values) find(position uint64) (int, bool) {
	return slices.BinarySearchFunc(s.list, position, func(v Value, at uint64) int {
		switch {
		case v.Position < at:
			return -1
		case v.Position > at:
			return 1
		}
		return 0
	})
}

// Scan iterates over the values whose positions are greater than after.
func (s *values) Scan(after uint64) source.Documents {
	i, found := s.find(after)
	if found {
		i++
	}
	return &valueScan{rest: s.list[i:]}
}

// Fetch returns the value at a position, or false if there is none.
func (s *values) Fetch(rid uint64) (source.Document, bool, error) {
	i, found := s.find(rid)
	if !found {
		return nil, false, nil
	}
	return &value{&s.list[i]}, true, nil
}

// Postings returns no rids, because a list has no index.
func (s *values) Postings([]byte) source.Postings { return &SortedRIDs{} }

// Terms returns no entries, because a list has no index.
func (s *values) Terms(_, _ []byte, _ bool) source.Terms { return noTerms{} }

// Partition returns false, because a list has no partitions.
func (s *values) Partition() (source.Postings, bool) { return nil, false }

// noTerms is the Terms of an index that does not exist.
type noTerms struct{}

func (noTerms) Next() bool    { return false }
func (noTerms) Key() []byte   { return nil }
func (noTerms) Value() []byte { return nil }
func (noTerms) RID() uint64   { return 0 }
func (noTerms) Close() error  { return nil }

// valueScan is the source.Documents over the list of a RunValues.
type valueScan struct {
	rest []Value
	at   *Value
}

// Next moves to the next value of the list and returns false at the end.
func (s *valueScan) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = &s.rest[0], s.rest[1:]
	return true
}

// Document returns the current value.
func (s *valueScan) Document() source.Document { return &value{s.at} }

// Err returns nil: reading a list cannot fail.
func (s *valueScan) Err() error { return nil }

// Close does nothing.
func (s *valueScan) Close() error { return nil }

// value is a Value as a source.Document.
type value struct{ *Value }

// Complete marks the value as a source.Completer: its text includes its system properties.
func (v *value) Complete() {}

// RID returns the position of the value.
func (v *value) RID() uint64 { return v.Position }

// Body returns the text of the value.
func (v *value) Body() []byte { return v.Text }

// System returns no system properties: nothing is added to the text.
func (v *value) System() jsondoc.System { return jsondoc.System{} }
