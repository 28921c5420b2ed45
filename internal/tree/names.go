package tree

// names adds members to an object that is being read. Few members are searched one by one; for many it
// maintains a table, so that reading a large object does not take quadratic time.
type names struct {
	of    *Value
	table map[string]bool // of all; nil while there are few
}

// fewNames is up to how many members are searched one by one.
const fewNames = 16

func newNames(of *Value) *names { return &names{of: of} }

func (n *names) has(name string) bool {
	if n.table != nil {
		return n.table[name]
	}
	return n.of.Member(name) != nil
}

func (n *names) append(m Member) {
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

// add appends a member, whose name must be new.
func (n *names) add(name string, place Place, value *Value) error {
	if n.has(name) {
		return place.Fail("'%s' is there a second time", name)
	}
	n.append(Member{Name: name, Place: place, Value: value})
	return nil
}
