package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// An import of a file stores in FILE.imported how many of its documents have a final result. With
// --continue, an import that has stopped or was killed continues after these. Documents that were stored
// but not counted yet are stored again unchanged, so nothing is lost or duplicated. With --create, one of
// these documents counts as stored if its id exists.

// importState is the stored progress of an import.
type importState struct {
	URL       string `json:"url"`
	Container string `json:"container"`          // db/container
	Identity  string `json:"identity,omitempty"` // of the container, if checked: see importer.identity
	Size      int64  `json:"size"`               // size of the file in bytes
	Documents int    `json:"documents"`          // documents with a final result, including refused ones
	Sent      int    `json:"sent"`               // documents that may have been stored
	Imported  int    `json:"imported"`
	There     int    `json:"there"` // documents that existed already, if that is checked
	Refused   int    `json:"refused"`
}

// add adds the counts of another import, such as that of another file of the same seed.
func (s *importState) add(other importState) {
	s.Imported += other.Imported
	s.There += other.There
	s.Refused += other.Refused
}

func importStateOf(path string) string { return path + ".imported" }

// readImportState returns the stored progress of an import, or the zero state if there is none.
func readImportState(path string) (state importState, err error) {
	text, err := os.ReadFile(importStateOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", importStateOf(path), err)
	}
	return state, err
}

// Write stores the progress atomically.
func (s importState) Write(path string) error {
	return writeNote(importStateOf(path), s)
}

// forgetImport removes the stored progress.
func forgetImport(path string) error {
	err := os.Remove(importStateOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeNote writes note, how far an export or import has come, as JSON to the file path: after a crash, the
// file has the old text or the new one.
func writeNote(path string, note any) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}
