package laboratory

import (
	"context"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

// Health is the response of a healthy server.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

func (l *Laboratory) live(context.Context, *route.NoBody) (Health, error) { return Health{"ok"}, nil }

// ready responds that the server is healthy if Options.Ready returns no error, and otherwise with 503.
func (l *Laboratory) ready(ctx context.Context, _ *route.NoBody) (Health, error) {
	if l.opt.Ready != nil {
		if err := l.opt.Ready(ctx); err != nil {
			return Health{}, route.Unavailable("The server is not ready: " + err.Error())
		}
	}
	return Health{"ok"}, nil
}

// certificate responds with the certificate that clients must trust, as PEM text.
func (l *Laboratory) certificate(context.Context, *route.NoBody) (route.TextResponse, error) {
	if len(l.opt.CertPEM) == 0 {
		return route.TextResponse{}, route.NotFound("This server has no certificate: it runs without TLS.")
	}
	return route.TextResponse{Kind: pemKind, Body: l.opt.CertPEM}, nil
}

func (l *Laboratory) connection(context.Context, *route.NoBody) (ConnectionInfo, error) {
	if l.opt.Connection == nil {
		return ConnectionInfo{Ports: []int{}}, nil
	}
	return *l.opt.Connection, nil
}
