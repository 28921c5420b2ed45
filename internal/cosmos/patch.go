package cosmos

import (
	"errors"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// patchItem changes parts of an item.
func (s *Service) patchItem(c *requestInProgress) error {
	coll, key, err := s.item(c)
	if err != nil {
		return err
	}
	patch, err := parsePatch(c.req.Body)
	if err != nil {
		return err
	}
	it, r, err := coll.Patch(c.ctx, key.Partition, key.ID, patch, c.in.writeOptions())
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	return c.sendItem(coll, StatusOK, it, c.in.Minimal)
}

// patchDepth is the number of JSON levels that a patch adds around a value.
const patchDepth = 3

// parsePatch parses a patch: {"condition":"FROM c WHERE ...","operations":[...]}, in which the condition is
// optional, or only the array of operations.
func parsePatch(body []byte) (store.Patch, error) {
	text, err := jsondoc.Compact(body, jsondoc.Limits{MaxDepth: jsondoc.DefaultMaxDepth + patchDepth})
	if err != nil {
		var size *jsondoc.SizeError
		if errors.As(err, &size) {
			return store.Patch{}, Failure(StatusTooLarge, 0, tooLargeText)
		}
		return store.Patch{}, malformed(err)
	}
	var p store.Patch
	operations := jsondoc.Of(text)
	if operations.Kind() == jsondoc.Object {
		switch condition := operations.Member("condition"); condition.Kind() {
		case jsondoc.Undefined, jsondoc.Null:
		case jsondoc.String:
			p.Condition = condition.Str()
		default:
			return store.Patch{}, BadRequest("The condition of a patch must be a string, not " +
				condition.Kind().String() + ".")
		}
		operations = operations.Member("operations")
	}
	if p.Operations, err = jsondoc.ParsePatch(operations.Raw()); err != nil {
		return store.Patch{}, malformed(err)
	}
	return p, nil
}
