package seed

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue/config"
)

// Seed is the content of the files of a seed, parsed and checked.
type Seed struct {
	databases       []*desiredDatabase
	entities        []*config.Config
	known           map[string]*desiredContainer // the first definition of each container, by database and id
	definitionsOnly bool                         // documents are not read: see OpenDefinitions
	files           map[string]string            // texts of the files with definitions; set by OpenDefinitions
	backup          *continuousBackupSetting     // nil: no file sets it
}

// continuousBackupSetting is a seed's setting of continuous backup, on or off, with its position in a file.
type continuousBackupSetting struct {
	on    bool
	place tree.FilePosition
}

// HasEntities reports whether the seed has queues or topics.
func (s *Seed) HasEntities() bool { return len(s.entities) > 0 }

// Open reads a seed: a file, or a folder.
func Open(name string) (*Seed, error) { return openPropertyPath(name, false) }

// OpenDefinitions reads a seed without its documents: files with one document per line are not read, and
// Apply skips all documents. Files then returns the files with definitions, Sources where the documents are.
func OpenDefinitions(name string) (*Seed, error) { return openPropertyPath(name, true) }

func openPropertyPath(name string, apart bool) (*Seed, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, tree.FilePosition{File: name}.Wrap("", err)
	}
	if info.IsDir() {
		return open(os.DirFS(name), ".", name, apart)
	}
	return open(os.DirFS(filepath.Dir(name)), filepath.Base(name), filepath.Dir(name), apart)
}

// OpenFS reads a seed from a file system, such as an embed.FS. name is a file or a folder; "." is the whole
// file system.
func OpenFS(files fs.FS, name string) (*Seed, error) { return open(files, name, "", false) }

// open reads a file or a folder, without documents if apart is set. Names in errors have the prefix root.
func open(files fs.FS, name, root string, apart bool) (*Seed, error) {
	r := &filesReader{files: files, root: root, seed: &Seed{definitionsOnly: apart,
		known: map[string]*desiredContainer{}, files: map[string]string{}}}
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		err = r.wrong(name, err)
	case info.IsDir():
		err = r.folder(name)
	default:
		err = r.file(name)
	}
	return r.seed, err
}

// filesReader reads the files of a seed.
type filesReader struct {
	files fs.FS
	root  string
	seed  *Seed
}

// shown returns the name of a file as errors contain it.
func (r *filesReader) shown(name string) string {
	return filepath.Join(r.root, filepath.FromSlash(name))
}

// wrong returns an error that concerns a file as a whole.
func (r *filesReader) wrong(name string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return tree.FilePosition{File: r.shown(name)}.Wrap("", err)
}

func (r *filesReader) fail(name, format string, args ...any) error {
	return tree.FilePosition{File: r.shown(name)}.Fail(format, args...)
}

// definition reads a file with definitions. OpenDefinitions also keeps the text, for Seed.Files.
func (r *filesReader) definition(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.files, name)
	if err != nil {
		return nil, r.wrong(name, err)
	}
	if r.seed.definitionsOnly {
		r.seed.files[name] = string(data)
	}
	return data, nil
}

// parse parses a file that contains a single value.
func (r *filesReader) parse(name string) (*tree.Value, error) {
	data, err := r.definition(name)
	if err != nil {
		return nil, err
	}
	return tree.Parse(r.shown(name), data)
}

// list returns the files and folders in a folder, sorted by name, without those that begin with a dot.
func (r *filesReader) list(name string) (files, folders []string, err error) {
	entries, err := fs.ReadDir(r.files, name)
	if err != nil {
		return nil, nil, r.wrong(name, err)
	}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			folders = append(folders, e.Name())
		default:
			files = append(files, e.Name())
		}
	}
	return files, folders, nil
}

// isValue reports whether a file is JSON or YAML, by its name.
func isValue(name string) bool {
	return tree.IsYAML(name) || strings.EqualFold(path.Ext(name), ".json")
}

// isLines reports whether a file has one document per line, by its name.
func isLines(name string) bool {
	ending := strings.ToLower(path.Ext(name))
	return ending == ".ndjson" || ending == ".jsonl"
}

// named returns the JSON or YAML file called name plus an extension, or "". Several are an error.
func (r *filesReader) named(dir string, files []string, name string) (found string, err error) {
	for _, f := range files {
		if !isValue(f) || strings.TrimSuffix(f, path.Ext(f)) != name {
			continue
		}
		if found != "" {
			return "", r.fail(path.Join(dir, f), "there is a %s, too", found)
		}
		found = f
	}
	return found, nil
}

