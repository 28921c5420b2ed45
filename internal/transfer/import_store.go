package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/internal/seed"
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/store"
)

// An import of a seed first sends its definitions in one request: the server compares all of them with its
// own before it writes anything. Then the documents of each container are imported like those of one file, by
// the same code. An existing document stays unchanged. If it differs from the seed's, it counts as refused.

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// notSeedError reports a file that cannot be read as a seed.
type notSeedError struct{ err error }

func (e *notSeedError) Error() string {
	return e.err.Error() + " (it is read as a seed: an import of documents has --db and --container)"
}

func (e *notSeedError) Unwrap() error { return e.err }

// seedImport runs the import of one seed.
type seedImport struct {
	importer
	replace bool
	path    string // path of the seed
	applied laboratory.SeedResult
	total   importState // sum over all containers
}

// documentsInFile describes the documents of one container in one file.
type documentsInFile struct {
	database, container string
	file                string // name of the file
	note                string // file whose .imported file holds the progress
	documents           []seed.Document
}

// seedParts returns the documents of a seed in the order of the import, by container and file.
func seedParts(s *seed.Seed) (list []documentsInFile) {
	for n, from := range s.Sources() {
		for _, file := range from.Lists {
			list = append(list, documentsInFile{from.Database, from.Container, file, file, nil})
		}
		begun := len(list) // index of the first part of this container
		for _, d := range from.Documents {
			if last := len(list) - 1; last < begun || list[last].file != d.Place.File {
				note := fmt.Sprintf("%s.%d", d.Place.File, n)
				list = append(list, documentsInFile{from.Database, from.Container, d.Place.File, note, nil})
			}
			part := &list[len(list)-1]
			part.documents = append(part.documents, d)
		}
	}
	return list
}

// isSeed reports whether the input is a seed: a folder, or a file without a target container.
func (i *importer) isSeed(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil || path == "-":
		return false, nil // opening the file reports the error
	case info.IsDir() && i.Database+i.Container != "":
		return false, cli.Misuse(path + " is a folder: a seed, which names its databases and containers " +
			"itself: leave out --db and --container")
	}
	ending := strings.ToLower(filepath.Ext(path))
	value := tree.IsYAML(path) || ending == ".json"
	return info.IsDir() || value && i.Database+i.Container == "", nil
}

// seed imports the seed of a path. replace says whether existing definitions and documents are replaced.
func (i *importer) seed(ctx context.Context, path string, replace bool) error {
	s := &seedImport{importer: *i, replace: replace, path: path}
	return s.Run(ctx)
}

func (s *seedImport) Run(ctx context.Context) error {
	if s.create || len(s.text) > 0 || s.Format != "auto" {
		return cli.Misuse("--create, --format and --text go with a file of documents, and " + s.path +
			" is a seed; --db and --container say where such a file goes")
	}
	s.create = !s.replace
	read, err := seed.OpenDefinitions(s.path)
	if err != nil && isFile(s.path) {
		return &notSeedError{err}
	}
	if err != nil {
		return err
	}
	parts := seedParts(read)
	if !s.resume { // the progress of an earlier import does not apply
		if err := forgetParts(parts); err != nil {
			return err
		}
	}
	if err := s.apply(ctx, read); err != nil {
		return err
	}
	for _, part := range parts {
		if err := s.part(ctx, part); err != nil {
			var usage *cli.UsageError
			if errors.As(err, &usage) {
				return err
			}
			return fmt.Errorf("%w; --continue goes on there", err)
		}
	}
	if err := forgetParts(parts); err != nil {
		return err
	}
	return s.printSummary()
}

func forgetParts(parts []documentsInFile) error {
	for _, part := range parts {
		if err := forgetImport(part.note); err != nil {
			return err
		}
	}
	return nil
}

// seedDiffError reports that a seed differs from the server's definitions. The differences were printed.
type seedDiffError struct{ refusal *cli.ResponseError }

func (d *seedDiffError) Error() string {
	return "nothing was imported: definitions in the server differ from the seed; --replace replaces " +
		"definitions and documents by those of the seed"
}

func (d *seedDiffError) Unwrap() error { return d.refusal }

