package script

import (
	"context"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func BenchmarkOpen(b *testing.B) {
	var p ScriptCache
	for b.Loop() {
		r, err := p.Open(context.Background(), still(), Limits{})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// hostWithoutDocuments is a Host without documents.
type hostWithoutDocuments struct{}

func (hostWithoutDocuments) Links() (self, alt string) { return "dbs/a/colls/b/", "dbs/d/colls/c" }
func (hostWithoutDocuments) Do(context.Context, Operation) (OperationResult, error) {
	return OperationResult{Status: 404}, nil
}
func (hostWithoutDocuments) Full() bool                    { return false }
func (hostWithoutDocuments) Quota() (limits, usage string) { return "limits;", "usage;" }

func BenchmarkProcedure(b *testing.B) {
	var p ScriptCache
	for b.Loop() {
		r, err := p.Open(context.Background(), still(), Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Run(ProcedureOrTriggerCall{ID: "p",
			Source: "function () { getContext().getResponse().setBody(1); }"}, hostWithoutDocuments{}); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func BenchmarkFunction(b *testing.B) {
	var p ScriptCache
	r, err := p.Open(context.Background(), still(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	f, err := r.Function("tax",
		"function tax(income) { return income < 1000 ? income * 0.1 : income * 0.4; }")
	if err != nil {
		b.Fatal(err)
	}
	args := []jsondoc.Value{jsondoc.NumberValue(5000)}
	for b.Loop() {
		if _, err := f.Call(args); err != nil {
			b.Fatal(err)
		}
	}
}
