package httpapi

import "github.com/mayflydb/mayfly/doc"

// leaseBody answers for a lease.
type leaseBody struct {
	ID         string `json:"id"`
	LeaseUntil int64  `json:"leaseUntil"` // seconds since 1970; the lease is not held any more in that one. 0: there is none
}

// takeLease is POST /_mayfly/dbs/{db}/colls/{coll}/lease: it suspends the expiry of an item, {"id",
// "partitionKey"?: [...], "seconds"}.
func (s *Server) takeLease(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	b, err := decodeLaboratory(c.req.Body, "id", "partitionKey", "seconds")
	if err != nil {
		return err
	}
	key, err := b.item()
	if err != nil {
		return err
	}
	if !b.given["seconds"] {
		return badRequest(leaseLengthText)
	}
	l, err := coll.Lease(c.ctx(), key.Partition, key.ID, b.seconds)
	if err != nil {
		return err
	}
	return c.sendJSON(leaseBody{key.ID, l.Until})
}

// releaseLease is DELETE on the same path: it ends the lease of an item, {"id", "partitionKey"?: [...]}.
func (s *Server) releaseLease(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	b, err := decodeLaboratory(c.req.Body, "id", "partitionKey")
	if err != nil {
		return err
	}
	key, err := b.item()
	if err != nil {
		return err
	}
	if err := coll.ReleaseLease(c.ctx(), key.Partition, key.ID); err != nil {
		return err
	}
	return c.sendJSON(leaseBody{ID: key.ID})
}

const leaseLengthText = "'seconds' must be a whole number: how long the lease is to be."

func decodeLength(v doc.Value) (seconds int, err error) {
	n := v.Num()
	if v.Kind() != doc.Number || n != float64(int32(n)) {
		return 0, badRequest(leaseLengthText)
	}
	return int(n), nil
}
