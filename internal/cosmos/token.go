package cosmos

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash"
	"strings"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// A resource token grants its bearer the rights of one permission for a limited time. Its form is
//
//	type=resource&ver=1&sig={MAC};{payload};
//
// where the payload is JSON in base64 and the MAC is HMAC-SHA256 of it with the master key, in base64. The
// server does not store tokens. Therefore a token is valid until it expires, even if its permission is
// changed or deleted.

// Lifetimes of a resource token in seconds.
const (
	minTokenLife     = 600
	maxTokenLife     = 86400
	defaultTokenLife = 3600
)

// ResourceTokenPayload is the payload of a resource token.
type ResourceTokenPayload struct {
	Permission string          `json:"p"`           // rid of the permission
	Container  string          `json:"c,omitempty"` // rid of the container
	Type       string          `json:"t,omitempty"` // of a child: docs, sprocs, triggers, udfs
	ID         string          `json:"i,omitempty"` // id of the child; or
	RID        string          `json:"r,omitempty"` // rid of the child
	Partition  json.RawMessage `json:"k,omitempty"`
	Write      bool            `json:"w,omitempty"`
	Issued     int64           `json:"n"` // seconds since 1970, by the data's clock
	Expires    int64           `json:"x"`

	partition definition.PartitionKey // parsed from Partition
}

// checkTokenLife checks the requested lifetime of a resource token.
func (h *RequestHeaders) checkTokenLife() error {
	if h.TokenLife != 0 && (h.TokenLife < minTokenLife || h.TokenLife > maxTokenLife) {
		return BadRequest("The value specified for the header 'x-ms-documentdb-expiry-seconds' is invalid: it " +
			"must be between 600 and 86400.")
	}
	return nil
}

// issueToken returns a new token for a permission. If the resource of the permission no longer exists, the
// token grants nothing.
func (c *requestInProgress) issueToken(permission store.UserOrScriptResource) string {
	g := ResourceTokenPayload{Permission: permission.RID, Issued: c.srv.db.Now().Unix()}
	life := c.in.TokenLife
	if life == 0 {
		life = defaultTokenLife
	}
	g.Expires = g.Issued + int64(life)
	if of, err := c.srv.db.Grant(c.ctx, permission); err == nil {
		g.Container, g.Type, g.ID, g.RID, g.Write = of.Container, of.Type, of.ID, of.RID, of.Write
		if !of.Partition.IsZero() {
			g.Partition = json.RawMessage(of.Partition.String())
		}
	}
	payload, err := json.Marshal(g)
	if err != nil {
		return ""
	}
	text := base64.StdEncoding.EncodeToString(payload)
	return "type=resource&ver=1&sig=" + c.srv.opt.Tokens.seal(text) + ";" + text + ";"
}

// ResourceTokenIssuer issues and verifies resource tokens.
type ResourceTokenIssuer struct {
	macs sync.Pool // hash.Hash, pooled because initializing one with the key costs as much as using it
}

// NewResourceTokens returns the ResourceTokenIssuer of an account with the given decoded key.
func NewResourceTokens(key []byte) *ResourceTokenIssuer {
	t := new(ResourceTokenIssuer)
	t.macs.New = func() any { return hmac.New(sha256.New, key) }
	return t
}

// seal returns a MAC (message authentication code) of a token's payload, in base64. The signed text begins
// with "token", so that the MAC can never equal the signature of a request.
func (t *ResourceTokenIssuer) seal(payload string) string {
	mac := t.macs.Get().(hash.Hash)
	defer t.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte("token\n" + payload))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Open verifies a resource token and returns its payload. signature is the part after sig=.
func (t *ResourceTokenIssuer) Open(signature string) (*ResourceTokenPayload, error) {
	mac, rest, _ := strings.Cut(signature, ";")
	payload, _, _ := strings.Cut(rest, ";")
	if payload == "" {
		return nil, MalformedToken("it is not a resource token of this server")
	}
	if !hmac.Equal([]byte(mac), []byte(t.seal(payload))) {
		return nil, Failure(StatusUnauthorized, 0, "The input authorization token can't serve the request. "+
			"The resource token was not issued with this server's key, or it was changed.")
	}
	g := new(ResourceTokenPayload)
	raw, err := base64.StdEncoding.DecodeString(payload)
	if err == nil {
		err = json.Unmarshal(raw, g)
	}
	if err == nil && g.Partition != nil {
		g.partition, err = definition.ParsePartitionKey(g.Partition)
	}
	if err != nil {
		return nil, MalformedToken("its payload cannot be read")
	}
	return g, nil
}

// MalformedToken returns the error for an authorization header that cannot be parsed.
func MalformedToken(why string) error {
	return Failure(StatusUnauthorized, 5001, "The authorization token is malformed: "+why+".")
}

// dateFormat is the format of dates in requests and answers: RFC 1123, in GMT.
const dateFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

// ParseDate parses an RFC 1123 date. Some clients write UTC in place of GMT. Others send the date in lower
// case, as it is in the text that they sign.
func ParseDate(s string) (time.Time, error) {
	at, err := time.Parse("Mon, 2 Jan 2006 15:04:05 GMT", s)
	if err != nil {
		s = strings.ToUpper(s)
		at, err = time.Parse("Mon, 2 Jan 2006 15:04:05 GMT", s)
	}
	if err != nil {
		at, err = time.Parse("Mon, 2 Jan 2006 15:04:05 UTC", s)
	}
	return at, err
}

// checkLife returns an error if the token has expired.
func (g *ResourceTokenPayload) checkLife(now time.Time) error {
	if now.Unix() < g.Expires {
		return nil
	}
	return Failure(StatusForbidden, 0, "The authorization token is not valid at the current time. Please "+
		"create another token and retry (token expiry time: "+
		time.Unix(g.Expires, 0).UTC().Format(dateFormat)+", current server time: "+
		""+now.UTC().Format(dateFormat)+").")
}
