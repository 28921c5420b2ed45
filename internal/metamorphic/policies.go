package metamorphic

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/query/syntax"
)

// The names of the indexing policies of a history's container.
const (
	DefaultPolicy   = "default"   // all paths
	NoIndex         = "none"      // indexing mode none, which excludes a time to live
	SomePaths       = "some"      // a few paths only
	MostPaths       = "most"      // all but a few paths
	CompositePolicy = "composite" // all paths, and several composite indexes
)

// PolicyNames returns the names of the indexing policies that histories use.
func PolicyNames() []string {
	return []string{DefaultPolicy, NoIndex, SomePaths, MostPaths, CompositePolicy}
}

// nextPolicy returns the name of the indexing policy that the Reindex step s sets, if the container has the
// given one: the step's argument or, without an argument, the other one of SomePaths and DefaultPolicy.
func nextPolicy(s HistoryStep, policy string) string {
	switch {
	case len(s.Args) > 0:
		return s.Args[0]
	case policy == SomePaths:
		return DefaultPolicy
	}
	return SomePaths
}

// PolicyJSON returns the JSON of the policy with a name, as clients send it.
func PolicyJSON(name string) string {
	switch name {
	case NoIndex:
		return `{"indexingMode":"none","automatic":false}`
	case SomePaths:
		return `{"includedPaths":[` + paths(somePaths()) + `],"excludedPaths":[{"path":"/*"}]}`
	case MostPaths:
		return `{"includedPaths":[{"path":"/*"}],"excludedPaths":[` + paths(excludedPaths()) + `]}`
	case CompositePolicy:
		var list []string
		for _, c := range composites() {
			var keys []string
			for _, k := range c {
				order := "ascending"
				if k.Desc {
					order = "descending"
				}
				keys = append(keys, `{"path":"/`+strings.ReplaceAll(k.Path, ".", "/")+`","order":"`+order+
					`"}`)
			}
			list = append(list, "["+strings.Join(keys, ",")+"]")
		}
		return `{"includedPaths":[{"path":"/*"}],"excludedPaths":[],"compositeIndexes":[` +
			strings.Join(list, ",") + `]}`
	}
	return `{}`
}

func paths(list []string) string { return `{"path":"` + strings.Join(list, `"},{"path":"`) + `"}` }

func somePaths() []string {
	return []string{"/n/?", "/s/?", "/o/x/?", "/tags/[]/?", "/list/[]/k/?", "/v/?"}
}

func excludedPaths() []string { return []string{"/m/*", "/o/*", "/b/?", "/list/[]/v/?"} }

// OrderByKey is one key of ORDER BY, or of a composite index.
type OrderByKey struct {
	Path string // of properties, with dots
	Desc bool
}

func composites() [][]OrderByKey {
	return [][]OrderByKey{
		{{"n", false}, {"s", false}}, {{"s", true}, {"id", false}}, {{"b", false}, {"n", true}, {"s", false}},
		{{"o.x", false}, {"_ts", true}}, {{"m", false}, {"n", false}}, {{"pk", false}, {"n", false}},
	}
}

// sortable reports whether a policy permits sorting by one path.
func sortable(policy, path string) bool {
	switch policy {
	case NoIndex:
		return false
	case SomePaths:
		return slices.Contains([]string{"n", "s", "o.x", "v", "id", "_ts"}, path)
	case MostPaths:
		first, _, _ := strings.Cut(path, ".")
		return !slices.Contains([]string{"m", "o", "b"}, first)
	}
	return true
}

// Refused reports whether a query is refused under a policy, because its ORDER BY needs an index that the
// policy lacks.
func Refused(q *syntax.QueryTree, policy string) bool {
	if q.OrderBy == nil {
		return false
	}
	var keys []OrderByKey
	for _, item := range q.OrderBy.Items {
		_, steps, _ := syntax.PathOf(item.X)
		_, from, _ := syntax.PathOf(q.From[0].Path)
		var names []string
		for _, s := range append(from, steps...) {
			names = append(names, s.Name)
		}
		keys = append(keys, OrderByKey{strings.Join(names, "."), item.Desc})
	}
	if len(keys) == 1 {
		return !sortable(policy, keys[0].Path)
	}
	return policy != CompositePolicy || !slices.ContainsFunc(composites(), func(c []OrderByKey) bool {
		opposite := slices.Clone(c)
		for i := range opposite {
			opposite[i].Desc = !c[i].Desc
		}
		return slices.Equal(c, keys) || slices.Equal(opposite, keys)
	})
}
