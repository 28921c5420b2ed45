package seed

import (
	"archive/zip"
	"bytes"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/internal/tree"
)

// A seed can be sent to a running server: its definitions in one request, and its documents, of which there
// may be many, one after the other as in any import. Therefore the client separates the two, and the server
// parses the definitions again. The positions in the server's errors are those in the client's files.

// UnfinishedMarker is the name of a file that marks a folder as an unfinished export, which is not a seed.
const UnfinishedMarker = "unfinished-export"

// DocumentSource says where the documents of a container are.
type DocumentSource struct {
	Database, Container string
	Lists               []string   // files with one document per line
	Documents           []Document // documents of other files
}

// Document is one document of a seed, with its position in the seed's files.
type Document struct {
	Place tree.FilePosition
	Text  []byte // JSON text, including the document's age
}

// Files returns the files with definitions that OpenDefinitions has read, by their paths in the seed.
func (s *Seed) Files() map[string]string { return s.files }

// Sources returns the sources of documents of a seed read by OpenDefinitions. Containers without documents
// are omitted. A container defined in several files occurs several times.
func (s *Seed) Sources() (list []DocumentSource) {
	for _, d := range s.databases {
		for _, c := range d.containers {
			if len(c.lists)+len(c.documents) == 0 {
				continue
			}
			in := DocumentSource{Database: d.id, Container: c.spec.ID, Lists: c.lists}
			for i := range c.documents {
				in.Documents = append(in.Documents, Document{c.documents[i].place, c.documents[i].text})
			}
			list = append(list, in)
		}
	}
	return list
}

// OpenFiles reads the definitions of a seed from the texts of files. The keys of files are paths in the
// seed. If name is ".", the files are read like a folder; otherwise only the file with that name is read.
// File names in errors have the prefix root.
func OpenFiles(files map[string]string, name, root string) (*Seed, error) {
	var packed bytes.Buffer // package zip provides a file system for files in memory
	z := zip.NewWriter(&packed)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(files[path]))
		}
		if err != nil {
			return nil, tree.FilePosition{File: path}.Wrap("", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, tree.FilePosition{File: root}.Wrap("", err)
	}
	read, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		return nil, tree.FilePosition{File: root}.Wrap("", err)
	}
	return open(read, name, root, true)
}
