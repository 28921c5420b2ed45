package jsondoc

import (
	"fmt"
	"strings"
)

// Patches change parts of a document. They have the six operations of Cosmos DB's partial document update:
// those of RFC 6902 without test and copy, plus set and incr. Paths are JSON pointers (RFC 6901).
//
// A patch is applied to the text of a document. Each operation finds the part of the text that it changes
// and replaces it; the rest of the document is not changed.

// Patch is a list of changes to a document, in the order in which they are applied. It is immutable; the zero
// Patch changes nothing.
type Patch struct{ steps []patchStep }

// patchStep is one operation of a patch.
type patchStep struct {
	kind  patchKind
	path  jsonPointer
	from  jsonPointer // of a move
	value string      // compact JSON, for add, set, replace and incr
}

// jsonPointer is a parsed JSON pointer.
type jsonPointer struct {
	text  string
	names []string // names of members, or indexes of arrays; at least one
}

// patchKind is the operation of a patchStep.
type patchKind uint8

const (
	patchAdd patchKind = iota
	patchSet
	patchReplace
	patchRemove
	patchIncrement
	patchMove
)

// patchNames are the names of the operations in requests.
var patchNames = [...]string{"add", "set", "replace", "remove", "incr", "move"}

// Len returns the number of operations.
func (p Patch) Len() int { return len(p.steps) }

// Touches returns the number of the first operation, counted from 1, that may change the value at path: an
// operation on that value, on a value that contains it, or on a value inside it. It returns 0 if there is no
// such operation.
func (p Patch) Touches(path Path) int {
	for i, s := range p.steps {
		if related(s.path.names, path.segments) || s.kind == patchMove &&
			related(s.from.names, path.segments) {
			return i + 1
		}
	}
	return 0
}

// related reports whether one of two paths is a prefix of the other.
func related(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// PatchError reports that a patch is malformed, or which of its operations cannot be applied to the document.
type PatchError struct {
	Number int    // number of the operation, from 1; 0 if the patch itself is malformed
	Reason string // text of Cosmos DB, since clients search for it
	Err    error  // the cause, may be nil
}

func (e *PatchError) Error() string {
	if e.Number == 0 {
		return e.Reason
	}
	return fmt.Sprintf("For Operation(%d): %s", e.Number, e.Reason)
}

// Unwrap returns the cause.
func (e *PatchError) Unwrap() error { return e.Err }

// MaxPatchOperations is the maximum number of operations of a patch.
const MaxPatchOperations = 10

// ParsePatch parses a JSON array of operations, each
//
//	{"op":"add"|"set"|"replace"|"remove"|"incr"|"move","path":"/a/0","value":...,"from":"/b"}
//
// A missing value is null, since Go's client omits null; incr requires a number. The error is a *PatchError.
func ParsePatch(raw []byte) (Patch, error) {
	// a value may have the depth of a document
	text, err := Compact(raw, Limits{MaxDepth: DefaultMaxDepth + 2})
	if err != nil {
		return Patch{}, badPatch(err.Error(), err)
	}
	list := Of(text)
	if list.Kind() != Array {
		return Patch{}, badPatch("the operations must be an array, not "+list.Kind().article(), nil)
	}
	switch n := list.Len(); {
	case n == 0:
		return Patch{}, badPatch("there are no operations", nil)
	case n > MaxPatchOperations:
		return Patch{}, &PatchError{Reason: fmt.Sprintf("The number of patch operations can't exceed %d",
			MaxPatchOperations)}
	}
	var p Patch
	list.Each(func(_ string, op Value) bool {
		var step patchStep
		if step, err = parseStep(op); err != nil {
			err = badPatch(fmt.Sprintf("operation %d: %s", len(p.steps)+1, err), nil)
		}
		p.steps = append(p.steps, step)
		return err == nil
	})
	if err != nil {
		return Patch{}, err
	}
	return p, nil
}

func badPatch(reason string, cause error) error {
	return &PatchError{Reason: "Invalid patch request: check syntax of patch specification. (" + reason + ")",
		Err: cause}
}

// patchStepError is the error of one operation. A PatchError adds the number of the operation.
type patchStepError string

func (e patchStepError) Error() string { return string(e) }

func parseStep(op Value) (s patchStep, err error) {
	if op.Kind() != Object {
		return s, patchStepError("it must be an object, not " + op.Kind().article())
	}
	if s.kind, err = parsePatchKind(op.Member("op")); err != nil {
		return s, err
	}
	if s.path, err = parsePointer("path", op.Member("path")); err != nil {
		return s, err
	}
	switch value := op.Member("value"); s.kind {
	case patchMove:
		if s.from, err = parsePointer("from", op.Member("from")); err != nil {
			return s, err
		}
		if len(s.from.names) < len(s.path.names) && related(s.from.names, s.path.names) {
			return s, patchStepError("a value cannot be moved into itself")
		}
	case patchIncrement:
		if value.Kind() != Number {
			return s, patchStepError("incr needs a number as its value")
		}
		s.value = value.text
	case patchRemove:
	default:
		if s.value = value.text; value.Kind() == Undefined {
			s.value = "null"
		}
	}
	return s, nil
}

func parsePatchKind(v Value) (patchKind, error) {
	name := v.Str()
	for i, known := range patchNames {
		if name == known {
			return patchKind(i), nil
		}
	}
	return 0, patchStepError(fmt.Sprintf("its op is %.100s and none of %s", describe(v),
		strings.Join(patchNames[:], ", ")))
}

func describe(v Value) string {
	if v.Kind() == Undefined {
		return "missing"
	}
	return v.text
}

// maxIndexDigits is the maximum length of a name that consists of digits only, since such a name is also
// parsed as an array index.
const maxIndexDigits = 19

func parsePointer(field string, v Value) (p jsonPointer, err error) {
	if v.Kind() != String {
		return p, patchStepError(fmt.Sprintf("its %s must be a string, and is %.100s", field, describe(v)))
	}
	p.text = v.Str()
	rest, ok := strings.CutPrefix(p.text, "/")
	if !ok {
		return p, patchStepError(fmt.Sprintf("its %s %.200q does not begin with a slash", field, p.text))
	}
	for _, name := range strings.Split(rest, "/") {
		if strings.Contains(name, "~") {
			if name, ok = unescapePointer(name); !ok {
				return p, patchStepError(fmt.Sprintf("its %s %.200q has a ~ that neither 0 nor 1 follows",
					field,
					p.text))
			}
		}
		if len(name) > maxIndexDigits && strings.Trim(name, "0123456789") == "" {
			return p, patchStepError(fmt.Sprintf("Token('%.200s') has length longer than expected", name))
		}
		p.names = append(p.names, name)
	}
	return p, nil
}

// unescapePointer resolves ~1 to a slash and ~0 to a tilde. It returns false if another character follows a
// tilde.
func unescapePointer(name string) (string, bool) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(name, "~")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), true
		case strings.HasPrefix(after, "0"):
			b.WriteByte('~')
		case strings.HasPrefix(after, "1"):
			b.WriteByte('/')
		default:
			return "", false
		}
		name = after[1:]
	}
}
