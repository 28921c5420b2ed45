package httpapi

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"testing"
	"time"
)

// TestNoAuthTakesAnyToken checks that a server without authorization accepts any token.
func TestNoAuthTakesAnyToken(t *testing.T) {
	t.Parallel()
	w := smallWorld(t, func(s *serverUnderTestOptions) { s.server.NoAuth = true })
	w.as("type=resource&ver=1&sig=x", "GET", users, "").want(200)
}

// TestDirectoryTokenOverHTTP checks that an unexpired Microsoft Entra ID token authorizes all Cosmos DB
// operations, but not Mayfly's own API.
func TestDirectoryTokenOverHTTP(t *testing.T) {
	t.Parallel()
	w := smallWorld(t)
	enc := base64.RawURLEncoding.EncodeToString
	jwt := func(life time.Duration) string {
		expires := strconv.FormatInt(w.wall.Now().Add(life).Unix(), 10)
		return "type=aad&ver=1.0&sig=" + enc([]byte(`{"typ":"JWT","kid":"CosmosEmulatorPrimaryMaster"}`)) + "." + enc([]byte(`{"exp":`+expires+`}`)) + "." + enc([]byte(EmulatorKey))
	}
	for _, header := range []string{jwt(time.Hour), url.QueryEscape(jwt(time.Hour))} {
		w.as(header, "GET", "/", "").want(200)
		w.as(header, "GET", docs+"/i", "", pk(`["a"]`)...).want(200)
		w.as(header, "PUT", docs+"/i", `{"id":"i","pk":"a"}`, pk(`["a"]`)...).want(200)
		w.as(header, "GET", users, "").want(200)
		w.as(header, "GET", "/_mayfly/clock", "").fails(403, 0, "master key")
	}
	w.as(jwt(-time.Second), "GET", "/", "").fails(401, 5006, "expired")
	w.as("type=aad&ver=1.0&sig=x.y", "GET", "/", "").fails(401, 5007, "")
}
