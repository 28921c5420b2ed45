package query

import "github.com/mayflydb/mayfly/query/syntax"

func (b *binder) orderByRank(bl *block, s *scope, q *syntax.Query) {}
func (x *execution) rankRows(skip int) error { return nil }
func (p *planner) special(e *syntax.Call) access { return nil }
func (b *binder) euclidean(c *syntax.Call) bool { return false }
