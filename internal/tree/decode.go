package tree

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Unmarshaler is a type that decodes itself from a Value.
type Unmarshaler interface {
	DecodeTree(v *Value) error
}

// Decode stores the value in the variable that into points to: a string, bool, number, pointer, slice, or a
// struct by the json tags of its fields, including those of embedded structs. An unknown member is an error,
// and so is a missing member whose field has the tag required:"true". A field of type *Value receives the
// value itself; a field with the tag tree:"self" receives the value of the whole struct. null leaves a field
// unchanged. An Unmarshaler decodes itself. If there are several errors, Decode returns the first in the
// order of the file.
func (v *Value) Decode(into any) error {
	return v.decode(reflect.ValueOf(into).Elem())
}

func (v *Value) decode(to reflect.Value) error {
	if own, ok := to.Addr().Interface().(Unmarshaler); ok {
		return own.DecodeTree(v)
	}
	if to.Type() == reflect.TypeFor[*Value]() {
		to.Set(reflect.ValueOf(v))
		return nil
	}
	switch to.Kind() {
	case reflect.Pointer:
		if v.Kind == Null {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return v.decode(to.Elem())
	case reflect.Slice:
		return v.decodeList(to)
	case reflect.Struct:
		return v.decodeStruct(to)
	case reflect.String:
		if v.Kind != String {
			return v.Place.Fail("a string is expected here, not %s", v.Kind)
		}
		to.SetString(v.Text)
		return nil
	case reflect.Bool:
		if v.Kind != Bool {
			return v.Place.Fail("true or false is expected here, not %s", v.Kind)
		}
		to.SetBool(v.Text == "true")
		return nil
	}
	if v.Kind != Number || json.Unmarshal([]byte(v.Text), to.Addr().Interface()) != nil {
		what := "a number"
		if to.CanInt() || to.CanUint() {
			what = "a whole number"
		}
		return v.Place.Fail("%s is expected here, not %s", what, v.Display())
	}
	return nil
}

// Display returns the value as text for messages.
func (v *Value) Display() string {
	switch v.Kind {
	case Number:
		return v.Text
	case String:
		return "\"" + v.Text + "\""
	}
	return v.Kind.String()
}

func (v *Value) decodeList(to reflect.Value) error {
	if v.Kind != Array {
		return v.Place.Fail("an array is expected here, not %s", v.Kind)
	}
	list := reflect.MakeSlice(to.Type(), len(v.List), len(v.List))
	for i, e := range v.List {
		if err := e.decode(list.Index(i)); err != nil {
			return err
		}
	}
	to.Set(list)
	return nil
}

// structField is a field of a struct into which a member of an object can be decoded.
type structField struct {
	name     string
	required bool
	value    reflect.Value
}

// membersOf returns the fields of a struct that are members of a JSON object, with the members' names,
// including the fields of embedded structs. It sets a field with the tag tree:"self" to self, the value that
// is being decoded.
func membersOf(s reflect.Value, self *Value) (list []structField) {
	t := s.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("tree") == "self":
			s.Field(i).Set(reflect.ValueOf(self))
		case f.Anonymous && f.Type.Kind() == reflect.Struct && name == "":
			list = append(list, membersOf(s.Field(i), self)...)
		case f.IsExported() && name != "" && name != "-":
			list = append(list, structField{name, f.Tag.Get("required") == "true", s.Field(i)})
		}
	}
	return list
}

func (v *Value) decodeStruct(to reflect.Value) error {
	if v.Kind != Object {
		return v.Place.Fail("an object is expected here, not %s", v.Kind)
	}
	known := membersOf(to, v)
	for _, m := range v.Members {
		at := slices.IndexFunc(known, func(k structField) bool { return k.name == m.Name })
		if at < 0 {
			return m.unknown(known)
		}
		known[at].required = false
		if _, own := known[at].value.Addr().Interface().(Unmarshaler); m.Value.Kind == Null && !own {
			continue
		}
		if err := m.Value.decode(known[at].value); err != nil {
			return err
		}
	}
	for _, k := range known {
		if k.required {
			return v.Place.Fail("'%s' is missing here", k.name)
		}
	}
	return nil
}

// unknown returns the error for a member that is not known. It contains the known name that is most similar,
// or all known names if there are few.
func (m *Member) unknown(known []structField) error {
	nearest, distance := "", len(m.Name)/2+1
	var names []string
	for _, k := range known {
		if !strings.HasPrefix(k.name, "$") {
			names = append(names, k.name)
		}
		if d := Edits(strings.ToLower(m.Name), strings.ToLower(k.name)); d < distance {
			nearest, distance = k.name, d
		}
	}
	const few = 8
	switch {
	case nearest != "":
		return m.Place.Fail("'%s' is not known here: did you mean '%s'?", m.Name, nearest)
	case len(names) <= few:
		return m.Place.Fail("'%s' is not known here: there are %s", m.Name, strings.Join(names, ", "))
	}
	return m.Place.Fail("'%s' is not known here", m.Name)
}

// Edits returns how many letters must be changed, inserted or deleted to make b from a.
func Edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
