package front

import (
	"context"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// webSocketPath is where AMQP is answered in a WebSocket.
const webSocketPath = "/$servicebus/websocket"

// webSocketProtocols are what clients ask for; the one that they have asked for is answered.
func webSocketProtocols() []string { return []string{"AMQPWSB10", "amqp"} }

// serveHTTP answers a request, or goes on as AMQP. Which pages of other origins can do so Admit has decided;
// without one only those of the server's own can.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
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
		return // the client has been told
	}
	// The connection outlives s.life by its farewell; who serves it closes it.
	always := context.WithoutCancel(s.life)
	idle := func(bool) {}
	if own, ok := r.Context().Value(connKey{}).(*handedConn); ok {
		idle = own.place.setIdle
		idle(true) // until its client has a link
	}
	if err := s.o.AMQP(s.life, websocket.NetConn(always, c, websocket.MessageBinary), idle); err != nil {
		s.o.Logger.Error("a connection of AMQP failed", "error", err)
	}
}
