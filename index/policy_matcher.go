package index

// PolicyMatcher reports which positions in documents the policy, from which it was compiled, indexes. It is
// immutable and safe for concurrent use.
//
// It is the tree of the policy's patterns. A node holds the decisions of the patterns that end there: exact
// for the scalar at the node (/?), below for everything at and below it (/*). The most precise pattern for
// a position is found on the way down from the root: exact of the node itself, or otherwise the last below
// on the way.
type PolicyMatcher struct {
	root *patternNode
}

// pathInclusion is the decision of a pattern: whether values are included in the index or excluded from it.
type pathInclusion uint8

const (
	unspecified pathInclusion = iota
	included
	excluded
)

// patternNode is a node of a PolicyMatcher, the tree of the paths in an indexing policy.
type patternNode struct {
	exact, below pathInclusion
	hasIncluded  bool // a pattern that ends here or below includes something
	names        map[string]*patternNode
	element      *patternNode
}

// Compile builds the PolicyMatcher of a normalised policy. A policy whose mode is none indexes nothing. The
// error is a *PolicyError for a path that cannot be parsed or that is both included and excluded.
func Compile(p Policy) (*PolicyMatcher, error) {
	m := &PolicyMatcher{root: &patternNode{}}
	if p.Mode == None {
		return m, nil
	}
	for _, list := range []struct {
		at    string
		paths []IncludedOrExcludedPath
		says  pathInclusion
	}{{"includedPaths", p.Included, included}, {"excludedPaths", p.Excluded, excluded}} {
		for i, spec := range list.paths {
			pattern, err := ParsePattern(spec.Path)
			if err != nil {
				return nil, at(err, "%s[%d].path", list.at, i)
			}
			if !m.root.add(pattern, list.says) {
				return nil, refuse("The path '"+spec.Path+"' is both included and excluded.", "%s[%d].path",
					list.at, i)
			}
		}
	}
	return m, nil
}

// add records whether a pattern includes or excludes the paths that it matches. It returns false if the
// opposite has already been recorded for the same pattern.
func (n *patternNode) add(p PathPattern, says pathInclusion) bool {
	for _, s := range p.segments {
		n.hasIncluded = n.hasIncluded || says == included
		n = n.grow(s)
	}
	n.hasIncluded = n.hasIncluded || says == included
	slot := &n.exact
	if p.subtree {
		slot = &n.below
	}
	if *slot != unspecified && *slot != says {
		return false
	}
	*slot = says
	return true
}

func (n *patternNode) grow(s PathSegment) *patternNode {
	if s.Element {
		if n.element == nil {
			n.element = &patternNode{}
		}
		return n.element
	}
	child := n.names[s.Name]
	if child == nil {
		if n.names == nil {
			n.names = map[string]*patternNode{}
		}
		child = &patternNode{}
		n.names[s.Name] = child
	}
	return child
}

// PolicyMatcherPosition is a position in documents together with its node in the PolicyMatcher. It is a
// small value. Nothing is indexed at the zero PolicyMatcherPosition.
type PolicyMatcherPosition struct {
	node      *patternNode // nil if no pattern continues to this position
	inherited bool         // the decision of the last /* on the way
}

// Root returns the position of the document itself.
func (m *PolicyMatcher) Root() PolicyMatcherPosition { return cursorAt(m.root, false) }

// Property returns the position of a property of the object at c.
func (c PolicyMatcherPosition) Property(name string) PolicyMatcherPosition {
	if c.node == nil {
		return c
	}
	return cursorAt(c.node.names[name], c.inherited)
}

// Element returns the position of the elements of the array at c.
func (c PolicyMatcherPosition) Element() PolicyMatcherPosition {
	if c.node == nil {
		return c
	}
	return cursorAt(c.node.element, c.inherited)
}

func cursorAt(n *patternNode, inherited bool) PolicyMatcherPosition {
	if n != nil && n.below != unspecified {
		inherited = n.below == included
	}
	return PolicyMatcherPosition{n, inherited}
}

// Indexed reports whether a scalar at c is indexed.
func (c PolicyMatcherPosition) Indexed() bool {
	if c.node != nil && c.node.exact != unspecified {
		return c.node.exact == included
	}
	return c.inherited
}

// IsEmpty reports whether nothing is indexed at c or anywhere below.
func (c PolicyMatcherPosition) IsEmpty() bool {
	return !c.inherited && (c.node == nil || !c.node.hasIncluded)
}
