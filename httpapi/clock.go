package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// getClock tells the clock of the server: {"now": RFC 3339, "frozen": bool, "rate": n, "virtual": bool}.
func (s *Server) getClock(c *call) error {
	return c.json(http.StatusOK, append(s.appendClock(nil, s.db.Now(), s.db.Clock()), '}'))
}

// appendClock appends what a clock shows, without the closing brace.
func (s *Server) appendClock(b []byte, now time.Time, state ttl.State) []byte {
	b = now.UTC().AppendFormat(append(b, `{"now":"`...), time.RFC3339Nano)
	b = strconv.AppendBool(append(b, `","frozen":`...), state.Rate == 0)
	b = strconv.AppendFloat(append(b, `,"rate":`...), state.Rate, 'f', -1, 64)
	return strconv.AppendBool(append(b, `,"virtual":`...), s.db.VirtualClock())
}

// setClock moves the server's virtual clock by a JSON object with one or several of
//
//	"real": true             back to the system's time
//	"set": moment            to a moment, as RFC 3339 writes it or in seconds since 1970
//	"advance": "90s"         on by a duration, which may begin with days: "29d", "1d12h"
//	"rate": 60               to that many times the speed of the system's clock
//	"freeze": true or false  to a stop, or on from where it stands
//
// which apply in this order. It answers as getClock does; with ?settle=true when all that has expired by then
// is purged and its expiry can be read from the container's events. Webhooks are delivered in their own time.
func (s *Server) setClock(c *call) error {
	change, err := decodeClockChange(c.req.Body)
	if err != nil {
		return err
	}
	settle, err := c.wantsSettled()
	if err != nil {
		return err
	}
	if _, err := s.db.SetClock(c.ctx(), change); err != nil {
		return err
	}
	if err := s.settleClock(c, settle); err != nil {
		return err
	}
	return s.getClock(c)
}

// wantsSettled reads the query string of a change of a clock: "settle" alone.
func (c *call) wantsSettled() (settle bool, err error) {
	for name, values := range c.r.URL.Query() {
		if name != "settle" || len(values) != 1 {
			return false, badRequest("The query string '" + c.r.URL.RawQuery + "' is not known: a clock takes 'settle=true'.")
		}
		if settle, err = strconv.ParseBool(values[0]); err != nil {
			return false, badRequest("'settle' must be true or false.")
		}
	}
	return settle, nil
}

func (s *Server) settleClock(c *call, settle bool) error {
	if !settle {
		return nil
	}
	_, err := s.db.SweepNow(c.ctx())
	return err
}

// getDatabaseClock tells the clock of a database as getClock does, and by "own" whether it is the database's
// own; else the database follows the server's.
func (s *Server) getDatabaseClock(c *call) error {
	d, err := s.database(c)
	if err != nil {
		return err
	}
	state, own := d.Clock()
	b := s.appendClock(nil, d.Now(), state)
	return c.json(http.StatusOK, append(strconv.AppendBool(append(b, `,"own":`...), own), '}'))
}

// setDatabaseClock moves the clock of a database as setClock does the server's. The first time gives the
// database a clock of its own.
func (s *Server) setDatabaseClock(c *call) error {
	change, err := decodeClockChange(c.req.Body)
	if err != nil {
		return err
	}
	return s.changeDatabaseClock(c, func(d *store.Database) error {
		_, err := d.SetClock(c.ctx(), change)
		return err
	})
}

// followClock takes its own clock from a database: it follows the server's again.
func (s *Server) followClock(c *call) error {
	return s.changeDatabaseClock(c, func(d *store.Database) error { return d.FollowClock(c.ctx()) })
}

func (s *Server) changeDatabaseClock(c *call, change func(*store.Database) error) error {
	d, err := s.database(c)
	if err != nil {
		return err
	}
	settle, err := c.wantsSettled()
	if err != nil {
		return err
	}
	if err := change(d); err != nil {
		return err
	}
	if err := s.settleClock(c, settle); err != nil {
		return err
	}
	return s.getDatabaseClock(c)
}

func decodeClockChange(body []byte) (change store.ClockChange, err error) {
	v, err := decodeObject(body)
	if err != nil {
		return change, err
	}
	members := 0
	v.Each(func(key string, elem doc.Value) bool {
		members++
		err = decodeClockMember(&change, key, elem)
		return err == nil
	})
	if err == nil && members == 0 {
		err = badRequest("The body must say what to change: " + clockMembers + ".")
	}
	return change, err
}

const clockMembers = "'real', 'set', 'advance', 'rate' or 'freeze'"

func decodeClockMember(change *store.ClockChange, key string, v doc.Value) error {
	switch key {
	case "real":
		if v.Kind() != doc.Bool || !v.Bool() {
			return badRequest("'real' must be true.")
		}
		change.Real = true
	case "freeze":
		if v.Kind() != doc.Bool {
			return badRequest("'freeze' must be true or false.")
		}
		freeze := v.Bool()
		change.Freeze = &freeze
	case "set":
		at, ok := decodeMoment(v)
		if !ok {
			return badRequest("'set' must be a moment as RFC 3339 writes it, such as \"2030-01-01T00:00:00Z\", or in seconds since 1970.")
		}
		change.Set = &at
	case "advance":
		d, err := ttl.ParseDuration(v.Str())
		if err != nil {
			return badRequest("'advance' must be a duration such as \"90s\", \"24h\" or \"30d\".")
		}
		change.Advance = &d
	case "rate":
		if v.Kind() != doc.Number {
			return badRequest("'rate' must be a number.")
		}
		rate := v.Num()
		change.Rate = &rate
	default:
		return badRequest("'" + key + "' is not known: the clock takes " + clockMembers + ".")
	}
	return nil
}

// decodeMoment reads a moment: RFC 3339, or whole seconds since 1970.
func decodeMoment(v doc.Value) (at time.Time, ok bool) {
	if v.Kind() != doc.Number {
		at, err := time.Parse(time.RFC3339, v.Str())
		return at, err == nil
	}
	n := v.Num()
	if n != math.Trunc(n) || math.Abs(n) > 1e12 {
		return at, false
	}
	return time.Unix(int64(n), 0).UTC(), true
}
