package transfer

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestNotCSV: an error names the item that cannot be a row.
func TestNotCSV(t *testing.T) {
	var no *csvExportError
	spool := strings.NewReader(`{"id":"7"}` + "\n" + `{"id":"8","a.b":1}`)
	err := writeCSV(t.Context(), spool, new(bytes.Buffer), nil)
	if !errors.As(err, &no) || no.Line != 2 || no.Id != "8" {
		t.Error(err)
	}
}
