package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// documentedPackage is a package for which a page is written.
type documentedPackage struct {
	dir  string // from the module's root
	page string // file name in docs/reference
}

// subjects lists the packages of this module that other programs import; only these get a page in the Go
// reference.
var subjects = []documentedPackage{
	{dir: ".", page: "mayfly.md"},
	{dir: "mayflytest", page: "mayflytest.md"},
}

func main() {
	for _, s := range subjects {
		if err := write(".", s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(root string, s documentedPackage) error {
	text, err := page(root, s)
	if err != nil {
		return err
	}
	name := filepath.Join(root, "docs", "reference", s.page)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // pages are public
		return err
	}
	return os.WriteFile(name, text, 0o644) //nolint:gosec // pages are public
}
