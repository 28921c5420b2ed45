package transfer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/mayflydb/mayfly/internal/cli"
)

// An export to a file writes FILE.part, and after each page stores the length of FILE.part in FILE.state.
// Only a complete file gets its final name; then the state is removed. So a killed export can be continued:
// FILE.part is cut to the stored length, and the next page is requested.

// exportFileProgress is the stored state of an export to a file.
type exportFileProgress struct {
	Container    string `json:"container"` // the container's identity
	Format       string `json:"format"`
	Continuation string `json:"continuation"`
	Bytes        int64  `json:"bytes"`
	Items        int    `json:"items"`
	Done         bool   `json:"done"` // the file is complete, but other files of the export are not
}

func partOf(path string) string  { return path + ".part" }
func stateOf(path string) string { return path + ".state" }
func nextOf(path string) string  { return path + ".new" } // the CSV file, while it is written from the part

// readState returns the stored state of an export to a file, or the zero state if there is none.
func readState(path string) (state exportFileProgress, err error) {
	text, err := os.ReadFile(stateOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return state, fmt.Errorf("%s: %w", stateOf(path), err)
	}
	return state, nil
}

// Write stores the state atomically.
func (s exportFileProgress) Write(path string) error { return writeNote(stateOf(path), s) }

// forget removes the state and the part file of an export.
func forget(path string) error {
	for _, name := range []string{partOf(path), stateOf(path), stateOf(path) + ".new", nextOf(path)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// resumableExportError is the error of an export that has stopped and can be continued.
type resumableExportError struct {
	err   error
	items int
	path  string
}

func (u *resumableExportError) Error() string {
	return fmt.Sprintf("%v (%s in %s; --continue goes on behind that)", u.err,
		cli.Plural(u.items, "item is", "items are"), partOf(u.path))
}

func (u *resumableExportError) Unwrap() error { return u.err }

// file exports the container to a file, and returns how far the export has come. It also stores that next to
// the file, so that the export can be continued. After a complete export the caller removes the stored state
// with forget.
func (e *exporter) file(ctx context.Context, path string) (state exportFileProgress, err error) {
	if e.resume {
		if state, err = readState(path); err != nil {
			return state, err
		}
		if state.Done {
			return state, e.name(ctx, path)
		}
	}
	identity, err := e.Identity(ctx)
	switch {
	case err != nil:
		return state, err
	case state.Format != "" && state.Format != e.format:
		return state, cli.Misuse(fmt.Sprintf("%s is of the format %s: begin anew without --continue",
			partOf(path), state.Format))
	case state.Container != "" && state.Container != identity:
		return state, fmt.Errorf(
			"%s is a part of another container than %s is now: begin anew without --continue",
			partOf(path), e.Container)
	}
	state.Container, state.Format = identity, e.format
	f, err := openPart(path, state.Bytes)
	if err != nil {
		return state, err
	}
	err = errors.Join(e.pages(ctx, path, f, &state), f.Close())
	switch {
	case err != nil && state.Continuation != "":
		return state, &resumableExportError{err, state.Items, path}
	case err != nil:
		return state, errors.Join(err, forget(path))
	}
	return state, e.name(ctx, path)
}

// name makes the final file from the part file of a finished export (Done): it renames the part file or, for
// CSV, converts it. If that has already happened, it does nothing.
func (e *exporter) name(ctx context.Context, path string) error {
	if e.format != "csv" {
		return name(path)
	}
	err := nameCSV(ctx, path, e.text)
	var no *csvExportError
	var usage *cli.UsageError
	if errors.As(err, &no) || errors.As(err, &usage) { // the export cannot be continued from there
		err = errors.Join(err, forget(path))
	}
	return err
}

// name renames the part file of an export, which is complete, to its final name path. If that has already
// happened, it does nothing.
func name(path string) error {
	err := os.Rename(partOf(path), path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(path)
	}
	return err
}

// openPart opens the part file of an export, cut to the given number of bytes (behind), to continue there.
func openPart(path string, behind int64) (f *os.File, err error) {
	f, err = os.OpenFile(partOf(path), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < behind {
		err = fmt.Errorf("%s is shorter than the %d bytes that %s tells of: begin anew without --continue",
			f.Name(), behind, stateOf(path))
	}
	if err == nil {
		err = f.Truncate(behind)
	}
	if err == nil {
		_, err = f.Seek(behind, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isAt reports whether the path by which a file was opened still names this file, so that it was neither
// renamed nor removed.
func isAt(f *os.File) bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(own, named)
}

// pages writes the rest of the container to f. It stores the state each time a page is on disk. In a
// compressed file each page is compressed on its own: gzip and zstd read concatenated streams as one.
func (e *exporter) pages(ctx context.Context, path string, f *os.File, state *exportFileProgress) error {
	var page bytes.Buffer
	packer := path
	if e.format == "csv" { // the part file for CSV has uncompressed lines
		packer = ""
	}
	packed, err := packing(packer)
	if err != nil {
		return err
	}
	return e.items(ctx, &page, state, func() error {
		text, err := packed(page.Bytes())
		if err != nil {
			return err
		}
		if _, err := f.Write(text); err != nil {
			return err
		}
		page.Reset()
		state.Bytes += int64(len(text))
		if err := f.Sync(); err != nil {
			return err
		}
		if state.Done = state.Continuation == ""; state.Done && !isAt(f) {
			return fmt.Errorf("another export writes to %s", partOf(path))
		}
		return state.Write(path)
	})
}

// packing returns the function that compresses the pages of a file. The file's name determines it.
func packing(path string) (func(page []byte) ([]byte, error), error) {
	switch filepath.Ext(path) {
	case ".gz":
		return func(page []byte) ([]byte, error) {
			var out bytes.Buffer
			z := gzip.NewWriter(&out)
			_, err := z.Write(page)
			err = errors.Join(err, z.Close())
			return out.Bytes(), err
		}, nil
	case ".zst":
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		return func(page []byte) ([]byte, error) { return z.EncodeAll(page, nil), nil }, err
	}
	return func(page []byte) ([]byte, error) { return page, nil }, nil
}
