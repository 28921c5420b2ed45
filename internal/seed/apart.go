package seed

import (
	"archive/zip"
	"bytes"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/internal/tree"
)

// A seed can be brought to a server that runs: what defines things in one request, and the documents, which
// may be many, one after the other as any import. So who reads the files takes it apart, and the server reads
// the definitions once more: what it says of them has the places that they have in the files.

// Unfinished is a file that a folder has while a store is exported to it: until that is done it is no seed.
const Unfinished = "unfinished-export"

// Source is where the documents of a container are.
type Source struct {
	Database, Container string
	Lists               []string   // files with a document a line
	Documents           []Document // those in other files
}

// Document is a document in a seed.
type Document struct {
	Place tree.Place
	Text  []byte // JSON, with its age
}

// Files are the files with definitions that OpenDefinitions has read, by their paths in the seed.
func (s *Seed) Files() map[string]string { return s.files }

// Sources are where the documents of a seed are that OpenDefinitions has read, those of containers without
// any left out. A container that several files have comes several times.
func (s *Seed) Sources() (list []Source) {
	for _, d := range s.databases {
		for _, c := range d.containers {
			if len(c.lists)+len(c.documents) == 0 {
				continue
			}
			in := Source{Database: d.id, Container: c.spec.ID, Lists: c.lists}
			for i := range c.documents {
				in.Documents = append(in.Documents, Document{c.documents[i].place, c.documents[i].text})
			}
			list = append(list, in)
		}
	}
	return list
}

// OpenFiles reads the definitions of a seed, which are files by their paths in it: all of them as a folder,
// where name is ".", or the one of that name. root is what errors put before the names.
func OpenFiles(files map[string]string, name, root string) (*Seed, error) {
	var packed bytes.Buffer // package zip has what makes a file system of files in memory
	z := zip.NewWriter(&packed)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(files[path]))
		}
		if err != nil {
			return nil, tree.Place{File: path}.Wrap("", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, tree.Place{File: root}.Wrap("", err)
	}
	read, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		return nil, tree.Place{File: root}.Wrap("", err)
	}
	return open(read, name, root, true)
}
