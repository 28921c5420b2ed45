package access

import (
	"crypto/subtle"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Mode says how much of a token is looked at.
type Mode uint8

// The modes: see the package.
const (
	Emulator Mode = iota
	Strict
	Off
)

// Options configure a Guard.
type Options struct {
	Keys []Key // none: the emulators' key
	Mode Mode
	Wall ttl.Clock // real time; nil is the system's
	// Entities has the shared access rules of queues and topics; nil: keys of the namespace alone are valid.
	Entities Entities
}

// Guard knows the keys. It may be used from any goroutine.
type Guard struct {
	keys     map[string]Key
	mode     Mode
	wall     ttl.Clock
	entities Entities
}

// New makes a guard.
func New(o Options) *Guard {
	if len(o.Keys) == 0 {
		o.Keys = []Key{EmulatorKey()}
	}
	if o.Wall == nil {
		o.Wall = ttl.Real{}
	}
	g := &Guard{keys: make(map[string]Key, len(o.Keys)), mode: o.Mode, wall: o.Wall,
		entities: o.Entities}
	for _, k := range o.Keys {
		g.keys[k.Name] = k
	}
	return g
}

// Grant is what a token lets its holder do. The zero Grant lets nobody do anything.
type Grant struct {
	Key     string   // the name of the key that signed it; "" where none did
	Rights  Rights   // on Path and all below
	Path    []string // segments in lower case; empty: everything
	Expires int64    // seconds since 1970; 0: never
}

// Reason says why somebody is not let in.
type Reason uint8

// The reasons.
const (
	Missing   Reason = iota + 1 // there is no token
	Malformed                   // it cannot be read
	Unknown                     // no key has that name, or the token is of a kind that cannot be checked here
	Forged                      // the signature is another one
	Expired                     // its time is over
	Elsewhere                   // it is for another entity
	Lacking                     // its key has not the right that is needed
)

// Error says why somebody is not let in.
type Error struct {
	Reason Reason
	Detail string // for the client; it repeats nothing secret
}

func (e *Error) Error() string { return e.Detail }

// Password checks the name and text of a key, as SASL PLAIN brings them.
func (g *Guard) Password(name, text string) (Grant, error) {
	k, known := g.keys[name]
	switch {
	case g.mode == Off:
		return Grant{Key: name, Rights: All}, nil
	case !known:
		return Grant{}, &Error{Unknown, "There is no key of the name '" + name + "'."}
	case g.mode == Strict && subtle.ConstantTimeCompare([]byte(k.Text), []byte(text)) != 1:
		return Grant{}, &Error{Forged, "The password is not the key of the name '" + name + "'."}
	}
	return Grant{Key: name, Rights: k.Rights}, nil
}

// Open reports whether everybody is let in, without a key.
func (g *Guard) Open() bool { return g.mode == Off }

// Anonymous is what somebody may do who shows nothing.
func (g *Guard) Anonymous() Grant {
	if g.mode == Off {
		return Grant{Rights: All}
	}
	return Grant{}
}

// Allow reports whether a grant is enough to do something with an entity, whose path is "orders" or
// "news/subscriptions/all/$deadletterqueue", in any case; "" is the namespace. It fails with an *Error.
func (g *Guard) Allow(grant Grant, path string, need Rights) error {
	switch {
	case grant.Rights == 0:
		return &Error{Missing, "A token is needed for '" + path + "'."}
	case g.mode == Strict && grant.Expires != 0 && grant.Expires <= g.wall.Now().Unix():
		return expired(grant.Expires)
	case !grant.covers(path):
		return &Error{Elsewhere, "The token is for '" + strings.Join(grant.Path, "/") + "', not for '" +
			path + "'."}
	case !grant.Rights.Has(need):
		return &Error{Lacking, "'" + need.String() + "' claim(s) are required to perform this operation."}
	}
	return nil
}

// expired returns the error of a token that ended at a second since 1970. The text is the service's.
func expired(at int64) *Error {
	return &Error{Expired, "ExpiredToken: The token is expired. Expiration time: '" +
		time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05Z") + "'."}
}

// covers reports whether the grant's path is the path or above it.
func (grant Grant) covers(path string) bool {
	have := segments(path)
	if len(grant.Path) > len(have) {
		return false
	}
	for i, s := range grant.Path {
		if have[i] != s {
			return false
		}
	}
	return true
}

// segments divides a path, in lower case; slashes at the ends do not count.
func segments(path string) []string {
	path = strings.Trim(strings.ToLower(path), "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// Renews reports when a connection has to look at a grant again: its end, in Strict; the zero time: never.
func (g *Guard) Renews(grant Grant) time.Time {
	if g.mode != Strict || grant.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(grant.Expires, 0)
}
