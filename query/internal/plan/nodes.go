package plan

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/syntax"
)

// DistinctNeighbours is a DISTINCT whose rows come in an order that has equal ones side by side.
type DistinctNeighbours struct{}

// String implements node.
func (DistinctNeighbours) String() string { return "distinct from the row before" }

// DistinctPages is a DISTINCT over rows in the order of rids.
type DistinctPages struct{}

// String implements node.
func (DistinctPages) String() string { return "distinct" }

// DistinctSet is a DISTINCT over values.
type DistinctSet struct{}

// String implements node.
func (DistinctSet) String() string { return "distinct" }

// DocumentsNode reads the documents that may fulfil the conditions, in the order of their rids, source after
// source.
type DocumentsNode struct{ plan *Plan }

// OrderNode merges the documents of the sources, each in the order of the query, by an index or by sorting.
// It puts them to the filter itself: some are found in an order that is known of wanted ones alone.
type OrderNode struct{ plan *Plan }

// RankNode reads the documents in the order of scores.
type RankNode struct{ plan *Plan }

// GroupNode makes groups of rows and aggregates of them, of what indexes say alone where that is enough. In
// the form grouping the groups come in the order of their keys: a page makes those behind the groups of the
// page before, as many as fit. Those that fit in one page may come as they turn up.
type GroupNode struct {
	of        *bind.Block
	Rs        *eval.Rowset
	IndexOnly *indexOnly  // how an index makes the groups; nil: none does
	Counts    *textCounts // the same of the index of words
	Paged     bool
	ByTurn    bool // see Plan
}

// String implements node.
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

// PageNode gives out rows: it counts them against OFFSET and LIMIT, and ends the page where it is full. How a
// page goes on from the one before depends on the form of the plan. The cursor is a position among documents
// (see DocumentsNode, OrderNode) or among groups (see GroupNode); or it counts rows, where all are made
// before the first is given out. These are one page, unless they are too long for one: then the next page
// reads on what this one has written to a file, or makes them again, and leaves out what was given.
type PageNode struct{ of *bind.Block }

// String implements node.
func (n *PageNode) String() string {
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
