package jsondoc

import (
	"bytes"
	"encoding/json"
)

// Marshal returns the JSON of a Go value as encoding/json does, except that it does not escape the
// characters <, > and &, so that text from clients is returned unchanged.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
