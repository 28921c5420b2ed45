package laboratory

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

// ServerList lists the running servers that have the same data open.
type ServerList struct {
	Servers []RunningServer `json:"servers" nullable:"false" description:"Servers, the oldest first."`
}

// RunningServer describes a running server.
type RunningServer struct {
	Name     string   `json:"name" description:"Host name of the server's machine."`
	Address  string   `json:"address" description:"Endpoint of the server for clients."`
	Version  string   `json:"version" description:"Version of the server's binary."`
	Started  string   `json:"started" format:"date-time" description:"Start of the server, in real time."`
	LastSeen string   `json:"lastSeen" format:"date-time" description:"Last sign of life; a server counts as stopped 10 s later."`
	Leases   []string `json:"leases" nullable:"false" description:"Tasks that it does for all servers."`
	Self     bool     `json:"self" description:"Whether this server sent the response."`
	ID       string   `json:"id,omitempty" description:"Random id; absent: the data has only one server."`
}

func (l *Laboratory) listServers(ctx context.Context, _ *route.NoBody) (ServerList, error) {
	list, err := l.db.Servers(ctx)
	out := ServerList{Servers: []RunningServer{}}
	for _, s := range list {
		out.Servers = append(out.Servers, RunningServer{Name: s.Name, Address: s.Address, Version: s.Version,
			Started: s.Since.Format(time.RFC3339), LastSeen: s.Seen.Format(time.RFC3339),
			Leases: append([]string{}, s.Leases...), Self: s.Self, ID: s.ID})
	}
	return out, err
}
