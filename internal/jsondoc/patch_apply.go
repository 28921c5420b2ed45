package jsondoc

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Apply returns the document with all operations applied. body is the Body of a ParsedDocument and does not
// change. The result is compact JSON without duplicate names, but it may exceed the limits of a document or
// have invalid contents, so it must go through Parse. The error is a *PatchError.
func (p Patch) Apply(body []byte) ([]byte, error) {
	text := bytes.Clone(body)
	for i := range p.steps {
		var err error
		if text, err = p.steps[i].apply(text); err != nil {
			return nil, &PatchError{Number: i + 1, Reason: err.Error()}
		}
	}
	return text, nil
}

func (s *patchStep) apply(text []byte) ([]byte, error) {
	if s.kind != patchMove {
		at, err := find(text, s.path, s.kind)
		if err != nil {
			return nil, err
		}
		return s.change(text, at, s.value)
	}
	at, err := find(text, s.from, patchRemove)
	if err != nil {
		return nil, err
	}
	if !at.found {
		return nil, absent(s.from, "removed")
	}
	value := string(text[at.value:at.end])
	text = at.remove(text)
	if at, err = find(text, s.path, s.kind); err != nil {
		return nil, err
	}
	return s.change(text, at, value)
}

// change applies one operation to the text of a document and returns the new text. at is the place to
// which the path of the operation leads, value the JSON text to store there.
func (s *patchStep) change(text []byte, at pointerTarget, value string) ([]byte, error) {
	switch s.kind {
	case patchReplace:
		if !at.found {
			return nil, absent(s.path, "replaced")
		}
	case patchRemove:
		if !at.found {
			return nil, absent(s.path, "removed")
		}
		return at.remove(text), nil
	case patchIncrement:
		if at.found {
			var err error
			if value, err = s.sum(string(text[at.value:at.end])); err != nil {
				return nil, err
			}
		}
	default:
		if at.found && at.array && s.kind != patchSet {
			return splice(text, at.value, at.value, value+","), nil // the elements after it move up
		}
	}
	if at.found {
		return splice(text, at.value, at.end, value), nil
	}
	return at.add(text, value), nil
}

// sum adds the operation's value to a number. The sum of integers is an integer, unless it does not fit into
// 64 bits.
func (s *patchStep) sum(old string) (string, error) {
	if kindAt[old[0]] != Number {
		return "", patchFailed("Node(%.200s) is not a number.", s.path.text)
	}
	a, errA := strconv.ParseInt(old, 10, 64)
	b, errB := strconv.ParseInt(s.value, 10, 64)
	if c := a + b; errA == nil && errB == nil && (c > a) == (b > 0) {
		return strconv.FormatInt(c, 10), nil
	}
	f := parseNumber(old) + parseNumber(s.value)
	if math.IsInf(f, 0) {
		return "", patchFailed("Node(%.200s) would become too large for a number.", s.path.text)
	}
	return string(appendNumber(nil, f+0)), nil
}

// pointerTarget is the position in a text to which the last name of a pointer leads.
type pointerTarget struct {
	name  string
	array bool // the name is an index, or "-"
	found bool // the member or element exists; if not, it can be appended to the parent
	begin int  // offset of the member, including its name, or of the element
	value int  // offset of the value
	end   int  // end of the value or, if it does not exist, offset of the parent's closing bracket
	first bool // the parent is empty
}

// find finds the value in a compact JSON text to which a pointer of a patch leads, or the place where the
// operation may add one.
func find(text []byte, p jsonPointer, kind patchKind) (pointerTarget, error) {
	from, to := 0, len(text)
	for i, name := range p.names {
		last := i == len(p.names)-1
		at, ok := findChild(viewOf(text[from:to]), name)
		switch {
		case !ok || !at.found && !last && !at.array:
			if kind == patchRemove {
				return pointerTarget{}, absent(p, "removed")
			}
			return pointerTarget{}, noPath(name, kind)
		case at.array && !at.found && !(last && at.mayAppend(kind)):
			return pointerTarget{}, patchFailed("Index(%.200s) to operate on is out of array bounds", name)
		}
		at.begin, at.value, at.end = at.begin+from, at.value+from, at.end+from
		if last {
			return at, nil
		}
		from, to = at.value, at.end
	}
	return pointerTarget{}, noPath("", kind) // cannot happen, since pointers have at least one name
}

// findChild looks for a member of an object or an element of an array in the text of that object or array.
// ok is false if the text is of another value. If an element does not exist, at.begin is the number of
// elements.
func findChild(text, name string) (at pointerTarget, ok bool) {
	v := Value{text: text, kind: kindAt[text[0]]}
	if v.kind != Object && v.kind != Array {
		return pointerTarget{}, false
	}
	at = pointerTarget{name: name, array: v.kind == Array}
	index := -1
	if at.array {
		index = arrayIndex(name)
	}
	n := 0
	for it := v.walk(); it.next(); n++ {
		if at.array && n != index || !at.array && !keyIs(it.key, name) {
			continue
		}
		at.found, at.end = true, it.pos
		at.value = it.pos - len(it.elem.text)
		at.begin = at.value
		if !at.array {
			at.begin -= len(it.key) + len(`"":`)
		}
		return at, true
	}
	at.first, at.end = n == 0, len(text)-1
	if index == n {
		at.name = "-" // the index after the last element has the meaning of "-"
	}
	return at, true
}

// arrayIndex parses an array index according to RFC 6901, without leading zeros. It returns a negative
// number if the index is invalid.
func arrayIndex(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil || strconv.Itoa(n) != name {
		return -1
	}
	return n
}

// mayAppend reports whether an operation of this kind may append an element.
func (at *pointerTarget) mayAppend(kind patchKind) bool {
	return at.name == "-" && (kind == patchAdd || kind == patchSet || kind == patchMove)
}

// add inserts value as a new member of the target's object, or as a new last element of its array, and
// returns the changed text.
func (at *pointerTarget) add(text []byte, value string) []byte {
	var piece []byte
	if !at.first {
		piece = append(piece, ',')
	}
	if !at.array {
		piece = append(AppendString(piece, at.name), ':')
	}
	return splice(text, at.end, at.end, string(append(piece, value...)))
}

// remove removes a member or element with the comma after it or, if it is the last one, the comma before it.
func (at *pointerTarget) remove(text []byte) []byte {
	begin, end := at.begin, at.end
	if text[end] == ',' {
		end++
	} else if text[begin-1] == ',' {
		begin--
	}
	return splice(text, begin, end, "")
}

// splice returns text with text[from:to] replaced by piece. The text that was passed must not be used
// afterwards.
func splice(text []byte, from, to int, piece string) []byte {
	grown := len(text) - (to - from) + len(piece)
	if grown <= len(text) {
		n := from + copy(text[from:], piece)
		n += copy(text[n:], text[to:])
		return text[:n]
	}
	out := make([]byte, 0, grown)
	out = append(append(out, text[:from]...), piece...)
	return append(out, text[to:]...)
}

func patchFailed(format, what string) error { return patchStepError(fmt.Sprintf(format, what)) }

func absent(p jsonPointer, what string) error {
	return patchFailed("Node(%.200s) to be "+what+" is absent", p.text)
}

// noPath returns the error for a pointer to a value that does not exist. name is the first name that was not
// found.
func noPath(name string, kind patchKind) error {
	who := "Given"
	if kind == patchAdd {
		who = "Add"
	}
	return patchFailed(who+" Operation can only create a child object of an existing node(array or object) "+
		"and cannot create path recursively, no path found beyond: '%.200s'. Learn more: https://aka.ms/cosmosdbpatchdocs", name)
}
