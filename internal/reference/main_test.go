package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPagesAreCurrent checks that the pages in docs/reference are those that the packages' doc comments
// produce now.
func TestPagesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, s := range subjects {
		want, err := page(root, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, "docs", "reference", s.page))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("docs/reference/%s is not current: go run ./internal/reference", s.page)
		}
	}
}
