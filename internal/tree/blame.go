package tree

import (
	"slices"
	"strconv"
	"strings"
)

// maxLocate is the maximum number of checks that Locate makes, and maxLocateBytes the maximum number of
// bytes of JSON that all these checks read. Without limits, the search in a large value would take too long.
const (
	maxLocate      = 1000
	maxLocateBytes = 64 << 20
)

// Locate finds the part of a value that a check refuses: the smallest part without which the check would
// pass. It returns the position of that part in the file and its path in the value, such as a.b[2]. If no
// single part causes the error, it returns the position of the value itself and an empty path. It calls
// check once for each part that it tries. If it reaches the limits, it returns a larger part.
func (v *Value) Locate(check func(*Value) error) (place FilePosition, path string) {
	left := min(maxLocate, maxLocateBytes/(1+len(v.AppendJSON(nil))))
	return v.locate(check, &left)
}

func (v *Value) locate(check func(*Value) error, left *int) (place FilePosition, path string) {
	for i, m := range v.Members {
		if *left--; *left < 0 {
			return v.Place, ""
		}
		if check(v.withMembers(slices.Delete(slices.Clone(v.Members), i, i+1))) != nil {
			continue
		}
		place, path = m.Value.locate(func(part *Value) error {
			members := slices.Clone(v.Members)
			members[i].Value = part
			return check(v.withMembers(members))
		}, left)
		if path == "" {
			return m.Place, m.Name
		}
		return place, m.Name + below(path)
	}
	for i, e := range v.List {
		if *left--; *left < 0 {
			return v.Place, ""
		}
		if check(v.withList(slices.Delete(slices.Clone(v.List), i, i+1))) != nil {
			continue
		}
		place, path = e.locate(func(part *Value) error {
			list := slices.Clone(v.List)
			list[i] = part
			return check(v.withList(list))
		}, left)
		return place, "[" + strconv.Itoa(i) + "]" + below(path)
	}
	return v.Place, ""
}

// below returns a path so that it can be appended to the path of the parent: with a dot before a member's
// name, and without one before an index.
func below(path string) string {
	if path == "" || strings.HasPrefix(path, "[") {
		return path
	}
	return "." + path
}

func (v *Value) withMembers(members []Member) *Value {
	return &Value{Kind: v.Kind, Place: v.Place, Members: members}
}

func (v *Value) withList(list []*Value) *Value {
	return &Value{Kind: v.Kind, Place: v.Place, List: list}
}
