package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// getClock tells the data clock: {"now": RFC 3339, "frozen": bool, "rate": n, "virtual": bool}.
func (s *Server) getClock(c *call) error {
	state := s.db.Clock()
	b := append(make([]byte, 0, 128), `{"now":"`...)
	b = s.db.Now().UTC().AppendFormat(b, time.RFC3339Nano)
	b = strconv.AppendBool(append(b, `","frozen":`...), state.Rate == 0)
	b = strconv.AppendFloat(append(b, `,"rate":`...), state.Rate, 'f', -1, 64)
	b = strconv.AppendBool(append(b, `,"virtual":`...), s.db.VirtualClock())
	return c.json(http.StatusOK, append(b, '}'))
}

// setClock moves a virtual clock: {"freeze": true}, {"set": "2030-01-01T00:00:00Z"}, {"advance": "90s"}, or
// several of them. It answers as getClock does.
func (s *Server) setClock(c *call) error {
	change, err := decodeClockChange(c.body)
	if err != nil {
		return err
	}
	if _, err := s.db.SetClock(c.ctx(), change); err != nil {
		return err
	}
	return s.getClock(c)
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
		err = badRequest("The body must say what to change: 'freeze', 'set' or 'advance'.")
	}
	return change, err
}

func decodeClockMember(change *store.ClockChange, key string, v doc.Value) error {
	switch key {
	case "freeze":
		if v.Kind() != doc.Bool {
			return badRequest("'freeze' must be true or false.")
		}
		freeze := v.Bool()
		change.Freeze = &freeze
	case "set":
		at, err := time.Parse(time.RFC3339, v.Str())
		if err != nil {
			return badRequest("'set' must be a moment as RFC 3339 writes it, such as \"2030-01-01T00:00:00Z\".")
		}
		change.Set = &at
	case "advance":
		d, err := time.ParseDuration(v.Str())
		if err != nil {
			return badRequest("'advance' must be a duration such as \"90s\" or \"24h\".")
		}
		change.Advance = &d
	default:
		return badRequest("'" + key + "' is not known: the clock takes 'freeze', 'set' and 'advance'.")
	}
	return nil
}
