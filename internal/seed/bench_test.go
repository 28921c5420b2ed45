package seed

import (
	"bytes"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
)

// BenchmarkOpen measures how long reading a seed of 10,000 documents takes.
func BenchmarkOpen(b *testing.B) {
	var lines bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&lines, `{"id":"%d","pk":"p%d","name":"name %d","tags":["a","b"],"y":"%0100d"}`+"\n",
			i, i%100, i, i)
	}
	files := fstest.MapFS{"db/c/container.yaml": {Data: []byte("partitionKey: /pk")},
		"db/c/all.ndjson": {Data: lines.Bytes()}}
	for b.Loop() {
		if _, err := OpenFS(files, "."); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReapply measures how long applying a seed takes whose 10,000 documents all exist already.
func BenchmarkReapply(b *testing.B) {
	var lines bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&lines, `{"id":"%d","pk":"p%d","y":"%0100d"}`+"\n", i, i%100, i)
	}
	s, err := OpenFS(fstest.MapFS{"db/c/container.yaml": {Data: []byte("partitionKey: /pk")},
		"db/c/all.ndjson": {Data: lines.Bytes()}}, ".")
	if err != nil {
		b.Fatal(err)
	}
	e, err := pebble.Open(b.Context(), pebble.Options{Memory: true})
	if err != nil {
		b.Fatal(err)
	}
	db, err := store.Open(b.Context(), e, store.Options{ManualReaper: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := s.Apply(b.Context(), ApplyTarget{DB: db}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, err := s.Apply(b.Context(), ApplyTarget{DB: db}); err != nil || r != (ApplyReport{}) {
			b.Fatal(r, err)
		}
	}
}
