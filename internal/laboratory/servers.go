package laboratory

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

// Servers lists the running servers that have the same data open.
type Servers struct {
	Servers []Server `json:"servers" nullable:"false" description:"Servers, the oldest first."`
}

// Server describes a running server.
type Server struct {
	Name     string   `json:"name" description:"Host name of the server's machine."`
	Address  string   `json:"address" description:"Endpoint of the server for clients."`
	Version  string   `json:"version" description:"Version of the server's binary."`
	Started  string   `json:"started" format:"date-time" description:"Start of the server, in real time."`
	LastSeen string   `json:"lastSeen" format:"date-time" description:"Last sign of life; a server counts as stopped 10 s later."`
	Leases   []string `json:"leases" nullable:"false" description:"Tasks that it does for all servers."`
	Self     bool     `json:"self" description:"Whether this server sent the response."`
	ID       string   `json:"id,omitempty" description:"Random id; absent: the data has only one server."`
}

func (l *Laboratory) listServers(ctx context.Context, _ *route.NoBody) (Servers, error) {
	list, err := l.db.Servers(ctx)
	out := Servers{Servers: []Server{}}
	for _, s := range list {
		out.Servers = append(out.Servers, Server{Name: s.Name, Address: s.Address, Version: s.Version,
			Started: s.Since.Format(time.RFC3339), LastSeen: s.Seen.Format(time.RFC3339),
			Leases: append([]string{}, s.Leases...), Self: s.Self, ID: s.ID})
	}
	return out, err
}
