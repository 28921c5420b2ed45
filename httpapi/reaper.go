package httpapi

import (
	"math"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// ReaperState is the answer of GET and PUT .../reaper. Delay and Starved are null where nothing of the kind
// holds purges back.
type ReaperState struct {
	Paused    bool              `json:"paused"`
	AllPaused bool              `json:"allPaused"` // the reapers of all containers are
	Delay     *store.PurgeDelay `json:"delay"`
	Starved   *store.Starvation `json:"starved"`
	Purged    uint64            `json:"purged"`  // since the start
	Backlog   int64             `json:"backlog"` // expired, not purged
	Oldest    int64             `json:"oldest"`  // seconds since the oldest of these expired
}

// Purged is the answer of a run or a step of the reaper.
type Purged struct {
	Purged int `json:"purged"`
}

// getReaper is GET /_mayfly/dbs/{db}/colls/{coll}/reaper: how the container's reaper stands.
func (s *Server) getReaper(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	return c.sendReaper(coll)
}

func (c *call) sendReaper(coll *store.Container) error {
	r, err := coll.Reaper(c.ctx())
	if err != nil {
		return err
	}
	return c.sendJSON(ReaperState{Paused: r.Paused, AllPaused: r.AllPaused, Delay: r.Settings.Delay, Starved: r.Settings.Starved,
		Purged: r.Purged, Backlog: r.Backlog.Items, Oldest: r.Backlog.Oldest})
}

// reaperChange is the body of PUT .../reaper; members that it does not have are nil.
type reaperChange struct {
	paused         *bool
	settings       store.ReaperSettings
	delay, starved bool // settings has it
}

// setReaper is PUT on the same path: {"paused"?: true, "delay"?: {"seconds": 30} | {"min", "max", "seed"?} |
// null, "starved"?: {"perSecond": 5} | null}. Members that are left out stay as they are. It answers as
// getReaper does.
func (s *Server) setReaper(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	change, err := decodeReaper(c.req.Body)
	if err != nil {
		return err
	}
	if change.delay || change.starved {
		if _, err := coll.ChangeSettings(c.ctx(), change.apply); err != nil {
			return err
		}
	}
	if change.paused != nil {
		if err := coll.PauseReaper(c.ctx(), *change.paused); err != nil {
			return err
		}
	}
	return c.sendReaper(coll)
}

func (r *reaperChange) apply(s *store.ContainerSettings) error {
	next := store.ReaperSettings{}
	if s.Reaper != nil {
		next = *s.Reaper
	}
	if r.delay {
		next.Delay = r.settings.Delay
	}
	if r.starved {
		next.Starved = r.settings.Starved
	}
	if s.Reaper = &next; next == (store.ReaperSettings{}) {
		s.Reaper = nil
	}
	return nil
}

func decodeReaper(body []byte) (r reaperChange, err error) {
	v, err := decodeObject(body)
	if err != nil {
		return r, err
	}
	v.Each(func(name string, elem doc.Value) bool {
		switch name {
		case "paused":
			var paused bool
			paused, err = decodeSetting[bool](name, elem, doc.Bool)
			r.paused = &paused
		case "delay":
			r.delay = true
			r.settings.Delay, err = decodeSetting[*store.PurgeDelay](name, elem, doc.Object)
		case "starved":
			r.starved = true
			r.settings.Starved, err = decodeSetting[*store.Starvation](name, elem, doc.Object)
		default:
			err = badRequest("'" + name + "' is not known: a reaper takes 'paused', 'delay' and 'starved'.")
		}
		return err == nil
	})
	return r, err
}

// runReaper is POST .../reaper/run: everything that has expired in the container is purged now, whatever
// holds its reaper back.
func (s *Server) runReaper(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	return c.sendPurged(coll.Reap(c.ctx(), 0))
}

// stepReaper is POST .../reaper/step {"items"?: 1}: as many are purged.
func (s *Server) stepReaper(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	items := int64(1)
	if len(c.req.Body) > 0 {
		v, err := decodeObject(c.req.Body)
		if err != nil {
			return err
		}
		v.Each(func(name string, elem doc.Value) bool {
			if name != "items" {
				err = badRequest("'" + name + "' is not known: a step takes 'items'.")
				return false
			}
			items, err = whole(name, elem, 1, math.MaxInt32)
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return c.sendPurged(coll.Reap(c.ctx(), int(items)))
}

func (c *call) sendPurged(n int, err error) error {
	if err != nil {
		return err
	}
	return c.sendJSON(Purged{n})
}

// allReapers is the answer of GET and PUT /_mayfly/reaper.
type allReapers struct {
	Paused bool `json:"paused"`
}

// getReapers is GET /_mayfly/reaper: whether the reapers of all containers are paused.
func (s *Server) getReapers(c *call) error { return c.sendJSON(allReapers{s.db.ReaperPaused()}) }

// setReapers is PUT on the same path: {"paused": true}.
func (s *Server) setReapers(c *call) error {
	v, err := decodeObject(c.req.Body)
	if err != nil {
		return err
	}
	var paused *bool
	v.Each(func(name string, elem doc.Value) bool {
		if name != "paused" || elem.Kind() != doc.Bool {
			err = badRequest("The body must be {\"paused\": true} or {\"paused\": false}.")
			return false
		}
		b := elem.Bool()
		paused = &b
		return true
	})
	if err == nil && paused == nil {
		err = badRequest("The body must have 'paused'.")
	}
	if err != nil {
		return err
	}
	if err := s.db.PauseReaper(c.ctx(), *paused); err != nil {
		return err
	}
	return s.getReapers(c)
}

// runReapers is POST /_mayfly/reaper/run: everything that has expired is purged now, in all containers.
func (s *Server) runReapers(c *call) error { return c.sendPurged(s.db.Reap(c.ctx())) }
