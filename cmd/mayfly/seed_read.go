package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/mayflydb/mayfly/queue/config"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// A seed file says in JSON what a server has from its start:
//
//	{"databases": [
//	  {"id": "shop", "throughput": 400, "containers": [
//	    {"id": "carts", "partitionKey": {"paths": ["/user"]}, "defaultTtl": 3600, "throughput": {"maxThroughput": 4000},
//	     "documents": [
//	       {"id": "1", "user": "ann"},
//	       {"id": "2", "user": "ben", "_mayfly": {"age": "50m"}}
//	     ]}
//	  ]}
//	]}
//
// or has the queues, topics and subscriptions of a Config.json: see package config.
//
// A container is its members, as a client sends it, with "documents" and a "throughput" in RU/s; a
// database's throughput is shared by its containers. Only the ids and a container's partitionKey must be
// there. A document is as old as its _ts or its member _mayfly says: see store.ParseImport. A member that is
// not known is an error.

// seedError is what is wrong with a seed, and where.
type seedError struct {
	file string
	line int // from 1; 0: the file as a whole
	err  error
}

func (e *seedError) Error() string {
	if e.line == 0 {
		return fmt.Sprintf("seed %s: %v", e.file, e.err)
	}
	return fmt.Sprintf("seed %s:%d: %v", e.file, e.line, e.err)
}

func (e *seedError) Unwrap() error { return e.err }

// seedPlace is where something of a seed stands.
type seedPlace struct {
	file string
	line int
}

func (p seedPlace) wrong(err error) error { return &seedError{p.file, p.line, err} }

type seedDatabase struct {
	seedPlace
	id         string
	throughput definition.Throughput
	containers []seedContainer
}

type seedContainer struct {
	seedPlace
	spec       definition.ContainerSpec
	throughput definition.Throughput
	documents  []seedDocument
}

type seedDocument struct {
	seedPlace
	operation store.Operation
}

// seedContents is what seed files say.
type seedContents struct {
	databases []seedDatabase
	entities  []*config.Config
}

// readSeed reads a seed file, or all *.json of a folder in the order of their names. Nothing is done before
// all is read.
func readSeed(path string) (all seedContents, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return all, &seedError{path, 0, err}
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(escapeGlob(path), "*.json")); err != nil {
			return all, &seedError{path, 0, err}
		}
		sort.Strings(files)
		if len(files) == 0 {
			return all, &seedError{path, 0, errors.New("the folder has no *.json")}
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return all, &seedError{file, 0, err}
		}
		if hasEntities(data) {
			entities, err := config.Parse(file, data)
			if err != nil {
				return all, err
			}
			all.entities = append(all.entities, entities)
			continue
		}
		list, err := parseSeed(file, data)
		if err != nil {
			return all, err
		}
		all.databases = append(all.databases, list...)
	}
	return all, nil
}

// hasEntities tells a Config.json of the Service Bus emulator from a seed with databases.
func hasEntities(data []byte) bool {
	var file struct{ UserConfig json.RawMessage }
	return json.Unmarshal(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), &file) == nil && file.UserConfig != nil
}

