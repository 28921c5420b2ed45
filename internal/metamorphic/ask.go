package metamorphic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/naivequery"
	"github.com/mayflydb/mayfly/query/syntax"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// ask returns the expected answer of a query. It evaluates the query over all live items that the model has
// in the query's scope.
func (w *ReferenceModel) ask(s HistoryStep) string {
	tree, err := syntax.Parse(s.Text)
	if err != nil || !w.config.Lenient && Refused(tree, w.policy) {
		return fault.CodeBadRequest.String()
	}
	var docs []any
	for _, it := range w.inScope(s) {
		d := decode(it.body).(map[string]any)
		d["_ts"] = float64(began + it.ts)
		docs = append(docs, d)
	}
	rows, err := naivequery.Run(tree, s.Values(), docs)
	if err != nil {
		return err.Error()
	}
	return AnswerText(tree, rows)
}

// decode decodes text that is known to be JSON.
func decode(text string) any {
	v, err := naivequery.Decode([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// Values returns the parameters by name, in the form that package naivequery, the simple evaluator of
// queries, expects.
func (q Query) Values() map[string]any {
	values := map[string]any{}
	for _, p := range q.Params {
		values[p.Name] = decode(p.Value)
	}
	return values
}

// Parameters returns the parameters in the form of package store.
func (q Query) Parameters() (list []store.QueryParameter) {
	for _, p := range q.Params {
		list = append(list, store.QueryParameter{Name: p.Name, Value: jsondoc.Of([]byte(p.Value))})
	}
	return list
}

// AnswerText formats the rows of a query so that equal answers have equal texts. It omits the system
// properties that a model cannot know. It sorts the rows unless their order is significant.
func AnswerText(q *syntax.QueryTree, rows []any) string {
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = naivequery.Text(WithoutSystem(row))
	}
	if !Ordered(q) {
		slices.Sort(texts)
	}
	return "[" + strings.Join(texts, " ") + "]"
}

// Ordered reports whether the order of a query's rows is significant. The order of groups and of distinct
// values is not, unless the query has ORDER BY.
func Ordered(q *syntax.QueryTree) bool {
	return q.OrderBy != nil || !q.Select.Distinct && len(q.GroupBy) == 0 &&
		!slices.ContainsFunc(q.From, func(src *syntax.FromSource) bool {
			return src.Sub != nil && !Ordered(src.Sub)
		})
}

// WithoutSystem removes the system properties that differ between containers: all but _ts.
func WithoutSystem(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, elem := range v {
			list[i] = WithoutSystem(elem)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, elem := range v {
			object[name] = WithoutSystem(elem)
		}
		maps.DeleteFunc(object, func(name string, _ any) bool {
			return name == "_rid" || name == "_self" || name == "_etag" || name == "_attachments"
		})
		return object
	}
	return v
}

// ask runs the query of a step in the store, page by page, and returns the rows as text, or the code of the
// error that the query fails with.
func (s *testedStore) ask(step HistoryStep) (string, error) {
	tree, err := syntax.Parse(step.Text)
	if err != nil {
		return fault.CodeBadRequest.String(), nil
	}
	request := store.QueryRequest{Text: step.Text, Parameters: step.Parameters(),
		ListOptions: store.ListOptions{Scope: s.scope(step), MaxItems: step.Page, ByRange: step.Page%2 == 1}}
	var rows []any
	for pages := 0; ; pages++ {
		page, receipt, err := s.c.Query(s.op, request)
		if err != nil {
			return answer("", err), s.failed(err)
		}
		if err := s.checkPosition(receipt, false); err != nil {
			return "", err
		}
		if err := paged(page, request, pages); err != nil {
			return "", err
		}
		if len(page.Rows) == 0 && (pages > 0 || page.Continuation != "") && tree.Where != nil &&
			!request.ByRange {
			return "", fmt.Errorf("page %d has no rows, and the continuation %q", pages+1, page.Continuation)
		}
		for _, row := range page.Rows {
			v, err := naivequery.Decode(row)
			if err != nil {
				return "", fmt.Errorf("a row is not JSON: %s: %w", row, err)
			}
			rows = append(rows, v)
		}
		if request.Continuation = page.Continuation; request.Continuation == "" {
			return AnswerText(tree, rows), nil
		}
	}
}

// paged checks a page of a query's result: its number of rows, the continuation, and before, the number of
// pages before it. A page may be longer than requested only if it is the whole result.
func paged(page store.QueryPage, r store.QueryRequest, before int) error {
	switch n := len(page.Rows); {
	case r.MaxItems > 0 && n > r.MaxItems && (before > 0 || page.Continuation != ""):
		return fmt.Errorf("a page of at most %d rows has %d", r.MaxItems, n)
	case page.Continuation != "" && page.Continuation == r.Continuation:
		return fmt.Errorf("a page continues at itself: %q", page.Continuation)
	case len(page.Continuation) > 1024:
		return fmt.Errorf("a continuation of %d characters", len(page.Continuation))
	case before > 10_000:
		return fmt.Errorf("%d pages and no end", before)
	}
	return nil
}
