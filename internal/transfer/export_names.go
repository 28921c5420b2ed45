package transfer

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/seed"
)

// maxFileName is the maximum length of the name of a container's file in bytes, without the suffixes. File
// systems permit 255 bytes.
const maxFileName = 200

// fileNames returns names of files for containers, in order: the ids, escaped as in a URL. Names that are
// too long are cut off. Some systems ignore case, so if names differ only in case, the later ones get a
// number in a form that no escaped id can have. A device name of Windows gets a % before it. A dot at the
// beginning or at the end is escaped.
func fileNames(ids []string) (names []string) {
	taken := map[string]bool{}
	for _, id := range ids {
		name := escapeDots(url.PathEscape(id))
		if len(name) > maxFileName {
			name = name[:maxFileName]
			if at := strings.LastIndexByte(name, '%'); at > len(name)-3 { // do not cut an escape sequence
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

// escapeDots escapes a dot at either end of a name. Some systems drop it, hide the file, or take the name for
// a folder.
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
