package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/mayflydb/mayfly/doc"
)

// An export of a whole store is a folder in the form of a seed: a folder for each database, and in it one for
// each container, with its definition, its scripts and its documents. A server that is started with it as its
// --seed has all that again.

// scriptKind is one kind of scripts of a container.
type scriptKind struct {
	path, list string // of the protocol
	member     string // of a seed
}

func scriptKinds() []scriptKind {
	return []scriptKind{
		{"sprocs", "StoredProcedures", "storedProcedures"},
		{"udfs", "UserDefinedFunctions", "userDefinedFunctions"},
		{"triggers", "Triggers", "triggers"},
	}
}

// store exports all databases into the folder.
func (e *exporter) store(ctx context.Context, out, told io.Writer) error {
	databases, err := e.list(ctx, databasesPath, "Databases")
	if err != nil {
		return err
	}
	all := []exported{}
	for _, raw := range databases {
		e.database = doc.Of(raw).Member("id").Str()
		dir, err := e.folder(e.to, e.database)
		if err != nil {
			return err
		}
		// A database without containers is one, too.
		if err := os.WriteFile(filepath.Join(dir, "db.yaml"), []byte("{}\n"), 0o600); err != nil {
			return err
		}
		containers, err := e.list(ctx, containersPath, "DocumentCollections")
		if err != nil {
			return err
		}
		for _, raw := range containers {
			one, err := e.containerFolder(ctx, dir, raw)
			if err != nil {
				return err
			}
			if all = append(all, one); !e.json {
				fmt.Fprintf(told, "%d items of %s/%s in %s\n", one.Items, e.database, one.Container, one.File)
			}
		}
	}
	if !e.json {
		return nil
	}
	return printResult(out, true, "", map[string]any{"files": all})
}

// list reads all of a list.
func (e *exporter) list(ctx context.Context, path, name string) (list []json.RawMessage, err error) {
	page := func() (*http.Request, error) { return e.call(ctx, http.MethodGet, path, nil) }
	err = eachPage("", page, name, func(rows []json.RawMessage, _ answered) error {
		list = append(list, rows...)
		return nil
	})
	return list, err
}

// folder makes the folder of a database or a container. A seed passes over names that begin with a dot.
func (e *exporter) folder(in, name string) (string, error) {
	if strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\") {
		return "", fmt.Errorf("no folder of a seed can be called %q", name)
	}
	dir := filepath.Join(in, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// containerFolder exports one container: what it is, and its documents.
func (e *exporter) containerFolder(ctx context.Context, in string, raw json.RawMessage) (one exported,
	err error) {
	var definition map[string]any
	if err := json.Unmarshal(raw, &definition); err != nil {
		return one, err
	}
	e.container = doc.Of(raw).Member("id").Str()
	for name := range definition {
		if strings.HasPrefix(name, "_") || name == "id" {
			delete(definition, name)
		}
	}
	for _, kind := range scriptKinds() {
		scripts, err := e.scripts(ctx, kind)
		if err != nil {
			return one, err
		}
		if len(scripts) > 0 {
			definition[kind.member] = scripts
		}
	}
	dir, err := e.folder(in, e.container)
	if err != nil {
		return one, err
	}
	text, err := json.MarshalIndent(definition, "", "  ")
	if err != nil {
		return one, err
	}
	if err := os.WriteFile(filepath.Join(dir, "container.yaml"), append(text, '\n'), 0o600); err != nil {
		return one, err
	}
	path := filepath.Join(dir, "items.ndjson")
	if !e.resume {
		if err := forget(path); err != nil {
			return one, err
		}
	}
	state, err := e.file(ctx, path)
	if err != nil {
		return one, err
	}
	return exported{e.container, path, state.Items}, forget(path)
}

// scripts are those of one kind, as a seed has them.
func (e *exporter) scripts(ctx context.Context, kind scriptKind) (list []map[string]any, err error) {
	rows, err := e.list(ctx, containerPath+"/"+kind.path, kind.list)
	for _, raw := range rows {
		var script map[string]any
		if e := json.Unmarshal(raw, &script); e != nil {
			return nil, errors.Join(err, e)
		}
		for name := range script {
			if strings.HasPrefix(name, "_") {
				delete(script, name)
			}
		}
		list = append(list, script)
	}
	return list, err
}
