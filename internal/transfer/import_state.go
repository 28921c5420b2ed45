package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// An import of a file notes in FILE.imported how many of its documents have been taken. One that has stopped,
// or was killed, goes on behind those with --continue. What was taken and not noted is stored once more as it
// was, so that nothing is lost and nothing is there twice. With --create, one of those whose id exists counts
// as taken.

// importState is what is noted of an import.
type importState struct {
	URL       string `json:"url"`
	Container string `json:"container"`          // db/container
	Identity  string `json:"identity,omitempty"` // of the container, where that is asked: see importer.into
	Size      int64  `json:"size"`               // of the file, in bytes
	Documents int    `json:"documents"`          // those that were read and answered, refused ones too
	Sent      int    `json:"sent"`               // those that may have been taken
	Imported  int    `json:"imported"`
	There     int    `json:"there"` // those that were there already, where that is asked
	Refused   int    `json:"refused"`
}

func importStateOf(path string) string { return path + ".imported" }

// readImportState is the note of an import; the zero one where there is none.
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

// Write notes the state, whole or not at all.
func (s importState) Write(path string) error {
	return writeNote(importStateOf(path), s)
}

// forgetImport removes the note.
func forgetImport(path string) error {
	err := os.Remove(importStateOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeNote writes a note that is there whole or not at all.
func writeNote(path string, note any) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
