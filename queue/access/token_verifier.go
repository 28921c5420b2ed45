package access

import (
	"crypto/subtle"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// VerificationMode determines how strictly tokens are verified.
type VerificationMode uint8

// The modes of verification. Strict verifies tokens completely. Emulator accepts every token whose key name
// is known. Off accepts all requests.
const (
	Emulator VerificationMode = iota
	Strict
	Off
)

// TokenVerifierOptions configures a TokenVerifier.
type TokenVerifierOptions struct {
	Keys []Key // none: the emulators' key
	Mode VerificationMode
	Wall ttl.Clock // real time; nil: the system clock
	// Entities provides the shared access rules of queues and topics; nil: only keys of the namespace are
	// valid.
	Entities AccessRuleSource
}

// TokenVerifier verifies keys and tokens. It is safe for concurrent use.
type TokenVerifier struct {
	keys     map[string]Key
	mode     VerificationMode
	wall     ttl.Clock
	entities AccessRuleSource
}

// New returns a TokenVerifier with the given options.
func New(o TokenVerifierOptions) *TokenVerifier {
	if len(o.Keys) == 0 {
		o.Keys = []Key{EmulatorKey()}
	}
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	g := &TokenVerifier{keys: make(map[string]Key, len(o.Keys)), mode: o.Mode, wall: o.Wall,
		entities: o.Entities}
	for _, k := range o.Keys {
		g.keys[k.Name] = k
	}
	return g
}

// GrantedRights is the set of rights that a token grants on an entity or namespace. The zero GrantedRights
// grants nothing.
type GrantedRights struct {
	Key     string   // the name of the signing key; "" for none
	Rights  Rights   // on Path and all paths below it
	Path    []string // segments in lower case; empty: all paths
	Expires int64    // seconds since 1970; 0: never
}

// RefusalReason says why a token or an operation was refused.
type RefusalReason uint8

// The reasons for which a token or an operation is refused.
const (
	Missing   RefusalReason = iota + 1 // there is no token
	Malformed                          // the token cannot be parsed
	Unknown                            // there is no such key, or no way to verify this kind of token
	Forged                             // the signature is wrong
	Expired                            // the token has expired
	Elsewhere                          // the token was issued for another entity
	Lacking                            // the key lacks the required right
)

// Error is the error for a key, a token or an operation that is refused.
type Error struct {
	Reason RefusalReason
	Detail string // text for the client; contains no secret
}

func (e *Error) Error() string { return e.Detail }

// Password checks a key that a client has sent by SASL PLAIN, as its name and text, and returns the rights
// of the key. It fails with an *Error.
func (g *TokenVerifier) Password(name, text string) (GrantedRights, error) {
	k, known := g.keys[name]
	switch {
	case g.mode == Off:
		return GrantedRights{Key: name, Rights: All}, nil
	case !known:
		return GrantedRights{}, &Error{Unknown, "There is no key of the name '" + name + "'."}
	case g.mode == Strict && subtle.ConstantTimeCompare([]byte(k.Text), []byte(text)) != 1:
		return GrantedRights{}, &Error{Forged, "The password is not the key of the name '" + name + "'."}
	}
	return GrantedRights{Key: name, Rights: k.Rights}, nil
}

// Open reports whether clients have access without a key. This is so in the mode Off.
func (g *TokenVerifier) Open() bool { return g.mode == Off }

// Anonymous returns the rights of a client without a token: all rights in the mode Off, and none in the
// other modes.
func (g *TokenVerifier) Anonymous() GrantedRights {
	if g.mode == Off {
		return GrantedRights{Rights: All}
	}
	return GrantedRights{}
}

// Allow checks that a grant includes a right on an entity. path is a path such as "orders" or
// "news/subscriptions/all/$deadletterqueue", of which case is ignored; "" is the namespace. It fails with an
// *Error.
func (g *TokenVerifier) Allow(grant GrantedRights, path string, need Rights) error {
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

// expired returns the error for a token that expired at the time at, in seconds since 1970. Its text is
// that of Service Bus.
func expired(at int64) *Error {
	return &Error{Expired, "ExpiredToken: The token is expired. Expiration time: '" +
		time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05Z") + "'."}
}

// covers reports whether the grant is for the path itself or for a path above it.
func (grant GrantedRights) covers(path string) bool {
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

// segments splits a path, in lower case. It ignores slashes at both ends.
func segments(path string) []string {
	path = strings.Trim(strings.ToLower(path), "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// Renews returns the time at which a connection must verify a grant again. In Strict mode this is when the
// grant expires. In the other modes it is the zero time, which means never.
func (g *TokenVerifier) Renews(grant GrantedRights) time.Time {
	if g.mode != Strict || grant.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(grant.Expires, 0)
}
