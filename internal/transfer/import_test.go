package transfer

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/mayflytest"
)

// TestImportWithCanceledContext checks that an import with a canceled context reads nothing, and that its
// error contains the number of imported documents.
func TestImportWithCanceledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	i := importer{Name: "docs", Out: io.Discard, Errs: io.Discard}
	err := i.Run(ctx, strings.NewReader("no JSON\nno JSON\n"), -1)
	const told = "docs: context canceled (0 documents were imported before)"
	if !errors.Is(err, context.Canceled) || err.Error() != told {
		t.Error(err)
	}
}

// TestStoppedImport checks the error of an import of a file that is canceled halfway: it names the cause
// once, and says how to continue the import.
func TestStoppedImport(t *testing.T) {
	m := mayflytest.New(t)
	m.Container("db/c", "/pk")
	ctx, cancel := context.WithCancel(t.Context())
	in := &cancelingReader{strings.NewReader(strings.Repeat(`{"id":"1","pk":"a"}`+"\n", 4*importDocuments)),
		3 * importDocuments * 20, cancel}
	i := importer{Name: "docs", Path: filepath.Join(t.TempDir(), "docs"), Out: io.Discard, Errs: io.Discard,
		Parallel: 1}
	i.URL, i.Key, i.Database, i.Container = m.URL(), m.Key(), "db", "c"
	i.Format = "ndjson"
	err := i.Run(ctx, in, 4*importDocuments*20)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if text := err.Error(); strings.Count(text, "context canceled") != 1 || i.Note.Imported > 0 &&
		!strings.HasSuffix(text, "before; --continue goes on there)") {
		t.Errorf("%d: %s", i.Note.Imported, text)
	}
}

// TestDocumentCount checks that DocumentCount, from which the progress of an export is computed, returns
// the number of documents in a container.
func TestDocumentCount(t *testing.T) {
	m := mayflytest.New(t)
	m.Container("db/c", "/pk")
	i := importer{Name: "docs", Out: io.Discard, Errs: io.Discard, Parallel: 1, Format: "ndjson"}
	i.URL, i.Key, i.Database, i.Container = m.URL(), m.Key(), "db", "c"
	in := strings.NewReader(`{"id":"1","pk":"a"}` + "\n" + `{"id":"2","pk":"a"}`)
	if err := i.Run(t.Context(), in, -1); err != nil {
		t.Fatal(err)
	}
	call := i.ClientCommandFlags
	if n, err := call.DocumentCount(t.Context()); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// cancelingReader is a reader that cancels a context after a given number of bytes has been read; left is the
// rest of that number.
type cancelingReader struct {
	in     io.Reader
	left   int
	cancel context.CancelFunc
}

func (c *cancelingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p[:min(len(p), 100)])
	if c.left -= n; c.left <= 0 {
		c.cancel()
	}
	return n, err
}
