package seed

import (
	"fmt"
	"strconv"
	"strings"
)

// uniqueFolderNamer makes names of folders from ids. If an id is not a valid folder name on every operating
// system, the folder gets another name, and the file in the folder contains the id.
type uniqueFolderNamer struct{ taken map[string]bool }

// namesBeside returns a uniqueFolderNamer whose names differ from those of the given files, which are in the
// same folder.
func namesBeside(files ...string) *uniqueFolderNamer {
	n := &uniqueFolderNamer{taken: map[string]bool{}}
	for _, f := range files {
		n.taken[f] = true
	}
	return n
}

// maxFolder is the maximal length of a folder's name in bytes.
const maxFolder = 200

func (n *uniqueFolderNamer) of(id string) string {
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

// IsDevice reports whether a name, up to its first dot, is the name of a device in Windows.
func IsDevice(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}
