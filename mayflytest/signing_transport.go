package mayflytest

import (
	"net/http"

	"github.com/mayflydb/mayfly/httpapi"
)

// signingTransport is an http.RoundTripper that signs requests with the master key.
type signingTransport struct {
	key  string // "": the emulators'
	base *http.Transport
}

func (s *signingTransport) masterKey() string {
	if s.key == "" {
		return httpapi.EmulatorKey
	}
	return s.key
}

// RoundTrip signs a request with the master key and sends it. A request that is signed already is sent
// unchanged.
func (s *signingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+s.masterKey())
	}
	return s.base.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of the transport that sends the requests. It is called
// by http.Client.CloseIdleConnections.
func (s *signingTransport) CloseIdleConnections() { s.base.CloseIdleConnections() }
