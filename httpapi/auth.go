package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/ttl"
)

// EmulatorKey is the master key of every Cosmos DB emulator. It is public and therefore protects nothing.
const EmulatorKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// Maximum sizes of authorization headers, in bytes as sent.
const (
	maxMasterToken   = 1 << 10
	maxResourceToken = 8 << 10
	maxToken         = 16 << 10
)

// maxSkew is the largest accepted difference, in either direction, between the clocks of client and server.
const maxSkew = 15 * time.Minute

// credentialKind is the kind of credential by which a request was authorized.
type credentialKind uint8

const (
	masterSignature credentialKind = iota // signed with the master key
	masterKey                             // the master key itself
	directoryToken                        // a Microsoft Entra ID token
	resourceToken                         // a permission's token
)

// authorizer checks the authorization of requests. Its only secret is the master key.
type authorizer struct {
	keyText    []byte // the master key in base64
	wellKnown  bool   // the key is EmulatorKey
	checkClock bool
	wall       ttl.Clock
	signers    sync.Pool // *signer, hashes that are initialized with the key
	tokens     *cosmos.ResourceTokenIssuer
	date       atomic.Pointer[parsedDate] // the last date of a signature
}

func newAuthority(key string, checkClock bool, wall ttl.Clock) (*authorizer, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) == 0 {
		return nil, errors.New("httpapi: the master key must be base64 text")
	}
	a := &authorizer{keyText: []byte(key), wellKnown: key == EmulatorKey, checkClock: checkClock, wall: wall,
		tokens: cosmos.NewResourceTokens(raw)}
	a.signers.New = func() any { return newSigner(raw) }
	return a, nil
}

// authHeaders is the part of the request headers that authorizes a request.
type authHeaders struct{ authorization, xDate, date string }

// take stores the value of the header with this name if it is one of the three headers that authorize a
// request: Authorization, X-Ms-Date and Date. It reports whether it is.
func (p *authHeaders) take(name, value string) bool {
	switch name {
	case "Authorization":
		p.authorization = value
	case "X-Ms-Date":
		p.xDate = value
	case "Date":
		p.date = value
	default:
		return false
	}
	return true
}

// verify checks the authorization header. It accepts four forms: Cosmos DB's type=master with a signature,
// type=aad and type=resource with a token, and "Bearer KEY" with the master key itself. For a resource token,
// verify returns the grant in it; cosmos.Service.Permit decides whether the grant covers the request.
//
// The signature also shows whether the query string is part of the item's id (see
// targetResource.absorbQuery).
func (a *authorizer) verify(method string, p *authHeaders, t *targetResource) (credentialKind,
	*cosmos.ResourceTokenPayload,
	error) {
	text := p.authorization
	if text == "" {
		return 0, nil, cosmos.Failure(http.StatusUnauthorized, 5000,
			"Required Header authorization is missing. Ensure a valid Authorization token is passed.")
	}
	if len(text) > maxToken {
		return 0, nil, cosmos.MalformedToken("it is too long")
	}
	if len(text) > 7 && strings.EqualFold(text[:7], "Bearer ") {
		if subtle.ConstantTimeCompare([]byte(strings.TrimSpace(text[7:])), a.keyText) != 1 {
			return 0, nil, cosmos.Failure(http.StatusUnauthorized, 0,
				"The key after Bearer is not this server's master key.")
		}
		t.absorbQuery()
		return masterKey, nil, nil
	}
	kind, signature, err := splitToken(text)
	if err != nil {
		return 0, nil, err
	}
	switch kind {
	case "master":
		if len(text) > maxMasterToken {
			return 0, nil, cosmos.MalformedToken("it is too long")
		}
		return masterSignature, nil, a.verifySignature(signature, method, p, t)
	case "aad":
		t.absorbQuery()
		return directoryToken, nil, a.verifyDirectoryToken(signature)
	case "resource":
		if len(text) > maxResourceToken {
			return 0, nil, cosmos.MalformedToken("it is too long")
		}
		t.absorbQuery()
		g, err := a.tokens.Open(signature)
		return resourceToken, g, err
	}
	return 0, nil, cosmos.MalformedToken("its type is neither master, resource nor aad")
}

