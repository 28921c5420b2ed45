package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/internal/seed"
	"github.com/mayflydb/mayfly/ttl"
)

// An export of a whole store is a folder in the form of a seed: a folder for each database, and in it one
// for each container, with its definition, its scripts and its documents; queues and topics are beside
// them. The server provides the content of all files except the documents. A server that is started with
// the folder as --seed, or into which it is imported, gets the same state.
//
// Until the export is complete, a file in the folder marks it as unfinished, so that it is not used as a
// seed.

// seedPath is the URL path at which a server returns its definitions as a seed (files with a server's
// content), and accepts the definitions of a seed.
const seedPath = "_mayfly/seed"

// itemsFile is the name of the file with a container's documents.
const itemsFile = "items.ndjson"

// store exports all databases of the server as a seed (files with a server's content) into the folder.
func (e *exporter) store(ctx context.Context, out, told io.Writer) error {
	if err := e.open(); err != nil {
		return err
	}
	req, err := e.Call(ctx, http.MethodGet, seedPath, nil)
	if err != nil {
		return err
	}
	has, err := cli.Ask[laboratory.SeedFiles](req)
	if err != nil {
		return err
	}
	if err := e.definitions(has); err != nil {
		return err
	}
	all := []exportedFileReport{}
	for _, f := range has.Folders {
		e.Database, e.Container = f.Database, f.Container
		path := filepath.Join(e.to, filepath.FromSlash(f.Path), itemsFile)
		began := ttl.SystemClock{}.Now()
		state, err := e.file(ctx, path)
		if err != nil {
			return err
		}
		if all = append(all, exportedFileReport{f.Database, f.Container, path, state.Items}); !e.JSON {
			fmt.Fprintf(told, "%s of %s/%s in %s%s\n", cli.Plural(state.Items, "item", "items"), f.Database,
				f.Container, path, e.speed(began))
		}
	}
	for _, one := range all {
		if err := forget(one.File); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(e.to, seed.UnfinishedMarker)); err != nil {
		return err
	}
	for _, left := range has.Left {
		fmt.Fprintln(told, "not in the export:", left)
	}
	if !e.JSON {
		return nil
	}
	return cli.PrintResult(out, true, "", map[string]any{"files": all, "left": has.Left})
}

// open creates the folder, or continues an export in an existing one. It fails if the folder has other
// files, since they would become part of the seed.
func (e *exporter) open() error {
	if err := os.MkdirAll(e.to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(e.to)
	if err != nil {
		return err
	}
	mark := filepath.Join(e.to, seed.UnfinishedMarker)
	_, err = os.Stat(mark)
	switch {
	case err == nil && !e.resume:
		return cli.Misuse(e.to + " has an export that has not come to its end: --continue goes on with it")
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case len(entries) > 0 && e.resume:
		return cli.Misuse(e.to + " has no export that has not come to its end: begin in a new folder")
	case len(entries) > 0:
		return cli.Misuse(e.to + " is not empty: an export of everything goes to a folder of its own")
	}
	return os.WriteFile(mark, []byte("An export to this folder has not come to its end.\n"), 0o600)
}

// definitions writes the server's definitions (has) as files of the seed, without documents. A continued
// export fails if the folder has a file of an object that has been deleted from the server since.
func (e *exporter) definitions(has laboratory.SeedFiles) error {
	for name := range has.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("the server has a file of the name %q, which lies outside of the folder", name)
		}
	}
	for _, f := range has.Folders {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return fmt.Errorf("the server has a folder of the name %q, which lies outside of the folder", f.Path)
		}
	}
	for name, text := range has.Files {
		path := filepath.Join(e.to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return filepath.WalkDir(e.to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(e.to, path)
		if _, there := has.Files[filepath.ToSlash(name)]; err != nil || there ||
			name == seed.UnfinishedMarker {
			return err
		}
		for _, f := range has.Folders {
			if strings.HasPrefix(filepath.ToSlash(name), f.Path+"/"+itemsFile) {
				return nil
			}
		}
		return fmt.Errorf("%s is of something that the server has no more: begin in a new folder", path)
	})
}
