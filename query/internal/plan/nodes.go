package plan

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/syntax"
)

// DistinctAdjacentNode drops equal rows of a DISTINCT while rows come in an order in which equal rows are
// adjacent.
type DistinctAdjacentNode struct{}

// String returns the line of the node in the output of a plan.
func (DistinctAdjacentNode) String() string { return "distinct from the row before" }

// DistinctAcrossPagesNode drops equal rows of a DISTINCT while rows come in the order of rids. The set of
// returned rows passes from page to page.
type DistinctAcrossPagesNode struct{}

// String returns the line of the node in the output of a plan.
func (DistinctAcrossPagesNode) String() string { return "distinct" }

// DistinctSetNode drops equal rows of a DISTINCT in a query that makes all rows before the first is returned,
// or in a subquery.
type DistinctSetNode struct{}

// String returns the line of the node in the output of a plan.
func (DistinctSetNode) String() string { return "distinct" }

// CandidateDocumentsNode reads the documents that may match the conditions, one source after the other, each
// in the order of rids.
type CandidateDocumentsNode struct{ plan *Plan }

// OrderNode returns the documents of all sources (partition ranges) in the order of ORDER BY. Each source
// returns its documents in that order, through an index or by sorting, and the node merges them. It
// applies the filter itself, since in some cases the order is defined for matching documents only.
type OrderNode struct{ plan *Plan }

// RankNode returns the documents in the order of ORDER BY RANK, the best scores first.
type RankNode struct{ plan *Plan }

// GroupNode makes groups of rows and their aggregates, from indexes alone if possible. If the plan's form is
// Grouping, the groups come in the order of their keys, and a page makes the groups that come after those of
// the previous page, as many as fit. If all groups fit in one page, they may come in the order in which they
// are found.
type GroupNode struct {
	of        *bind.QueryBlock
	Rowset    *eval.CompiledSelect
	IndexOnly *indexOnlyPlan       // how an index alone makes the groups; nil: it cannot
	Counts    *textIndexAggregates // how an index of words alone makes the groups; nil: it cannot
	Paged     bool
	ByTurn    bool // see Plan
}

// String returns the line of the node in the output of a plan.
func (n *GroupNode) String() string {
	texts := make([]string, len(n.of.Aggs))
	for i, a := range n.of.Aggs {
		texts[i] = a.Name + "(" + syntax.PrintExpr(a.Arg) + ")"
	}
	aggregates := strings.Join(texts, ", ")
	if len(n.of.GroupBy) == 0 {
		return "aggregate " + aggregates
	}
	keys := make([]string, len(n.of.GroupBy))
	for i, e := range n.of.GroupBy {
		keys[i] = syntax.PrintExpr(e)
	}
	text := "group by " + strings.Join(keys, ", ")
	if aggregates != "" {
		text += " with " + aggregates
	}
	for i, k := range n.of.Sorted {
		text += []string{", sorted by ", ", "}[min(i, 1)] + syntax.PrintExpr(k.X)
		if k.Desc {
			text += " DESC"
		}
	}
	return text
}

// LimitNode returns rows. It counts them against OFFSET and LIMIT, and ends the page when it is full. How the
// next page resumes depends on the form of the plan. The continuation token is a position among documents
// (see CandidateDocumentsNode, OrderNode) or among groups (see GroupNode). If all rows are made before the
// first is returned, it is a count of rows. These rows are one page if they fit. If they do not, the next
// page reads the rest from a file that this page has written, or makes all rows again and skips those that
// were returned.
type LimitNode struct{ of *bind.QueryBlock }

// String returns the line of the node in the output of a plan.
func (n *LimitNode) String() string {
	if n.of.Offset == 0 && n.of.Limit < 0 {
		return ""
	}
	text := "limit"
	if n.of.Limit >= 0 {
		text += " " + strconv.FormatInt(n.of.Limit, 10)
	}
	if n.of.Offset > 0 {
		text += " offset " + strconv.FormatInt(n.of.Offset, 10)
	}
	return text
}
