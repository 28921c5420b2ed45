package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/ttl"
)

// dataLocation is where a store keeps its data: the path of a folder, or the URL of a PostgreSQL database.
type dataLocation string

// remote reports whether the data are in a PostgreSQL database, not in a folder.
func (p dataLocation) remote() bool { return postgres.IsURL(string(p)) }

// openDatabase opens the engine on a PostgreSQL database. It fails with postgres.ErrURL if url is not the URL
// of one.
func openDatabase(ctx context.Context, url string, log *slog.Logger) (engine.Engine, error) {
	return postgres.Open(ctx, postgres.Options{URL: url, Logger: log})
}

// name returns a text for messages: the absolute path of the folder, or the URL of the database without its
// password.
func (p dataLocation) name() (string, error) {
	if p.remote() {
		return postgres.Options{URL: string(p)}.Name()
	}
	dir, err := filepath.Abs(string(p))
	return "folder " + dir, err
}

// open opens the engine of the data at this location. A folder that does not exist is created only if create
// is set.
func (p dataLocation) open(ctx context.Context, create bool, log *slog.Logger) (engine.Engine, error) {
	if p.remote() {
		return openDatabase(ctx, string(p), log)
	}
	dir := string(p)
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%w: %s is no folder", engine.ErrNotDatabase, dir)
	case err != nil && !create:
		return nil, cli.Misuse(fmt.Sprintf("there is no folder %s: %v", dir, fs.ErrNotExist))
	case err != nil:
		keepFilesPrivate()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return pebble.Open(ctx, pebble.Options{Dir: dir, Logger: log, Now: ttl.SystemClock{}.Now})
}
