package seed

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/tree"
)

// containerFolder reads the folder of a container: container.yaml, documents, and scripts.
func (r *filesReader) containerFolder(d *desiredDatabase, dir, id string) error {
	files, folders, err := r.list(dir)
	if err != nil {
		return err
	}
	if err := r.refuseNested(dir, folders); err != nil {
		return err
	}
	definition, err := r.named(dir, files, "container")
	if err != nil {
		return err
	}
	v, err := r.parse(path.Join(dir, definition))
	if err != nil {
		return err
	}
	var in Container
	if err := decodeContainer(v, &in); err != nil {
		return err
	}
	if in.ID == "" {
		in.ID = id
	}
	for folder, list := range map[string]*[]Script{"procedures": &in.Procedures, "functions": &in.Functions} {
		found, err := r.scripts(dir, folder, in.Self)
		if err != nil {
			return err
		}
		*list = append(*list, found...)
	}
	c, err := r.container(d, dir, &in)
	if err != nil {
		return err
	}
	for _, name := range files {
		if name != definition && (isValue(name) || isLines(name)) {
			if err := r.documents(c, path.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseNested fails if a folder below dir, the folder of a container, contains a file that looks like
// documents or a definition. Such a file would never be read.
func (r *filesReader) refuseNested(dir string, folders []string) error {
	for _, name := range folders {
		below := path.Join(dir, name)
		files, deeper, err := r.list(below)
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(files, func(f string) bool { return isValue(f) || isLines(f) }); at >= 0 {
			return r.fail(path.Join(below, files[at]),
				"documents must be directly in the folder of the container, beside container.yaml")
		}
		if err := r.refuseNested(below, deeper); err != nil {
			return err
		}
	}
	return nil
}

// scripts returns the *.js files in a folder of a container's folder. A file's name is the script's id.
func (r *filesReader) scripts(dir, folder string, self *tree.Value) (list []Script, err error) {
	files, _, err := r.list(path.Join(dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, name := range files {
		if id, js := strings.CutSuffix(name, ".js"); js {
			list = append(list, Script{Self: self, ID: id, File: path.Join(folder, name)})
		}
	}
	return list, err
}
