package cosmos

import (
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// executeProcedure runs a stored procedure on the partition key of the header. The body is an array of its
// arguments.
func (s *Service) executeProcedure(c *call) error {
	p, err := s.resources(c)
	if err != nil {
		return err
	}
	id := c.req.Address.Leaf()
	if !store.IsSystemProcedure(id) {
		res, err := p.named(id)
		if err != nil {
			return err
		}
		id = res.ID
	}
	args, err := decodeArguments(c.req.Body)
	if err != nil {
		return err
	}
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	done, r, err := coll.Execute(c.ctx, c.in.PartitionKey, id, args,
		store.ExecuteOptions{Logging: c.in.ScriptLog, Session: c.in.Session})
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	if c.in.ScriptLog {
		c.out.Logged, c.out.ScriptLog = true, escapeLog(done.Log)
	}
	if done.Body == nil {
		done.Body = []byte(`""`)
	}
	return c.json(StatusOK, done.Body)
}

// decodeArguments reads the body of an execution; none is no arguments.
func decodeArguments(body []byte) (args []doc.Value, err error) {
	if len(body) == 0 {
		return nil, nil
	}
	text, err := doc.Compact(body, doc.Limits{})
	if err != nil {
		return nil, BadRequest("The input content is invalid: " + err.Error())
	}
	list := doc.Of(text)
	if list.Kind() != doc.Array {
		return nil, BadRequest("The arguments of a stored procedure must be a JSON array.")
	}
	list.Each(func(_ string, v doc.Value) bool {
		args = append(args, v)
		return true
	})
	return args, nil
}

// escapeLog writes what a script logged as JavaScript's encodeURIComponent does, so that it can stand in a
// header.
func escapeLog(text string) string {
	return string(appendPercent(nil, []byte(text), "!'()*"))
}

// appendPercent appends a text whose bytes are percent-encoded, but for letters, digits, -._~ and those of
// plain.
func appendPercent(dst, text []byte, plain string) []byte {
	for _, b := range text {
		letter := b | 0x20
		if 'a' <= letter && letter <= 'z' || '0' <= b && b <= '9' || strings.IndexByte("-._~", b) >= 0 ||
			strings.IndexByte(plain, b) >= 0 {
			dst = append(dst, b)
			continue
		}
		dst = append(dst, '%', "0123456789ABCDEF"[b>>4], "0123456789ABCDEF"[b&15])
	}
	return dst
}
