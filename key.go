package mayfly

import (
	"encoding/json"
	"fmt"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
)

// PartitionKey is the partition key of a document, which is its value at the path by which the container is
// partitioned: a string, a bool, a number, or nil for JSON's null. If the document has no such value, it is
// NonePartitionKey. If the container is partitioned by several paths, it is a HierarchicalKey.
type PartitionKey = any

// HierarchicalKey is a hierarchical partition key, the outermost level first: HierarchicalKey{"contoso",
// "ada"}. In a query, a list or a feed it can have fewer levels than the container. It then stands for all
// partition keys that begin with these levels.
type HierarchicalKey []any

// NonePartitionKey is the partition key of documents that have no value at the container's path.
type NonePartitionKey struct{}

// partitionKey converts a key to the store's type.
func partitionKey(k PartitionKey) (definition.PartitionKey, error) {
	levels, several := k.(HierarchicalKey)
	if !several {
		levels = HierarchicalKey{k}
	}
	values := make([]jsondoc.Value, len(levels))
	for i, level := range levels {
		switch v := level.(type) {
		case string:
			values[i] = jsondoc.StringValue(v)
		case NonePartitionKey:
			values[i] = jsondoc.Value{}
		case bool:
			values[i] = jsondoc.BoolValue(v)
		case nil:
			values[i] = jsondoc.NullValue()
		case jsondoc.Value:
			if k := v.Kind(); k == jsondoc.Object || k == jsondoc.Array {
				return definition.PartitionKey{}, notAKey("an object or an array", nil)
			}
			values[i] = v
		default:
			text, err := json.Marshal(level)
			if err != nil || text[0] == '{' || text[0] == '[' {
				return definition.PartitionKey{}, notAKey(fmt.Sprintf("a %T", level), err)
			}
			values[i] = jsondoc.Of(text)
		}
	}
	return definition.NewPartitionKey(values...), nil
}

func notAKey(what string, cause error) error {
	return badRequest(what+" cannot be a partition key", cause)
}
