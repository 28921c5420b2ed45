package seed

import (
	"fmt"
	"strconv"
	"strings"
)

// folderNames makes names of folders from ids. If an id is not a valid folder name on every system, the
// folder gets another name and its file contains the id.
type folderNames struct{ taken map[string]bool }

// namesBeside returns a folderNames for folders beside files with the given names.
func namesBeside(files ...string) *folderNames {
	n := &folderNames{taken: map[string]bool{}}
	for _, f := range files {
		n.taken[f] = true
	}
	return n
}

// maxFolder is the longest name of a folder, in bytes.
const maxFolder = 200

func (n *folderNames) of(id string) string {
	var b strings.Builder
	for i, c := range []byte(id) {
		switch {
		case c < 0x20, strings.IndexByte(`<>:"/\|?*%`, c) >= 0, c == 0x7F,
			c == '.' && (i == 0 || i == len(id)-1), c == ' ' && (i == 0 || i == len(id)-1):
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	name := b.String()
	if len(name) > maxFolder {
		name = strings.ToValidUTF8(name[:maxFolder], "")
	}
	if IsDevice(name) {
		name = "%" + name
	}
	for i, first := 2, name; n.taken[strings.ToLower(name)]; i++ {
		name = first + "%" + strconv.Itoa(i)
	}
	n.taken[strings.ToLower(name)] = true
	return name
}

// IsDevice reports whether a name, without its part after a dot, is a device name of Windows.
func IsDevice(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}
