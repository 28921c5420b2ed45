package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// leaseBody answers for a lease.
type leaseBody struct {
	ID         string `json:"id"`
	LeaseUntil int64  `json:"leaseUntil"` // seconds since 1970; the lease is not held any more in that one. 0: there is none
}

// takeLease is POST /_mayfly/dbs/{db}/colls/{coll}/lease: it suspends the expiry of an item, {"id", "partitionKey"?: [...], "seconds"}.
func (s *Server) takeLease(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	r, err := decodeLease(c.body, true)
	if err != nil {
		return err
	}
	l, err := coll.Lease(c.ctx(), r.key, r.id, r.seconds)
	if err != nil {
		return err
	}
	return c.sendLease(r.id, l)
}

func (c *call) sendLease(id string, l store.Lease) error {
	body, err := json.Marshal(leaseBody{id, l.Until})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, body)
}

// releaseLease is DELETE on the same path: it ends the lease of an item, {"id", "partitionKey"?: [...]}.
func (s *Server) releaseLease(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	r, err := decodeLease(c.body, false)
	if err != nil {
		return err
	}
	if err := coll.ReleaseLease(c.ctx(), r.key, r.id); err != nil {
		return err
	}
	return c.sendLease(r.id, store.Lease{})
}

// leaseRequest is what a lease is asked for.
type leaseRequest struct {
	id      string
	key     store.PartitionKey
	seconds int
}

// decodeLease reads a request; timed says that it needs 'seconds', else it must not have any.
func decodeLease(body []byte, timed bool) (r leaseRequest, err error) {
	v, err := decodeObject(body)
	if err != nil {
		return r, err
	}
	if r.id, err = decodeText(v, "id"); err != nil {
		return r, err
	}
	if timed {
		if r.seconds, err = decodeLength(v.Member("seconds")); err != nil {
			return r, err
		}
	}
	v.Each(func(name string, elem doc.Value) bool {
		switch {
		case name == "id", name == "seconds" && timed:
		case name == "partitionKey":
			r.key, err = store.ParsePartitionKey(elem.Raw())
		default:
			err = badRequest("'" + name + "' is not known here: a lease is given by 'id', 'partitionKey' and 'seconds', and ended by the first two.")
		}
		return err == nil
	})
	return r, err
}

func decodeLength(v doc.Value) (seconds int, err error) {
	n := v.Num()
	if v.Kind() != doc.Number || n != float64(int32(n)) {
		return 0, badRequest("'seconds' must be a whole number: how long the lease is to be.")
	}
	return int(n), nil
}
