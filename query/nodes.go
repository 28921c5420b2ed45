package query

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/query/syntax"
)

// distinctNeighbours is a DISTINCT whose rows come in an order that has equal ones side by side.
type distinctNeighbours struct{}

func (distinctNeighbours) String() string { return "distinct from the row before" }

// distinctPages is a DISTINCT over rows in the order of rids.
type distinctPages struct{}

func (distinctPages) String() string { return "distinct" }

// distinctSet is a DISTINCT over values.
type distinctSet struct{}

func (distinctSet) String() string { return "distinct" }

// documentsNode reads the documents that may fulfil the conditions, in the order of their rids, source after
// source.
type documentsNode struct{ plan *planned }

// orderNode merges the documents of the sources, each in the order of the query, by an index or by sorting.
// It puts them to the filter itself: some are found in an order that is known of wanted ones alone.
type orderNode struct{ plan *planned }

// rankNode reads the documents in the order of scores.
type rankNode struct{ plan *planned }

// groupNode makes groups of rows and aggregates of them, of what indexes say alone where that is enough. In
// the form grouping the groups come in the order of their keys: a page makes those behind the groups of the
// page before, as many as fit. Those that fit in one page may come as they turn up.
type groupNode struct {
	of     *block
	rs     *rowset
	only   *indexOnly  // how an index makes the groups; nil: none does
	counts *textCounts // the same of the index of words
	paged  bool
	byTurn bool // see Plan
}

func (n *groupNode) String() string {
	texts := make([]string, len(n.of.aggs))
	for i, a := range n.of.aggs {
		texts[i] = a.name + "(" + syntax.PrintExpr(a.arg) + ")"
	}
	aggregates := strings.Join(texts, ", ")
	if len(n.of.groupBy) == 0 {
		return "aggregate " + aggregates
	}
	keys := make([]string, len(n.of.groupBy))
	for i, e := range n.of.groupBy {
		keys[i] = syntax.PrintExpr(e)
	}
	text := "group by " + strings.Join(keys, ", ")
	if aggregates != "" {
		text += " with " + aggregates
	}
	for i, k := range n.of.sorted {
		text += []string{", sorted by ", ", "}[min(i, 1)] + syntax.PrintExpr(k.x)
		if k.desc {
			text += " DESC"
		}
	}
	return text
}

// pageNode gives out rows: it counts them against OFFSET and LIMIT, and ends the page where it is full. How a
// page goes on from the one before depends on the form of the plan. The cursor is a position among documents
// (see documentsNode, orderNode) or among groups (see groupNode); or it counts rows, where all are made
// before the first is given out. These are one page, unless they are too long for one: then the next page
// reads on what this one has written to a file, or makes them again, and leaves out what was given.
type pageNode struct{ of *block }

func (n *pageNode) String() string {
	if n.of.offset == 0 && n.of.limit < 0 {
		return ""
	}
	text := "limit"
	if n.of.limit >= 0 {
		text += " " + strconv.FormatInt(n.of.limit, 10)
	}
	if n.of.offset > 0 {
		text += " offset " + strconv.FormatInt(n.of.offset, 10)
	}
	return text
}
