package tree

// objectBuilder adds members to an object that is being read. It finds repeated names: while there are few
// members, by comparing with each; for more members, with a table, so that reading a large object does not
// take quadratic time.
type objectBuilder struct {
	of    *Value
	table map[string]bool // set of all names; nil while there are few
}

// fewNames is the number of members up to which a name is searched for in the object itself. For more members
// there is a table of their names.
const fewNames = 16

func newNames(of *Value) *objectBuilder { return &objectBuilder{of: of} }

func (n *objectBuilder) has(name string) bool {
	if n.table != nil {
		return n.table[name]
	}
	return n.of.Member(name) != nil
}

func (n *objectBuilder) append(m Member) {
	n.of.Members = append(n.of.Members, m)
	switch {
	case n.table != nil:
		n.table[m.Name] = true
	case len(n.of.Members) > fewNames:
		n.table = make(map[string]bool, 2*fewNames)
		for _, m := range n.of.Members {
			n.table[m.Name] = true
		}
	}
}

// add appends a member. It fails if the object already has a member with this name.
func (n *objectBuilder) add(name string, place FilePosition, value *Value) error {
	if n.has(name) {
		return place.Fail("'%s' is there a second time", name)
	}
	n.append(Member{Name: name, Place: place, Value: value})
	return nil
}
