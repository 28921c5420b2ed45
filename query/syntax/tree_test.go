package syntax

import (
	"fmt"
	"strings"
)

// tree returns the structure of a query as text, without the spans. Tests compare trees by it; it does not
// use Print.
func tree(n Node) string {
	var b strings.Builder
	var write func(Node)
	write = func(n Node) {
		fmt.Fprintf(&b, "(%s", strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax."))
		if own := ownFields(n); own != "" {
			b.WriteString(" " + own)
		}
		each(n, func(child Node) {
			b.WriteByte(' ')
			write(child)
		})
		b.WriteByte(')')
	}
	write(n)
	return b.String()
}

// ownFields returns the fields of a node that are not nodes themselves, and which of its optional children
// are present, as text.
func ownFields(n Node) string {
	switch n := n.(type) {
	case *QueryTree:
		return fmt.Sprint("from=", len(n.From), " where=", n.Where != nil, " group=", len(n.GroupBy),
			" offset=", n.Offset != nil)
	case *SelectClause:
		return fmt.Sprint("distinct=", n.Distinct, " value=", n.Value != nil)
	case *SelectItem:
		return fmt.Sprintf("%q %t", n.Alias, n.HasAlias)
	case *RowCountOperand:
		return fmt.Sprint(n.Param, n.Value.Num())
	case *FromSource:
		return fmt.Sprintf("%q in=%t", n.Alias, n.In)
	case *OrderBy:
		return fmt.Sprint("rank=", n.Rank != nil)
	case *SortItem:
		return fmt.Sprint("desc=", n.Desc)
	case *Literal:
		v := n.Value
		return fmt.Sprintf("%s %v %t %q", v.Kind(), v.Num(), v.Bool(), v.Str())
	case *Parameter:
		return n.Name
	case *Ident:
		return n.Name
	case *MemberExpr:
		return n.Name
	case *Unary:
		return n.Op.String()
	case *Binary:
		return n.Op.String()
	case *Logical:
		return n.Op.String()
	case *Between:
		return fmt.Sprint("not=", n.Not)
	case *InExpr:
		return fmt.Sprint("not=", n.Not)
	case *Like:
		return fmt.Sprint("not=", n.Not, " escape=", n.Escape != nil)
	case *Call:
		return fmt.Sprint(n.Name, " udf=", n.UDF)
	case *ObjectLiteral:
		return fmt.Sprintf("%q", n.Keys)
	case *Subquery:
		return fmt.Sprint(n.Kind)
	case *RewrittenQueryPlaceholder:
		return n.Name
	}
	return ""
}
