package transfer

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestCSVOfUnsupportedDocument checks that writeCSV fails with the line and the id of a document that CSV
// cannot express.
func TestCSVOfUnsupportedDocument(t *testing.T) {
	var no *csvExportError
	spool := strings.NewReader(`{"id":"7"}` + "\n" + `{"id":"8","a.b":1}`)
	err := writeCSV(t.Context(), spool, new(bytes.Buffer), nil)
	if !errors.As(err, &no) || no.Line != 2 || no.Id != "8" {
		t.Error(err)
	}
}
