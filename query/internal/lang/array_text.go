package lang

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// listsText reports whether a string is an element of an array by searching the array's text for it, which
// is much faster than reading the elements one by one. ok is false if the text is not enough: one of the
// values is not a view on text, there is an escape, or the array may have elements that are arrays or
// objects.
func listsText(array, v jsondoc.Value) (found, ok bool) {
	if v.Kind() != jsondoc.String || !v.Spelled() || !array.Spelled() {
		return false, false
	}
	list, text := array.Raw(), v.Raw()
	if bytes.IndexByte(text, '\\') >= 0 || bytes.IndexByte(list, '\\') >= 0 ||
		bytes.IndexByte(list, '{') >= 0 || bytes.IndexByte(list[1:], '[') >= 0 {
		return false, false
	}
	// Without escapes each quotation mark begins or ends a string. A mark begins one if the number of marks
	// before it is even.
	for open := true; ; {
		i := bytes.Index(list, text)
		if i < 0 {
			return false, true
		}
		if bytes.Count(list[:i], []byte{'"'})%2 == 1 {
			open = !open
		}
		if open {
			return true, true
		}
		list, open = list[i+1:], !open
	}
}
