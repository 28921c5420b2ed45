package seed

import (
	"fmt"
	"strconv"
	"strings"
)

// folderNames makes names of folders out of ids. An id that no folder should be called by on some system is
// written in another way; the file in the folder has it then.
type folderNames struct{ taken map[string]bool }

// namesBeside makes names of folders that lie beside files of a description.
func namesBeside(files ...string) *folderNames {
	n := &folderNames{taken: map[string]bool{}}
	for _, f := range files {
		n.taken[f] = true
	}
	return n
}

// maxFolder is how long the name of a folder can be, in bytes.
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

// IsDevice reports whether Windows takes a file of that name for a device, whatever stands behind a dot in
// it.
func IsDevice(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}
