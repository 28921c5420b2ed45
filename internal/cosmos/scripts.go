package cosmos

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// executeProcedure runs a stored procedure in the partition key that the header names. The body is an array
// with the arguments.
func (s *Service) executeProcedure(c *requestInProgress) error {
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
		store.ProcedureExecutionOptions{Logging: c.in.ScriptLog, Range: c.in.RangeID, Session: c.in.Session})
	c.setReceiptOf(r)
	if c.in.ScriptLog { // also if the script throws
		c.out.Logged, c.out.ScriptLog = true, escapeLog(done.Log)
	}
	if err != nil {
		return err
	}
	if done.Body == nil {
		done.Body = []byte(`""`)
	}
	return c.json(StatusOK, done.Body)
}

// decodeArguments parses the arguments of an execution; an empty body means no arguments. A value that is
// not an array is treated as by JavaScript's Function.prototype.apply: an object has as many arguments as
// its member length says.
func decodeArguments(body []byte) (args []jsondoc.Value, err error) {
	if len(body) == 0 {
		return nil, nil
	}
	text, err := jsondoc.Compact(body, jsondoc.Limits{})
	if err != nil {
		return nil, BadRequest("The input content is invalid: " + err.Error())
	}
	list := jsondoc.Of(text)
	switch list.Kind() {
	case jsondoc.Null:
		return nil, nil
	case jsondoc.Object:
		return argumentsOf(list)
	case jsondoc.Array:
		list.Each(func(_ string, v jsondoc.Value) bool {
			args = append(args, v)
			return true
		})
		return args, nil
	}
	return nil, BadRequest("The arguments of a stored procedure must be a JSON array.")
}

// maxArguments is the maximum number of arguments of a stored procedure if a client sends them not as an
// array but as an object with the members "length", "0", "1" and so on.
const maxArguments = 1 << 16

// argumentsOf returns the values of the members "0", "1" and so on of an object, as many as its member
// "length" says; a missing one is undefined. The length is converted to an integer as in JavaScript.
func argumentsOf(list jsondoc.Value) ([]jsondoc.Value, error) {
	length := list.Member("length")
	n := length.Num()
	if length.Kind() == jsondoc.String {
		n, _ = strconv.ParseFloat(strings.TrimSpace(length.Str()), 64) // 0 if it is not a number
	}
	if length.Kind() == jsondoc.Bool && length.Bool() {
		n = 1
	}
	if !(n >= 1) { // false for NaN, too
		return nil, nil
	}
	if n > maxArguments {
		return nil, BadRequest("A stored procedure cannot have as many arguments.")
	}
	args := make([]jsondoc.Value, int(n))
	for i := range args {
		args[i] = list.Member(strconv.Itoa(i))
	}
	return args, nil
}

// escapeLog encodes the log of a script for a header, like JavaScript's encodeURIComponent.
func escapeLog(text string) string {
	return string(appendPercent(nil, []byte(text), "!'()*"))
}

// appendPercent appends the text with percent escapes, except for letters, digits, -._~ and the characters
// in plain.
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
