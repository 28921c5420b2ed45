package tree

import (
	"slices"
	"strconv"
	"strings"
)

// maxBlame is how often a value is checked to find out which part of it is wrong, and maxBlameBytes how much
// JSON all checks together read: of a large value it is not worth the time to find the small part.
const (
	maxBlame      = 1000
	maxBlameBytes = 64 << 20
)

// Blame finds the part of a value that a check refuses: the smallest one without which the check would pass.
// That is where the check's error belongs. path is its name, from the value down, such as a.b[2]. Where no
// single part is to blame it is the value as a whole, and path is empty. check is called for each part along
// the way, so often as there is time for: of a value with more parts a larger one takes the blame.
func (v *Value) Blame(check func(*Value) error) (place Place, path string) {
	left := min(maxBlame, maxBlameBytes/(1+len(v.AppendJSON(nil))))
	return v.blame(check, &left)
}

func (v *Value) blame(check func(*Value) error, left *int) (place Place, path string) {
	for i, m := range v.Members {
		if *left--; *left < 0 {
			return v.Place, ""
		}
		if check(v.withMembers(slices.Delete(slices.Clone(v.Members), i, i+1))) != nil {
			continue
		}
		place, path = m.Value.blame(func(part *Value) error {
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
		place, path = e.blame(func(part *Value) error {
			list := slices.Clone(v.List)
			list[i] = part
			return check(v.withList(list))
		}, left)
		return place, "[" + strconv.Itoa(i) + "]" + below(path)
	}
	return v.Place, ""
}

// below is a path as it goes on behind another one.
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
