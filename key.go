package mayfly

import (
	"encoding/json"
	"fmt"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
)

// PartitionKey is the partition key of a document: what it has at the paths that the container is partitioned
// by. A string, a bool, any number and nil (JSON's null) stand for themselves. A container with several paths
// takes a Levels.
type PartitionKey = any

// Levels is a partition key of several levels, the outermost first: Levels{"contoso", "ada"}. With fewer
// levels than the container has it names all partitions below, where a query or a list takes it.
type Levels []any

// Missing is the partition key of documents that have nothing at the container's path.
type Missing struct{}

// partitionKey turns a key into the store's.
func partitionKey(k PartitionKey) (definition.PartitionKey, error) {
	levels, several := k.(Levels)
	if !several {
		levels = Levels{k}
	}
	values := make([]jsondoc.Value, len(levels))
	for i, level := range levels {
		switch v := level.(type) {
		case string:
			values[i] = jsondoc.StringValue(v)
		case Missing:
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
