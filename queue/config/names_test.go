package config

import (
	"testing"

	"github.com/mayflydb/mayfly/queue/entity"
)

// TestNames checks that a file can have the entity names that messaging frameworks generate, and the rule
// $Default in any case.
func TestNames(t *testing.T) {
	ctx, q := open(t)
	for range 2 { // a second start finds them
		if err := apply(t, ctx, q, `{"UserConfig": {"Namespaces": [{"Name": "sbemulatorns",
			"Queues": [{"Name": "wolverine.tests.bugs.batcheditem__"}, {"Name": "txt/.-_123"}],
			"Topics": [{"Name": "Bus/Fault--Shop.Contracts/Placed--", "Subscriptions": [
				{"Name": "batcheditem__", "Rules": [{"Name": "$default",
					"Properties": {"FilterType": "True"}}]}]}]}]}}`); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"wolverine.tests.bugs.batcheditem__", "txt/.-_123",
		"Bus/Fault--Shop.Contracts/Placed--",
		"Bus/Fault--Shop.Contracts/Placed--/Subscriptions/batcheditem__"} {
		if e, err := q.Get(ctx, path); err != nil || e.Path != path {
			t.Errorf("%s is %q, %v", path, e.Path, err)
		}
	}
	rules, err := q.Rules(ctx, "bus/fault--shop.contracts/placed--/subscriptions/batcheditem__", 0, 10)
	if err != nil || len(rules) != 1 || rules[0].Name != "$default" {
		t.Errorf("the rules are %v, %v", rules, err)
	}
	err = apply(t, ctx, q, `{"UserConfig": {"Namespaces": [{"Queues": [{"Name": "a~b"}]}]}}`)
	if entity.ErrorCodeOf(err) != entity.CodeArgument || err == nil {
		t.Errorf("a~b: %v", err)
	}
}
