package cosmos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store/fault"
)

func TestErrorBodyIsAlwaysJSON(t *testing.T) {
	for _, text := range []string{`"quotes" and \`, "bad \xff utf-8", "line\r\nbreaks\x00", "\u2028"} {
		body := appendErrorBody(nil, &Error{Status: 400, Message: text, Detail: text}, "0dd29c1a-2f2e-4a5e-8f60-3a0f1f2f3d4e", text, text)
		if !json.Valid(body) {
			t.Errorf("%q: %s", text, body)
		}
	}
}

// TestClassify checks that every error code of the store has an error status other than 500, that any
// other error becomes a 500 without its text, that the end of a request is no such error, and that long
// messages are truncated.
func TestClassify(t *testing.T) {
	for code := fault.CodeBadRequest; code <= fault.CodeFailedDependency; code++ {
		w, internal := Classify(fmt.Errorf("wrapped: %w", &fault.Error{Code: code, Message: "why"}))
		if internal || w.Status < 300 || w.Status == StatusInternalError {
			t.Errorf("%v: status %d, a defect: %t", code, w.Status, internal)
		}
	}
	for _, err := range []error{errors.New("secret"), &fault.Error{Code: fault.CodeInternal, Message: "secret"}} {
		w, internal := Classify(err)
		if !internal || w.Status != StatusInternalError || strings.Contains(w.Message+w.Detail, "secret") {
			t.Errorf("%v: %d %q %q, a defect: %t", err, w.Status, w.Message, w.Detail, internal)
		}
	}
	for _, err := range []error{context.Canceled, fmt.Errorf("wrapped: %w", context.DeadlineExceeded)} {
		if w, internal := Classify(err); internal || w.Status != StatusRequestTimeout {
			t.Errorf("%v: status %d, a defect: %t", err, w.Status, internal)
		}
	}
	long := strings.Repeat("é", MaxExcerpt)
	for _, err := range []error{BadRequest(long + long + long), &fault.Error{Code: fault.CodeConflict, Message: long + long + long}} {
		if w, _ := Classify(err); len(w.Message) > maxSentence+len("…") {
			t.Errorf("a message of %d bytes", len(w.Message))
		}
	}
}
