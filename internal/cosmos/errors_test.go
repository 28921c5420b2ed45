package cosmos

import (
	"encoding/json"
	"testing"
)

func TestErrorBodyIsAlwaysJSON(t *testing.T) {
	for _, text := range []string{`"quotes" and \`, "bad \xff utf-8", "line\r\nbreaks\x00", "\u2028"} {
		body := appendErrorBody(nil, &Error{Status: 400, Message: text, Detail: text}, "0dd29c1a-2f2e-4a5e-8f60-3a0f1f2f3d4e", text, text)
		if !json.Valid(body) {
			t.Errorf("%q: %s", text, body)
		}
	}
}
