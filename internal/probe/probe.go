package probe

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Time limits of one probe: for the arrival of its request, and for the check of the store. The second is
// the timeout of the command mayfly health.
const (
	readTimeout  = 5 * time.Second
	checkTimeout = 5 * time.Second
	maxHeader    = 8 << 10 // bytes
)

// The states that a probe reports.
const (
	alive    = "alive"
	starting = "starting"
	ready    = "ready"
	failing  = "failing"
	stopping = "stopping"
)

// CheckFunc returns the reason why the server cannot serve, or nil.
type CheckFunc func(ctx context.Context) error

// HealthCheckServer responds to probes from Start until Close. The zero value responds to none, and can be
// closed. It is safe for concurrent use.
type HealthCheckServer struct {
	state  atomic.Pointer[serverPhase]
	http   http.Server
	served sync.WaitGroup

	mu     sync.Mutex
	failed error // of the listeners
}

// serverPhase is the phase of the server. check is nil except in the phase in which requests are served.
type serverPhase struct {
	status string
	check  CheckFunc
}

// probeResponse is the body of a response to a health probe, in JSON.
type probeResponse struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Start starts to respond to probes on the listeners, which Close closes. It must be called once. The state
// is "starting" until Serving is called.
func (s *HealthCheckServer) Start(listeners []net.Listener) {
	s.state.Store(&serverPhase{status: starting})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /alive", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, probeResponse{Status: alive})
	})
	mux.HandleFunc("GET /ready", s.ready)
	mux.HandleFunc("GET /status", s.ready)
	s.http.Handler, s.http.MaxHeaderBytes = mux, maxHeader
	s.http.ReadTimeout, s.http.WriteTimeout = readTimeout, readTimeout+checkTimeout
	s.http.SetKeepAlivesEnabled(false) // a probe does not keep its connection open
	for _, ln := range listeners {
		s.served.Go(func() { s.serve(ln) })
	}
}

func (s *HealthCheckServer) serve(ln net.Listener) {
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = errors.Join(s.failed, err)
	}
}

// Serving sets the state to "ready": requests are served from now on. The server is ready as long as check
// returns nil; each call of check has five seconds.
func (s *HealthCheckServer) Serving(check CheckFunc) { s.state.Store(&serverPhase{ready, check}) }

// Stopping sets the state to "stopping": requests are no longer served.
func (s *HealthCheckServer) Stopping() { s.state.Store(&serverPhase{status: stopping}) }

// Close closes the listeners and all connections. If a listener has failed before, it returns that error.
func (s *HealthCheckServer) Close() error {
	err := s.http.Close()
	s.served.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, s.failed)
}

func (s *HealthCheckServer) ready(w http.ResponseWriter, r *http.Request) {
	state := s.state.Load()
	if state.check == nil {
		answer(w, http.StatusServiceUnavailable, probeResponse{Status: state.status})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	if err := state.check(ctx); err != nil {
		answer(w, http.StatusServiceUnavailable, probeResponse{failing, err.Error()})
		return
	}
	answer(w, http.StatusOK, probeResponse{Status: state.status})
}

func answer(w http.ResponseWriter, code int, body probeResponse) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that has disconnected needs no response
}