// splitToken parses type=T&ver=V&sig=S, percent-encoded or not.
func splitToken(text string) (kind, signature string, err error) {
	if !strings.HasPrefix(text, "type=") {
		// PathUnescape, unlike QueryUnescape, keeps a plus sign as it is.
		if text, err = url.PathUnescape(text); err != nil {
			return "", "", cosmos.MalformedToken("it holds a malformed escape")
		}
	}
	version := ""
	for i, rest := 0, text; rest != ""; i++ {
		part := rest
		if i < 2 {
			part, rest, _ = strings.Cut(rest, "&")
		} else {
			rest = ""
		}
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "type":
			kind = value
		case "ver":
			version = value
		case "sig":
			signature = value
		}
	}
	switch {
	case kind == "" || signature == "":
		return "", "", cosmos.MalformedToken("it is not of the form type=...&ver=...&sig=...")
	case version != "1.0" && version != "1":
		return "", "", cosmos.MalformedToken("its version is not 1.0")
	}
	return kind, signature, nil
}

// verifySignature checks a signature against every resource link that the client may have signed, then
// checks the request's date.
func (a *authorizer) verifySignature(signature, method string, p *authHeaders, t *targetResource) error {
	signature, _, _ = strings.Cut(signature, ",")
	xDate, date, stamp := p.xDate, "", p.xDate
	if stamp == "" {
		date, stamp = p.date, p.date
	}
	if stamp == "" {
		return cosmos.Failure(http.StatusUnauthorized, 0,
			"The request has no x-ms-date header: a signature needs one.")
	}
	at, err := a.parseDate(stamp)
	if err != nil {
		return cosmos.Failure(http.StatusUnauthorized, 0,
			"The date '"+stamp+"' is not a valid RFC 1123 date.")
	}
	s := a.signers.Get().(*requestSigner)
	defer a.signers.Put(s)
	for i := 0; ; i++ {
		link, query, ok := t.link(i)
		if !ok {
			break
		}
		if !s.matches(signature, method, t.resourceType, link, xDate, date) {
			continue
		}
		if query {
			t.absorbQuery()
		}
		return a.checkSkew(at)
	}
	link, _, _ := t.link(0)
	s.payload(method, t.resourceType, link, xDate, date)
	return cosmos.Failure(http.StatusUnauthorized, 0,
		"The input authorization token can't serve the request. The "+
			"wrong key is being used or "+
			"the expected payload is not built as per the protocol. Server used the following payload to sign: "+
			"'"+string(s.text)+"'")
}

// parsedDate is a date, as text and parsed.
type parsedDate struct {
	text string
	at   time.Time
}

// parseDate parses a date. It keeps the last one, because dates have whole seconds, and clients sign all
// requests of a second with the same date.
func (a *authorizer) parseDate(text string) (time.Time, error) {
	if last := a.date.Load(); last != nil && last.text == text {
		return last.at, nil
	}
	at, err := cosmos.ParseDate(text)
	if err == nil {
		a.date.Store(&parsedDate{strings.Clone(text), at})
	}
	return at, err
}

func (a *authorizer) checkSkew(at time.Time) error {
	if !a.checkClock {
		return nil
	}
	now := a.wall.Now()
	if skew := now.Sub(at); skew > maxSkew || skew < -maxSkew {
		return cosmos.Failure(http.StatusForbidden, 0,
			"The authorization token is not valid at the current time. Please "+
				"create another token and retry (token start time: "+
				at.UTC().Format(http.TimeFormat)+", current server time: "+now.UTC().Format(http.TimeFormat)+
				").")
	}
	return nil
}

