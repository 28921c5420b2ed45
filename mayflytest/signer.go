package mayflytest

import (
	"net/http"

	"github.com/mayflydb/mayfly/httpapi"
)

// signer is an http.RoundTripper that signs requests with the master key.
type signer struct {
	key  string // "": the emulators'
	base *http.Transport
}

func (s *signer) masterKey() string {
	if s.key == "" {
		return httpapi.EmulatorKey
	}
	return s.key
}

// RoundTrip implements http.RoundTripper. A request that is signed already is sent unchanged.
func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+s.masterKey())
	}
	return s.base.RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (s *signer) CloseIdleConnections() { s.base.CloseIdleConnections() }
