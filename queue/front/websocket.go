package front

import (
	"context"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// webSocketPath is the path of AMQP over WebSocket.
const webSocketPath = "/$servicebus/websocket"

// webSocketProtocols returns the supported subprotocols. The one that the client requests is selected.
func webSocketProtocols() []string { return []string{"AMQPWSB10", "amqp"} }

// serveHTTP serves a request, or AMQP over its WebSocket. Admit decides which origins may connect. Without
// Admit only pages of the server's own origin can open a WebSocket.
func (s *MultiProtocolServer) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.work.Done()
	if s.o.Admit != nil && !s.o.Admit(r) {
		http.Error(w, "This server is not known by that name, or not open to that page.",
			http.StatusForbidden)
		return
	}
	if !strings.EqualFold(strings.TrimSuffix(r.URL.Path, "/"), webSocketPath) {
		s.o.HTTP.ServeHTTP(w, r)
		return
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: webSocketProtocols(),
		CompressionMode: websocket.CompressionDisabled, InsecureSkipVerify: s.o.Admit != nil})
	if err != nil {
		return // Accept has sent the error
	}
	// AMQP sends its close after s.life has ended, so the WebSocket must remain open after the end of
	// s.life.
	always := context.WithoutCancel(s.life)
	idle := func(bool) {}
	if own, ok := r.Context().Value(connContextKey{}).(*httpConn); ok {
		idle = own.place.setIdle
		idle(true) // idle until AMQP reports otherwise
	}
	if err := s.o.AMQP(s.life, websocket.NetConn(always, c, websocket.MessageBinary), idle); err != nil {
		s.o.Logger.Error("an AMQP connection failed", "error", err)
	}
}
