//go:build wasip1

package simulation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// TestGuest is the program inside the sandbox, not a test of its own: it runs the simulation that its
// standard input describes, and prints the steps and then the report.
func TestGuest(t *testing.T) {
	var r wasmSimulationConfig
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		t.Fatal(err)
	}
	c := r.Config
	if r.Defect != "" {
		defects()[r.Defect](&c)
	}
	c.Steps = os.Stdout
	text, err := json.Marshal(run(t, c))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s%s\n", reportMark, text)
}