// apply sends the definitions of the seed to the server, and fails if its own differ. It first writes a
// marker file, so that differences left by an interrupted import are replaced when it is continued.
func (s *seedImport) apply(ctx context.Context, read *seed.Seed) error {
	question := map[string]any{"files": read.Files(), "root": s.path}
	if isFile(s.path) {
		question["file"], question["root"] = filepath.Base(s.path), filepath.Dir(s.path)
	}
	begun, err := readImportState(s.definitionsNote())
	if err != nil {
		return err
	}
	switch {
	case s.replace, s.resume && begun.URL == s.URL:
		question["replace"] = true
	default:
		question["check"] = true
		if err := s.ask(ctx, question); err != nil {
			return err
		}
		delete(question, "check")
	}
	if err := (importState{URL: s.URL}).Write(s.definitionsNote()); err != nil {
		return err
	}
	err = s.ask(ctx, question)
	var different *seedDiffError
	switch {
	case err == nil, errors.As(err, &different): // another client has changed a definition since
		return errors.Join(err, forgetImport(s.definitionsNote()))
	}
	return fmt.Errorf("%w; --continue goes on there", err)
}

// definitionsNote returns the path of the marker file that says that storing the definitions has begun.
func (s *seedImport) definitionsNote() string {
	if isFile(s.path) {
		return s.path + ".definitions"
	}
	return filepath.Join(s.path, "definitions")
}

// ask posts the seed's definitions (question) to the server, to be stored or only to be compared.
func (s *seedImport) ask(ctx context.Context, question map[string]any) error {
	req, err := s.Call(ctx, http.MethodPost, seedPath, question)
	if err != nil {
		return err
	}
	s.applied, err = cli.Ask[laboratory.SeedResult](req)
	var refusal *cli.ResponseError
	if errors.As(err, &refusal) && refusal.Code == http.StatusConflict && !s.replace {
		fmt.Fprintln(s.Errs, strings.Join(refusal.Reasons, "\n"))
		return &seedDiffError{refusal}
	}
	return err
}

// part imports the documents of a container from one file.
func (s *seedImport) part(ctx context.Context, part documentsInFile) error {
	one := s.importer
	one.Database, one.Container, one.Name, one.Path = part.database, part.container, part.file, part.note
	one.Format = "ndjson"
	var err error
	if one.identity, err = one.Identity(ctx); err != nil {
		return err
	}
	if !s.replace {
		container, err := one.Definition(ctx)
		if err != nil {
			return err
		}
		one.exists = func(ctx context.Context, client *http.Client, document []byte) (existingDocumentMatch,
			error) {
			return one.isThere(ctx, client, &container, document)
		}
	}
	err = one.takePart(ctx, part)
	s.earlier += one.earlier
	s.total.add(one.Note)
	return err
}

