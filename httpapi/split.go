package httpapi

import (
	"github.com/mayflydb/mayfly/cosmos"
	"github.com/mayflydb/mayfly/doc"
)

// splitRange is POST /_mayfly/dbs/{db}/colls/{coll}/split: it divides a partition range in two, {"range":
// "0", "at"?: "1FFF..."}, and answers with the two ranges that it has become, as a list of partition key
// ranges does. Without "at", which is an effective partition key, half of the documents go either way.
func (s *Server) splitRange(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	id, at, err := decodeSplit(c.req.Body)
	if err != nil {
		return err
	}
	halves, err := coll.Split(c.ctx(), id, at)
	if err != nil {
		return err
	}
	if err := s.ops.RangeList(c.ctx(), &c.req, &c.ans, coll, halves); err != nil {
		return err
	}
	return c.json(c.ans.Status, c.ans.Body)
}

func decodeSplit(body []byte) (id, at string, err error) {
	v, err := decodeObject(body)
	if err != nil {
		return "", "", err
	}
	if id, err = decodeText(v, "range"); err != nil {
		return "", "", err
	}
	v.Each(func(name string, elem doc.Value) bool {
		switch {
		case name == "range":
		case name != "at":
			err = badRequest("'" + name + "' is not known: a split takes 'range' and 'at'.")
		case elem.Kind() != doc.String:
			err = badRequest("'at' must be a string: an effective partition key in hexadecimal.")
		default:
			at, err = cosmos.ParseEPK("at", elem.Str())
		}
		return err == nil
	})
	return id, at, err
}
