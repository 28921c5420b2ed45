package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// executeProcedure runs a stored procedure on the partition key of the header. The body is an array of its
// arguments.
func (s *Server) executeProcedure(c *call) error {
	p, err := s.resources(c)
	if err != nil {
		return err
	}
	id := c.target.leaf()
	if !store.IsSystemProcedure(id) {
		res, err := p.named(id)
		if err != nil {
			return err
		}
		id = res.ID
	}
	args, err := decodeArguments(c.body)
	if err != nil {
		return err
	}
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	done, r, err := coll.Execute(c.ctx(), c.in.partitionKey, id, args,
		store.ExecuteOptions{Logging: c.in.scriptLog, Session: c.in.session})
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	if c.in.scriptLog {
		c.set("x-ms-documentdb-script-log-results", escapeLog(done.Log))
	}
	if done.Body == nil {
		done.Body = []byte(`""`)
	}
	return c.json(http.StatusOK, done.Body)
}

// decodeArguments reads the body of an execution; none is no arguments.
func decodeArguments(body []byte) (args []doc.Value, err error) {
	if len(body) == 0 {
		return nil, nil
	}
	text, err := doc.Compact(body, doc.Limits{})
	if err != nil {
		return nil, badRequest("The input content is invalid: " + err.Error())
	}
	list := doc.Of(text)
	if list.Kind() != doc.Array {
		return nil, badRequest("The arguments of a stored procedure must be a JSON array.")
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
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(text))
}

// parseList reads names that are separated by commas.
func parseList(value string) (names []string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
