package laboratory

import (
	"context"
	"net/http"
)

// Health is the answer of a server that works.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

func (l *Laboratory) live(context.Context, *none) (Health, error) { return Health{"ok"}, nil }

// ready says that the store takes writes and gives them back.
func (l *Laboratory) ready(ctx context.Context, _ *none) (Health, error) {
	if l.opt.Ready != nil {
		if err := l.opt.Ready(ctx); err != nil {
			return Health{}, &Error{http.StatusServiceUnavailable, "The server is not ready: " + err.Error()}
		}
	}
	return Health{"ok"}, nil
}

// certificate is what clients have to trust.
func (l *Laboratory) certificate(context.Context, *none) (text, error) {
	if len(l.opt.CertPEM) == 0 {
		return text{}, notFound("This server has no certificate: it runs without TLS.")
	}
	return text{pemKind, l.opt.CertPEM}, nil
}
