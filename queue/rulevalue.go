package queue

import (
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// RuleValue is a value of AMQP as rules see it. What has no meaning to them is opaque.
func RuleValue(v any) rule.Value { return valueOf(v, encodeAny(v)) }

// WireValue is a value of a rule as AMQP has it.
func WireValue(v rule.Value) any {
	x, _, err := wire.Value(encodeValue(v, nil))
	if err != nil {
		return nil // an opaque one that is no value
	}
	return x
}