// folder reads the folder of a seed: files with any contents, and a folder for each database.
func (r *filesReader) folder(dir string) error {
	files, folders, err := r.list(dir)
	if err != nil {
		return err
	}
	if slices.Contains(files, UnfinishedMarker) {
		return r.fail(path.Join(dir, UnfinishedMarker), "this export was not completed")
	}
	for _, name := range files {
		if !isValue(name) {
			continue
		}
		if err := r.file(path.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, name := range folders {
		if err := r.databaseFolder(path.Join(dir, name), name); err != nil {
			return err
		}
	}
	if len(r.seed.databases) == 0 && !slices.ContainsFunc(files, isValue) {
		return r.fail(dir, "there is no seed here: no .yaml or .json file, and no folder of a database")
	}
	return nil
}

// file reads a file that may define databases, containers, queues and topics.
func (r *filesReader) file(name string) error {
	v, err := r.parse(name)
	if err != nil {
		return err
	}
	var f SeedFile
	if err := v.Decode(&f); err != nil {
		return err
	}
	if f.UserConfig.value != nil {
		entities, err := config.Read(v)
		if err == nil {
			r.seed.entities = append(r.seed.entities, entities)
		}
		return err
	}
	if err := r.backup(&f); err != nil {
		return err
	}
	if len(f.Queues)+len(f.Topics) > 0 {
		if err := r.entities(&f); err != nil {
			return err
		}
	}
	for i := range f.Databases {
		d := &f.Databases[i]
		if d.ID == "" {
			return d.Self.Place.Fail("the database has no id")
		}
		if _, err := r.database(path.Dir(name), d); err != nil {
			return err
		}
	}
	return nil
}

// backup reads whether the account has continuous backup. If several files set it, they must agree.
func (r *filesReader) backup(f *SeedFile) error {
	if f.ContinuousBackup == nil {
		return nil
	}
	said := &continuousBackupSetting{*f.ContinuousBackup, f.Self.Member("continuousBackup").Place}
	if was := r.seed.backup; was != nil && was.on != said.on {
		return said.place.Fail("another file has the opposite value: %s", was.place)
	}
	r.seed.backup = said
	return nil
}

// databaseFolder reads the folder of a database: db.yaml, and a folder for each container. A folder with
// neither a definition nor documents is not that of a container; it may contain scripts.
func (r *filesReader) databaseFolder(dir, id string) error {
	files, folders, err := r.list(dir)
	if err != nil {
		return err
	}
	definition, err := r.named(dir, files, "db")
	if err != nil {
		return err
	}
	d := &Database{Self: &tree.Value{Kind: tree.Object, Place: tree.FilePosition{File: r.shown(dir)}}}
	if definition != "" {
		v, err := r.parse(path.Join(dir, definition))
		if err == nil {
			err = v.Decode(d)
		}
		if err != nil {
			return err
		}
	}
	if d.ID == "" {
		d.ID = id
	}
	var containers []string
	for _, name := range folders {
		is, err := r.isContainer(path.Join(dir, name))
		if err != nil {
			return err
		}
		if is {
			containers = append(containers, name)
		}
	}
	stray := func(f string) bool { return f != definition && (isValue(f) || isLines(f)) }
	at := slices.IndexFunc(files, stray)
	switch {
	case at >= 0:
		return r.fail(path.Join(dir, files[at]),
			"the folder of a database must contain only db.yaml and a folder for each container")
	case definition == "" && len(containers) == 0:
		return nil
	}
	made, err := r.database(dir, d)
	if err != nil {
		return err
	}
	for _, name := range containers {
		if err := r.containerFolder(made, path.Join(dir, name), name); err != nil {
			return err
		}
	}
	return nil
}

// isContainer reports whether a folder has a container's definition. It fails for documents without one.
func (r *filesReader) isContainer(dir string) (bool, error) {
	files, _, err := r.list(dir)
	if err != nil {
		return false, err
	}
	definition, err := r.named(dir, files, "container")
	if err != nil || definition != "" {
		return definition != "", err
	}
	if slices.ContainsFunc(files, func(f string) bool { return isValue(f) || isLines(f) }) {
		return false, r.fail(dir, "there is no container.yaml here; it must define at least the partitionKey")
	}
	return false, nil
}

// documents reads a file of documents: one, a list, several YAML documents, or one per line.
func (r *filesReader) documents(c *desiredContainer, name string) error {
	if r.seed.definitionsOnly && isLines(name) {
		c.lists = append(c.lists, r.shown(name))
		return nil
	}
	data, err := fs.ReadFile(r.files, name)
	if err != nil {
		return r.wrong(name, err)
	}
	if isLines(name) {
		return c.lines(r.shown(name), data)
	}
	var values []*tree.Value
	if tree.IsYAML(name) {
		values, err = tree.ParseYAML(r.shown(name), data)
	} else {
		values = []*tree.Value{nil}
		values[0], err = tree.ParseJSON(r.shown(name), data)
	}
	if err != nil {
		return err
	}
	for _, v := range values {
		list := []*tree.Value{v}
		if v.Kind == tree.Array {
			list = v.List
		}
		for _, v := range list {
			if err := c.document(v); err != nil {
				return err
			}
		}
	}
	return nil
}
