package transfer

import (
	"slices"
	"strings"
	"testing"
)

// TestFileNames checks that the containers of a database get different file names that every operating
// system accepts.
func TestFileNames(t *testing.T) {
	odd := fileNames([]string{"con", "Nul.txt", "com1", "com10", "..", ".", ".git", "a."})
	want := []string{"%con", "%Nul.txt", "%com1", "com10", "%2E%2E", "%2E", "%2Egit", "a%2E"}
	if !slices.Equal(odd, want) {
		t.Errorf("%q, want %q", odd, want)
	}
	long := strings.Repeat("\u00fc", 255)
	ids := []string{"carts", "Carts", "CARTS", "%2", long, long[:508] + "x", strings.Repeat("a", 255), "a b"}
	names := fileNames(ids)
	if !slices.Equal(names[:4], []string{"carts", "Carts%2%", "CARTS%3%", "%252"}) || names[7] != "a%20b" {
		t.Error(names)
	}
}
