package transfer

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/seed"
)

// maxFileName is how long the name of a container's file can be, in bytes, without what is put behind it:
// file systems take 255.
const maxFileName = 200

// fileNames are the names of files for containers, in their order: the ids as a URL has them. What is
// longer than a file's name can be is cut off, and of names that differ in small and capital letters alone,
// which some systems take for one, the later ones have a number behind them, as no URL has it. A name that
// is a device's on Windows has a % before it, and a dot at an end is escaped.
func fileNames(ids []string) (names []string) {
	taken := map[string]bool{}
	for _, id := range ids {
		name := escapeDots(url.PathEscape(id))
		if len(name) > maxFileName {
			name = name[:maxFileName]
			if at := strings.LastIndexByte(name, '%'); at > len(name)-3 { // not half a letter
				name = name[:at]
			}
		}
		if seed.IsDevice(name) {
			name = "%" + name
		}
		first := name
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = first + "%" + strconv.Itoa(n) + "%"
		}
		taken[strings.ToLower(name)] = true
		names = append(names, name)
	}
	return names
}

// escapeDots escapes a dot at either end of a name, which some systems drop, hide, or take for a folder.
func escapeDots(name string) string {
	const dot = "%2E"
	if name == "." {
		return dot
	}
	if rest, ok := strings.CutPrefix(name, "."); ok {
		name = dot + rest
	}
	if rest, ok := strings.CutSuffix(name, "."); ok {
		name = rest + dot
	}
	return name
}
