package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxToken is the maximal length of a token in bytes.
const maxToken = 16 << 10

const signatureWord = "SharedAccessSignature"

// Token parses and verifies a token: a shared access signature, in the form of an Authorization header or
// of AMQP's put-token, or a JSON Web Token with or without "Bearer". It fails with an *Error.
func (g *TokenVerifier) Token(text string) (GrantedRights, error) {
	switch {
	case g.mode == Off:
		return GrantedRights{Rights: All}, nil
	case text == "":
		return GrantedRights{}, &Error{Missing, "MissingToken: The authorization header was not found."}
	case len(text) > maxToken:
		return GrantedRights{}, malformed("it is too long")
	}
	word, rest, found := strings.Cut(text, " ")
	switch {
	case found && strings.EqualFold(word, signatureWord):
		return g.sharedAccess(strings.TrimSpace(rest))
	case found && strings.EqualFold(word, "Bearer"):
		return g.webToken(strings.TrimSpace(rest))
	case strings.Count(text, ".") == 2:
		return g.webToken(text)
	}
	return GrantedRights{}, malformed("it is neither " + signatureWord + " nor Bearer")
}

func malformed(why string) *Error {
	return &Error{Malformed, "The token is malformed: " + why + "."}
}

// sharedAccess verifies sr=R&sig=S&se=E&skn=K, in any order. The signed text is R exactly as sent, a line
// feed, and E. R is not unescaped, because clients escape it differently. The signing key is the bytes of
// the key's text.
func (g *TokenVerifier) sharedAccess(fields string) (GrantedRights, error) {
	var resource, sum, end, name string
	for field := range strings.SplitSeq(fields, "&") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "sr":
			resource = value
		case "sig":
			sum = value
		case "se":
			end = value
		case "skn":
			name = value
		}
	}
	if resource == "" || sum == "" || end == "" || name == "" {
		return GrantedRights{}, malformed("it needs sr, sig, se and skn")
	}
	path := scope(unescape(resource))
	signers := g.signers(unescape(name), path)
	if len(signers) == 0 {
		return GrantedRights{}, &Error{Unknown, "There is no key of the name '" + unescape(name) + "'."}
	}
	if g.mode == Emulator {
		return GrantedRights{Key: signers[0].Name, Rights: signers[0].Rights, Path: signers[0].path}, nil
	}
	expires, err := strconv.ParseInt(end, 10, 64)
	if err != nil || expires <= 0 {
		return GrantedRights{}, malformed("its end is not a number of seconds")
	}
	given, err := base64.StdEncoding.DecodeString(unescape(sum))
	at := slices.IndexFunc(signers, func(s signingKey) bool {
		return err == nil && hmac.Equal(given, signature(s.Key, resource+"\n"+end))
	})
	switch {
	case at < 0:
		return GrantedRights{}, &Error{Forged, "InvalidSignature: The token has an invalid signature."}
	case expires <= g.wall.Now().Unix():
		return GrantedRights{}, expired(expires)
	}
	return GrantedRights{Key: signers[at].Name, Rights: signers[at].Rights, Path: path, Expires: expires}, nil
}

// signature returns the HMAC-SHA256 of a text under a key.
func signature(k Key, text string) []byte {
	mac := hmac.New(sha256.New, []byte(k.Text))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// unescape decodes percent escapes; malformed text stays unchanged. A plus is not decoded, because it
// occurs in base64.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// scope returns the path of the resource for which a token was issued, in segments. Clients send a complete
// URI with port and query, or a URI without the scheme, of which a first segment that looks like a host is
// removed. The host is not compared, because one machine has many names.
func scope(resource string) []string {
	_, rest, absolute := strings.Cut(resource, "://")
	if !absolute {
		rest = resource
	}
	rest, _, _ = strings.Cut(rest, "?")
	first, path, _ := strings.Cut(rest, "/")
	if !absolute && !strings.ContainsAny(first, ":.") && first != "localhost" {
		return segments(rest)
	}
	// The management node of an entity is not part of the path: its token is valid for the entity.
	list := segments(path)
	if n := len(list); n > 0 && list[n-1] == "$management" {
		list = list[:n-1]
	}
	return list
}

// webToken verifies a JSON Web Token. Mayfly has no identity provider that could verify the signature.
// Emulator mode accepts any token that can be parsed, as Microsoft's emulators do. In Strict mode the
// signature, the third part, must be the text of a key with Manage, in base64, since otherwise anybody could
// write a valid token.
func (g *TokenVerifier) webToken(token string) (GrantedRights, error) {
	head, rest, _ := strings.Cut(token, ".")
	payload, proof, _ := strings.Cut(rest, ".")
	var claims struct {
		Expires *float64 `json:"exp"`
	}
	var kind struct{}
	shown, err := base64.RawURLEncoding.DecodeString(proof)
	if err != nil || !decodePart(head, &kind) || !decodePart(payload, &claims) {
		return GrantedRights{}, malformed("it is not a JSON Web Token")
	}
	if g.mode == Emulator {
		return GrantedRights{Rights: All}, nil
	}
	name := ""
	for _, k := range g.keys {
		if k.Rights.Has(Manage) && hmac.Equal([]byte(k.Text), shown) {
			name = k.Name
		}
	}
	if name == "" {
		return GrantedRights{}, &Error{Unknown,
			"The token cannot be verified by this server: use a shared access key."}
	}
	if claims.Expires == nil || *claims.Expires <= float64(g.wall.Now().Unix()) {
		if claims.Expires == nil {
			claims.Expires = new(float64)
		}
		return GrantedRights{}, expired(int64(max(0, *claims.Expires)))
	}
	return GrantedRights{Key: name, Rights: All, Expires: int64(min(*claims.Expires, 1<<53))}, nil
}

// decodePart decodes one part of a JSON Web Token, a JSON object in base64.
func decodePart(part string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// Sign returns a token that grants the rights of a key on a resource, which is a URI, until the time end.
func Sign(k Key, resource string, end time.Time) string {
	escaped := strings.ReplaceAll(url.QueryEscape(resource), "+", "%20")
	until := strconv.FormatInt(end.Unix(), 10)
	sum := base64.StdEncoding.EncodeToString(signature(k, escaped+"\n"+until))
	return signatureWord + " sr=" + escaped + "&sig=" + url.QueryEscape(sum) + "&se=" + until +
		"&skn=" + url.QueryEscape(k.Name)
}
