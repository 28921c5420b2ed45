package access

import (
	"fmt"
	"strings"
)

// Rights is a set of rights on queues and topics: Listen, Send and Manage.
type Rights uint8

// The rights. Manage implies the other two.
const (
	Listen Rights = 1 << iota // receive, settle, peek, sessions, rules
	Send
	Manage // create, change and delete entities
)

// All is the set of all rights, which a key with Manage has.
const All = Listen | Send | Manage

var rightNames = []struct {
	right Rights
	name  string
}{{Listen, "Listen"}, {Send, "Send"}, {Manage, "Manage"}}

// Has reports whether the rights include all of need.
func (r Rights) Has(need Rights) bool {
	if r&Manage != 0 {
		r = All
	}
	return r&need == need
}

// String returns the names: "Listen+Send".
func (r Rights) String() string {
	var names []string
	for _, n := range rightNames {
		if r&n.right != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, "+")
}

// ParseRights parses names of rights such as "Listen+Send", ignoring case and order. Names may also be
// separated by commas.
func ParseRights(text string) (r Rights, err error) {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == '+' || c == ',' }) {
		known := false
		for _, n := range rightNames {
			if strings.EqualFold(strings.TrimSpace(word), n.name) {
				r, known = r|n.right, true
			}
		}
		if !known {
			return 0, &KeyError{fmt.Sprintf("%q is not a right: the rights are Listen, Send and Manage",
				word)}
		}
	}
	if r == 0 {
		return 0, &KeyError{"a key has rights: Listen, Send or Manage, joined by +"}
	}
	return r, nil
}

// Key is a shared access key. Tokens are signed with the bytes of its text, which is not decoded even if it
// looks like base64.
type Key struct {
	Name   string // case-sensitive
	Rights Rights
	Text   string
}

// The shared access key of Microsoft's emulators. It is public and protects nothing.
const (
	EmulatorName = "RootManageSharedAccessKey"
	EmulatorText = "SAS_KEY_VALUE"
)

// EmulatorKey returns the shared access key of Microsoft's emulators.
func EmulatorKey() Key { return Key{EmulatorName, All, EmulatorText} }

// KeyError reports the text of a shared access key or of its rights that cannot be parsed: see ParseKey.
type KeyError struct{ Reason string }

func (e *KeyError) Error() string { return e.Reason }

// ParseKey parses "NAME:RIGHTS:TEXT", for example "worker:Listen+Send:c2VjcmV0". The text may contain
// colons. It fails with a *KeyError, which does not contain the text.
func ParseKey(s string) (Key, error) {
	name, rest, _ := strings.Cut(s, ":")
	rights, text, found := strings.Cut(rest, ":")
	if !found || name == "" || text == "" {
		return Key{}, &KeyError{
			"a key is written as NAME:RIGHTS:KEY, for example worker:Listen+Send:c2VjcmV0"}
	}
	if strings.ContainsAny(name, "&=;") || strings.Contains(text, ";") {
		return Key{}, &KeyError{
			"a connection string cannot carry the characters & = ; in a name, or ; in a key"}
	}
	r, err := ParseRights(rights)
	return Key{name, r, text}, err
}