// verifyDirectoryToken checks a Microsoft Entra ID token (a JWT). The server has no identity provider with
// which it could verify the signature of the token. If its key is the public emulator key, it accepts any
// token that has not expired, as Microsoft's emulators do. If it has another key, the signature of the
// token, its third part, must be that key; test tokens for the emulators are made in the same way. Otherwise
// anybody could write a valid token without the key.
func (a *authorizer) verifyDirectoryToken(token string) error {
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, found := strings.Cut(rest, ".")
	var claims struct {
		Expires *float64 `json:"exp"`
	}
	var kind struct{}
	proof, err := base64.RawURLEncoding.DecodeString(signature)
	if !found || err != nil || !decodePart(header, &kind) || !decodePart(payload, &claims) {
		return cosmos.Failure(http.StatusUnauthorized, 5007,
			"The access token is not a valid JSON Web Token.")
	}
	if !a.wellKnown && subtle.ConstantTimeCompare(proof, a.keyText) != 1 {
		return cosmos.Failure(http.StatusUnauthorized, 5007,
			"The access token cannot be verified by this server: use "+
				"the master key.")
	}
	if a.checkClock && (claims.Expires == nil || *claims.Expires <= float64(a.wall.Now().Unix())) {
		return cosmos.Failure(http.StatusUnauthorized, 5006, "The access token has expired.")
	}
	return nil
}

// decodePart decodes one part of a JWT, a JSON object in base64, and reports whether it is valid.
func decodePart(part string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// requestSigner computes signatures with one key. Signers are pooled, because initializing a hash with a key
// costs as much as signing.
type requestSigner struct {
	mac     hash.Hash
	text    []byte // the payload to sign
	sum     [sha256.Size]byte
	encoded [44]byte // sum in base64
}

func newSigner(key []byte) *requestSigner {
	return &requestSigner{mac: hmac.New(sha256.New, key), text: make([]byte, 0, 256)}
}

// payload builds the text to sign: five lines, all in lower case except for the link.
func (s *requestSigner) payload(method, resourceType, link, xDate, date string) {
	b := append(appendLower(s.text[:0], method), '\n')
	b = append(appendLower(b, resourceType), '\n')
	b = append(append(b, link...), '\n')
	b = append(appendLower(b, xDate), '\n')
	s.text = append(appendLower(b, date), '\n')
}

// sign signs the payload into s.encoded.
func (s *requestSigner) sign() {
	s.mac.Reset()
	s.mac.Write(s.text)
	base64.StdEncoding.Encode(s.encoded[:], s.mac.Sum(s.sum[:0]))
}

// matches reports whether signature is the one of the request with these properties. It compares in constant
// time.
func (s *requestSigner) matches(signature, method, resourceType, link, xDate, date string) bool {
	s.payload(method, resourceType, link, xDate, date)
	s.sign()
	s.text = append(s.text[:0], signature...)
	return subtle.ConstantTimeCompare(s.encoded[:], s.text) == 1
}

// Sign returns the signature of a request as Cosmos DB's clients compute it: HMAC-SHA256 in base64 over
// verb, resource type, resource link and x-ms-date (an RFC 1123 date). key is the decoded master key.
func Sign(key []byte, verb, resourceType, resourceLink, date string) string {
	s := newSigner(key)
	s.payload(verb, resourceType, resourceLink, date, "")
	s.sign()
	return string(s.encoded[:])
}

// AuthorizationHeader returns the value of the authorization header for a signature.
func AuthorizationHeader(signature string) string {
	return url.QueryEscape("type=master&ver=1.0&sig=" + signature)
}

func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// authorise checks the authorization of a request. Mayfly's own API requires the master key. A resource
// token is valid for the resource for which it was issued.
func (s *Server) authorise(c *activeRequest) error {
	with := masterKey
	if s.opt.NoAuth {
		c.target.absorbQuery()
	} else {
		var err error
		if with, c.req.Grant, err = s.auth.verify(c.method, &c.in.proof, &c.target); err != nil {
			return err
		}
	}
	c.req.Address = c.target.ResourceAddress // the address may now include the query string
	c.req.Headers.RangeIDs = c.target.rangeIDs
	c.req.Trusted = with == masterKey || with == masterSignature
	if err := s.ops.Permit(c.ctx(), &c.req); err != nil {
		return err
	}
	if c.target.kind == cosmos.KindNone && with == directoryToken {
		return cosmos.Failure(http.StatusForbidden, 0, "This needs the master key.")
	}
	if c.reply.w != nil { // in direct mode
		c.reply.w.Authorized()
	}
	return nil
}
