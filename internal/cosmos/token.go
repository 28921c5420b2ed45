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

// A resource token lets its bearer do what one permission grants, for a while. It is
//
//	type=resource&ver=1&sig={MAC};{payload};
//
// where the payload is JSON in base64 and the MAC is HMAC-SHA256 of it with the master key, in base64. So the
// server keeps no list of tokens: a token is good until it expires, whatever becomes of its permission.

// Life of a resource token in seconds.
const (
	minTokenLife     = 600
	maxTokenLife     = 86400
	defaultTokenLife = 3600
)

// Grant is the payload of a resource token.
type Grant struct {
	Permission string          `json:"p"`           // rid
	Container  string          `json:"c,omitempty"` // rid
	Type       string          `json:"t,omitempty"` // of a child: docs, sprocs, triggers, udfs
	ID         string          `json:"i,omitempty"` // of the child, or
	RID        string          `json:"r,omitempty"` // its rid
	Partition  json.RawMessage `json:"k,omitempty"`
	Write      bool            `json:"w,omitempty"`
	Issued     int64           `json:"n"` // seconds since 1970, by the clock of the data
	Expires    int64           `json:"x"`

	partition definition.PartitionKey // of Partition
}

// checkTokenLife checks how long the token of a permission is asked to live.
func (h *Headers) checkTokenLife() error {
	if h.TokenLife != 0 && (h.TokenLife < minTokenLife || h.TokenLife > maxTokenLife) {
		return BadRequest("The value specified for the header 'x-ms-documentdb-expiry-seconds' is invalid: it " +
			"must be between 600 and 86400.")
	}
	return nil
}

// issueToken makes a token for a permission. The token of a permission for something that is gone opens
// nothing.
func (c *call) issueToken(permission store.Resource) string {
	g := Grant{Permission: permission.RID, Issued: c.srv.db.Now().Unix()}
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

// Tokens seals the tokens of permissions, and opens them.
type Tokens struct {
	macs sync.Pool // hash.Hash: keying one costs as much as using it
}

// NewTokens makes a Tokens from the account's key, decoded.
func NewTokens(key []byte) *Tokens {
	t := new(Tokens)
	t.macs.New = func() any { return hmac.New(sha256.New, key) }
	return t
}

// seal is the MAC of a token's payload, in base64. Its first word keeps it apart from the signatures of
// requests.
func (t *Tokens) seal(payload string) string {
	mac := t.macs.Get().(hash.Hash)
	defer t.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte("token\n" + payload))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Open checks the seal of a resource token, which is what follows sig= in it, and takes the payload out.
func (t *Tokens) Open(signature string) (*Grant, error) {
	mac, rest, _ := strings.Cut(signature, ";")
	payload, _, _ := strings.Cut(rest, ";")
	if payload == "" {
		return nil, MalformedToken("it is not a resource token of this server")
	}
	if !hmac.Equal([]byte(mac), []byte(t.seal(payload))) {
		return nil, Failure(StatusUnauthorized, 0, "The input authorization token can't serve the request. "+
			"The resource token was not issued with this server's key, or it was changed.")
	}
	g := new(Grant)
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

// MalformedToken is the refusal of an authorization that cannot be read, and why.
func MalformedToken(why string) error {
	return Failure(StatusUnauthorized, 5001, "The authorization token is malformed: "+why+".")
}

// dateFormat is how dates are written in requests and answers: RFC 1123, in GMT.
const dateFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

// ParseDate reads an RFC 1123 date; some clients say UTC for GMT.
func ParseDate(s string) (time.Time, error) {
	at, err := time.Parse("Mon, 2 Jan 2006 15:04:05 GMT", s)
	if err != nil {
		at, err = time.Parse("Mon, 2 Jan 2006 15:04:05 UTC", s)
	}
	return at, err
}

// checkLife refuses a token that has expired.
func (g *Grant) checkLife(now time.Time) error {
	if now.Unix() < g.Expires {
		return nil
	}
	return Failure(StatusForbidden, 0, "The authorization token is not valid at the current time. Please "+
		"create another token and retry (token expiry time: "+
		time.Unix(g.Expires, 0).UTC().Format(dateFormat)+", current server time: "+
		""+now.UTC().Format(dateFormat)+").")
}
