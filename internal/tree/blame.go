package tree

import (
	"slices"
	"strconv"
	"strings"
)

// Blame finds the part of a value that a check refuses: the smallest one without which the check would pass.
// That is where the check's error belongs. path is its name, from the value down, such as a.b[2]. Where no
// single part is to blame it is the value as a whole, and path is empty. check is called for each part along
// the way.
func (v *Value) Blame(check func(*Value) error) (place Place, path string) {
	for i, m := range v.Members {
		if check(v.withMembers(slices.Delete(slices.Clone(v.Members), i, i+1))) != nil {
			continue
		}
		place, path = m.Value.Blame(func(part *Value) error {
			members := slices.Clone(v.Members)
			members[i].Value = part
			return check(v.withMembers(members))
		})
		if path == "" {
			return m.Place, m.Name
		}
		if !strings.HasPrefix(path, "[") {
			path = "." + path
		}
		return place, m.Name + path
	}
	for i, e := range v.List {
		if check(v.withList(slices.Delete(slices.Clone(v.List), i, i+1))) != nil {
			continue
		}
		place, path = e.Blame(func(part *Value) error {
			list := slices.Clone(v.List)
			list[i] = part
			return check(v.withList(list))
		})
		if path != "" && !strings.HasPrefix(path, "[") {
			path = "." + path
		}
		return place, "[" + strconv.Itoa(i) + "]" + path
	}
	return v.Place, ""
}

func (v *Value) withMembers(members []Member) *Value {
	return &Value{Kind: v.Kind, Place: v.Place, Members: members}
}

func (v *Value) withList(list []*Value) *Value {
	return &Value{Kind: v.Kind, Place: v.Place, List: list}
}