func (i *importer) takePart(ctx context.Context, part documentsInFile) error {
	if part.documents != nil {
		size := int64(0)
		for _, d := range part.documents {
			size += int64(len(d.Text))
		}
		return i.importStream(ctx, strings.NewReader(""), size, &seedDocumentSource{left: part.documents})
	}
	f, err := os.Open(part.file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return i.importStream(ctx, f, info.Size(), nil)
}

// seedDocumentSource is a source of documents that have already been read.
type seedDocumentSource struct{ left []seed.Document }

func (d *seedDocumentSource) Next() (tree.FilePosition, []byte, error) {
	if len(d.left) == 0 {
		return tree.FilePosition{}, nil, io.EOF
	}
	one := d.left[0]
	d.left = d.left[1:]
	return one.Place, one.Text, nil
}

// existingDocumentMatch is whether the server has a document: not, the same, or another one with its id.
type existingDocumentMatch int

const (
	absent existingDocumentMatch = iota
	another
	same
)

// isThere says whether the server has a document of this id and partition key, and whether it equals
// document. If that has _mayfly.timestamp, the time of writing must be equal, too.
func (i *importer) isThere(ctx context.Context, client *http.Client, container *cli.ContainerDefinition,
	document []byte) (existingDocumentMatch, error) {
	body, asked, err := store.ParseImport(document)
	if err != nil {
		return absent, err
	}
	key, err := container.PartitionKeyOf(body)
	if err != nil {
		return absent, err
	}
	at := i.ClientCommandFlags
	at.Item = jsondoc.Of(body).Member("id").Str()
	there, err := retryBusy(ctx, func() (json.RawMessage, error) {
		req, err := at.Call(ctx, http.MethodGet, cli.ItemPath, nil)
		if err != nil {
			return nil, err
		}
		cli.SetPartitionKey(req, key)
		return cli.AskBy[json.RawMessage](client, req)
	})
	var gone *cli.ResponseError
	if errors.As(err, &gone) && gone.Code == http.StatusNotFound {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	have, age, err := store.ParseImport(appendExported(nil, there))
	if err != nil || !identical(jsondoc.Of(have), jsondoc.Of(body)) ||
		asked.Timestamp != 0 && asked.Timestamp != age.Timestamp {
		return another, nil // a document with members that an import does not accept is another one
	}
	return same, nil
}

// identical reports whether two values are equal, including all digits of integers, unlike jsondoc.Equal.
func identical(a, b jsondoc.Value) bool { return jsondoc.Equal(a, b) && sameIntegers(a, b) }

// sameIntegers reports whether the integers in two values, which are otherwise equal, have the same digits.
func sameIntegers(a, b jsondoc.Value) bool {
	same := true
	switch a.Kind() {
	case jsondoc.Number:
		m, err1 := strconv.ParseInt(string(a.Raw()), 10, 64)
		n, err2 := strconv.ParseInt(string(b.Raw()), 10, 64)
		return err1 != nil || err2 != nil || m == n
	case jsondoc.Object:
		a.Each(func(name string, v jsondoc.Value) bool {
			same = sameIntegers(v, b.Member(name))
			return same
		})
	case jsondoc.Array:
		var list []jsondoc.Value
		b.Each(func(_ string, v jsondoc.Value) bool {
			list = append(list, v)
			return true
		})
		n := 0
		a.Each(func(_ string, v jsondoc.Value) bool {
			same = n < len(list) && sameIntegers(v, list[n])
			n++
			return same
		})
	}
	return same
}

// compare counts a refused document that the server already has, and reports any other conflict.
func (w *parallelRequestSender) compare(l inputDocument, refusal documentResult) error {
	there, err := w.i.exists(w.ctx, w.client, l.body)
	switch {
	case err != nil:
		return err
	case there == absent: // the conflict is about a unique key of another document
		w.i.reportRefused(l.at, fmt.Sprintf("%d %s", refusal.Status, refusal.Message))
	case there == another:
		w.i.reportRefused(l.at, "the document is there already, and another one")
	case l.resent:
		w.i.Note.Imported++
	default:
		w.i.Note.There++
	}
	return nil
}

// retryBusy repeats a request later if the server cannot accept it at the moment.
func retryBusy[T any](ctx context.Context, question func() (T, error)) (answer T, err error) {
	wait := importPatience
	for try := 1; ; try++ {
		var refusal *cli.ResponseError
		answer, err = question()
		if !errors.As(err, &refusal) || !busy(refusal.Code) || try == importTries {
			return answer, err
		}
		next := refusal.RetryAfter
		if next == 0 {
			next, wait = wait, 2*wait
		}
		if err := pause(ctx, min(next, maxImportWait)); err != nil {
			return answer, err
		}
	}
}

// printSummary prints the results of the import of a seed.
func (s *seedImport) printSummary() error {
	t := s.total
	if t.Refused == 0 || s.JSON {
		line := fmt.Sprintf("%s imported, %s there; of databases, containers, scripts and "+
			"users %d made, %d changed", cli.Plural(t.Imported, "document", "documents"),
			cli.Plural(t.There, "was", "were"), s.applied.Made, s.applied.Changed) +
			s.speed(t.Imported+t.There)
		result := map[string]int{"made": s.applied.Made, "changed": s.applied.Changed, "imported": t.Imported,
			"there": t.There, "refused": t.Refused}
		if err := cli.PrintResult(s.Out, s.JSON, line, result); err != nil {
			return err
		}
	}
	if t.Refused > 0 {
		return &refusedDocumentsError{t.Refused, t.Imported}
	}
	return nil
}
