package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// snapshotBody is a snapshot on the wire.
type snapshotBody struct {
	Name      string    `json:"name"`
	Time      time.Time `json:"time"`
	Bytes     int64     `json:"bytes"`
	Databases []string  `json:"databases"`
}

// listSnapshots is GET /_mayfly/snapshots: {"snapshots": [{"name", "time", "bytes", "databases"}]}.
func (s *Server) listSnapshots(c *call) error {
	list, err := s.db.Snapshots(c.ctx())
	if err != nil {
		return err
	}
	bodies := make([]snapshotBody, len(list))
	for i, snapshot := range list {
		bodies[i] = snapshotJSON(snapshot)
	}
	return c.sendJSON(map[string]any{"snapshots": bodies})
}

func snapshotJSON(s store.Snapshot) snapshotBody {
	return snapshotBody{Name: s.Name, Time: s.Time, Bytes: s.Bytes, Databases: s.Databases}
}

// createSnapshot is POST /_mayfly/snapshots, {"name": "before"}: it keeps the present state of the whole
// store under a name.
func (s *Server) createSnapshot(c *call) error {
	in, err := decodeTexts(c.req.Body, "name")
	if err != nil {
		return err
	}
	if in["name"] == "" {
		return badRequest("The body must have a 'name'.")
	}
	snapshot, err := s.db.Snapshot(c.ctx(), in["name"])
	if err != nil {
		return err
	}
	return c.jsonOf(http.StatusCreated, snapshotJSON(snapshot))
}

// deleteSnapshot is DELETE /_mayfly/snapshots/{name}.
func (s *Server) deleteSnapshot(c *call) error {
	if err := s.db.DeleteSnapshot(c.ctx(), c.target.IDs[0]); err != nil {
		return err
	}
	return c.noContent(http.StatusNoContent)
}

// restoreSnapshot is POST /_mayfly/snapshots/{name}/restore: it puts the whole store back, or with
// {"database": "x"} that database alone, and answers with the names of the databases that there are now.
func (s *Server) restoreSnapshot(c *call) error {
	in, err := decodeTexts(c.req.Body, "database")
	if err != nil {
		return err
	}
	if database, one := in["database"]; one {
		_, err = s.db.RestoreDatabase(c.ctx(), c.target.IDs[0], database)
	} else {
		err = s.db.Restore(c.ctx(), c.target.IDs[0])
	}
	if err != nil {
		return err
	}
	names := []string{}
	for _, d := range s.db.Databases() {
		names = append(names, d.ID())
	}
	return c.sendJSON(map[string]any{"databases": names})
}

// forkSnapshot is POST /_mayfly/snapshots/{name}/fork, {"database": "x", "as": "y"}: it copies the database x
// of a snapshot into the store as y, and answers {"id": "y", "_rid": …}.
func (s *Server) forkSnapshot(c *call) error {
	in, err := decodeTexts(c.req.Body, "database", "as")
	if err != nil {
		return err
	}
	if in["database"] == "" || in["as"] == "" {
		return badRequest("The body must have 'database', the one to copy, and 'as', the name of the copy.")
	}
	d, err := s.db.ForkDatabase(c.ctx(), c.target.IDs[0], in["database"], in["as"])
	if err != nil {
		return err
	}
	return c.jsonOf(http.StatusCreated, map[string]any{"id": d.ID(), "_rid": d.RID()})
}

// decodeTexts reads a body whose members are all strings and among those that are known. No body is an empty
// one.
func decodeTexts(body []byte, known ...string) (map[string]string, error) {
	in := make(map[string]string, len(known))
	if len(body) == 0 {
		return in, nil
	}
	v, err := decodeObject(body)
	if err != nil {
		return nil, err
	}
	v.Each(func(name string, elem doc.Value) bool {
		switch {
		case !slices.Contains(known, name):
			err = badRequest("'" + name + "' is not known here.")
		case elem.Kind() != doc.String:
			err = badRequest("'" + name + "' must be a string.")
		default:
			in[name] = elem.Str()
		}
		return err == nil
	})
	return in, err
}

// jsonOf answers with a value as encoding/json writes it.
func (c *call) jsonOf(status int, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.json(status, raw)
}