// escapeGlob makes a pattern of a path that matches the path alone.
func escapeGlob(path string) string {
	var b []byte
	for _, c := range []byte(path) {
		if c == '*' || c == '?' || c == '[' {
			b = append(b, '[', c, ']')
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

func parseSeed(file string, data []byte) (list []seedDatabase, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := seedReader{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		at := len(data)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = int(syntax.Offset)
		}
		return nil, r.at(at).wrong(err)
	}
	err = r.object(func(name string) error {
		if name != "databases" {
			return r.unknown(name)
		}
		return r.array(func() error {
			d, err := r.database()
			list = append(list, d)
			return err
		})
	})
	return list, err
}

// seedReader walks over a file that is known to be JSON and knows where it is.
type seedReader struct {
	file string
	data []byte
	dec  *json.Decoder
}

// at is the line of an offset.
func (r *seedReader) at(offset int) seedPlace {
	offset = min(offset, len(r.data))
	return seedPlace{r.file, 1 + bytes.Count(r.data[:offset], []byte("\n"))}
}

// here is where the next value stands.
func (r *seedReader) here() seedPlace {
	at := int(r.dec.InputOffset())
	for at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return r.at(at)
}

func (r *seedReader) unknown(name string) error {
	return r.here().wrong(fmt.Errorf("%q is not known here", name))
}

// open takes the delimiter that an object or an array begins with.
func (r *seedReader) open(delim json.Delim, what string) error {
	place := r.here()
	if token, err := r.dec.Token(); err != nil || token != delim {
		return place.wrong(errors.New("here must be " + what))
	}
	return nil
}

// object calls fn for each member; fn takes its value. A name that comes twice is refused.
func (r *seedReader) object(fn func(name string) error) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r.dec.More() {
		place := r.here()
		token, err := r.dec.Token()
		name, _ := token.(string)
		if err == nil && seen[name] {
			err = fmt.Errorf("%q comes twice", name)
		}
		if err != nil {
			return place.wrong(err)
		}
		seen[name] = true
		if err := fn(name); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// array calls fn for each element, which it takes.
func (r *seedReader) array(fn func() error) error {
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	for r.dec.More() {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// raw takes a value as it stands.
func (r *seedReader) raw() (raw json.RawMessage, place seedPlace, err error) {
	place = r.here()
	if err := r.dec.Decode(&raw); err != nil {
		return nil, place, place.wrong(err)
	}
	return raw, place, nil
}

func (r *seedReader) database() (d seedDatabase, err error) {
	d.seedPlace = r.here()
	err = r.object(func(name string) (err error) {
		switch name {
		case "id":
			d.id, err = r.text()
		case "throughput":
			d.throughput, err = r.throughput()
		case "containers":
			err = r.array(func() error {
				c, err := r.container()
				d.containers = append(d.containers, c)
				return err
			})
		default:
			err = r.unknown(name)
		}
		return err
	})
	if err == nil && d.id == "" {
		err = d.wrong(errors.New("the database has no id"))
	}
	return d, err
}

func (r *seedReader) text() (text string, err error) {
	raw, place, err := r.raw()
	if err == nil && json.Unmarshal(raw, &text) != nil {
		err = place.wrong(errors.New("here must be a string"))
	}
	return text, err
}

// throughput reads 400 or {"maxThroughput": 4000}.
func (r *seedReader) throughput() (t definition.Throughput, err error) {
	raw, place, err := r.raw()
	if err != nil {
		return t, err
	}
	var scaled struct {
		Most int `json:"maxThroughput"`
	}
	if json.Unmarshal(raw, &t.Manual) == nil && t.Manual > 0 {
		return t, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(&scaled) != nil || scaled.Most <= 0 {
		return t, place.wrong(errors.New(`a throughput must be a number of RU/s, or {"maxThroughput": RU/s}`))
	}
	return definition.Throughput{Autoscale: scaled.Most}, nil
}

// container gathers the members that are the definition's into a definition.
func (r *seedReader) container() (c seedContainer, err error) {
	c.seedPlace = r.here()
	members := map[string]json.RawMessage{}
	err = r.object(func(name string) (err error) {
		switch name {
		case "documents":
			err = r.array(func() error {
				d, err := r.document()
				c.documents = append(c.documents, d)
				return err
			})
		case "throughput":
			c.throughput, err = r.throughput()
		default:
			members[name], _, err = r.raw()
		}
		return err
	})
	if err != nil {
		return c, err
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return c, c.wrong(err)
	}
	if c.spec, _, err = definition.ParseContainerSpec(raw, true); err != nil {
		return c, c.wrong(err)
	}
	c.spec.EnsureDefaults()
	if err := c.spec.Validate(); err != nil {
		return c, c.wrong(err)
	}
	return c, nil
}

func (r *seedReader) document() (d seedDocument, err error) {
	raw, place, err := r.raw()
	if err != nil {
		return d, err
	}
	d.seedPlace = place
	body, o, err := store.ParseImport(raw)
	if err != nil {
		return d, place.wrong(err)
	}
	d.operation = store.Operation{Kind: store.OperationCreate, Body: body, NoContent: true}
	d.operation.Import = &o
	return d, nil
}
