package httpapi

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
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

// maxResourceToken is the longest authorization header with a resource token that is accepted, in bytes as
// sent.
const maxResourceToken = 8 << 10

// grant is the payload of a resource token.
type grant struct {
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
func (h *reqHeaders) checkTokenLife() error {
	if h.tokenLife != 0 && (h.tokenLife < minTokenLife || h.tokenLife > maxTokenLife) {
		return badRequest("The value specified for the header 'x-ms-documentdb-expiry-seconds' is invalid: it must be between 600 and 86400.")
	}
	return nil
}

// issueToken makes a token for a permission. The token of a permission for something that is gone opens
// nothing.
func (c *call) issueToken(permission store.Resource) string {
	g := grant{Permission: permission.RID, Issued: c.srv.db.Now().Unix()}
	life := c.in.tokenLife
	if life == 0 {
		life = defaultTokenLife
	}
	g.Expires = g.Issued + int64(life)
	if of, err := c.srv.db.Grant(c.ctx(), permission); err == nil {
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
	return "type=resource&ver=1&sig=" + c.srv.auth.seal(text) + ";" + text + ";"
}

// seal is the MAC of a token's payload. Its first word keeps it apart from the signatures of requests.
func (a *authority) seal(payload string) string {
	s := a.signers.Get().(*signer)
	defer a.signers.Put(s)
	s.text = append(append(s.text[:0], "token\n"...), payload...)
	s.sign()
	return string(s.encoded[:])
}

// openToken checks the seal of a resource token and takes the payload out.
func (a *authority) openToken(signature string) (*grant, error) {
	mac, rest, _ := strings.Cut(signature, ";")
	payload, _, _ := strings.Cut(rest, ";")
	if payload == "" {
		return nil, malformedToken("it is not a resource token of this server")
	}
	if !hmac.Equal([]byte(mac), []byte(a.seal(payload))) {
		return nil, wireErr(http.StatusUnauthorized, 0, "The input authorization token can't serve the request. "+
			"The resource token was not issued with this server's key, or it was changed.")
	}
	g := new(grant)
	raw, err := base64.StdEncoding.DecodeString(payload)
	if err == nil {
		err = json.Unmarshal(raw, g)
	}
	if err == nil && g.Partition != nil {
		g.partition, err = definition.ParsePartitionKey(g.Partition)
	}
	if err != nil {
		return nil, malformedToken("its payload cannot be read")
	}
	return g, nil
}

// checkLife refuses a token that has expired.
func (g *grant) checkLife(now time.Time) error {
	if now.Unix() < g.Expires {
		return nil
	}
	return wireErr(http.StatusForbidden, 0, "The authorization token is not valid at the current time. Please create another token and retry (token expiry time: "+
		time.Unix(g.Expires, 0).UTC().Format(http.TimeFormat)+", current server time: "+now.UTC().Format(http.TimeFormat)+").")
}
