package query

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// FuzzQuery prepares and runs any text: every failure is one of the documented types, whatever is indexed,
// every row is JSON, and the plan can be printed.
func FuzzQuery(f *testing.F) {
	var cases []queryTestCase
	readJSON(f, "testdata/query-cases.json", &cases)
	for _, c := range cases {
		f.Add(c.Query, uint8(1), "")
	}
	for seed := range uint64(60) {
		f.Add(randomQuery(rand.New(rand.NewPCG(seed, 9))), uint8(seed%4), "AQAAAAAAAAAAAA")
	}
	info := planInfo(f)
	info.Lenient = true
	r := rand.New(rand.NewPCG(2, 2))
	bodies := append(randomDocuments(r, 12), specialDocuments(r, 8)...)
	sources := newPageStateStore(f, info.Index, bodies, 2)
	f.Fuzz(func(t *testing.T, text string, page uint8, cursor string) {
		p, err := Prepare(text, []bind.Parameter{{Name: "@p", Value: jsondoc.NumberValue(1)}, {Name: "@s",
			Value: jsondoc.StringValue("a")}}, info)
		if err != nil {
			var wrong *queryerror.Error
			if !errors.As(err, &wrong) || wrong.JSON() == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if p.String() == "" {
			t.Fatal("no plan")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		for range 3 {
			got, err := p.Run(ctx, sources, eval.Env{Now: time.Unix(1, 0)},
				exec.RunOptions{MaxItems: int(page), Cursor: cursor})
			if err != nil {
				var wrong *queryerror.Error
				var much *queryerror.MemoryError
				var bad *queryerror.CursorError
				if !errors.As(err, &wrong) && !errors.As(err, &much) && !errors.As(err, &bad) &&
					ctx.Err() == nil {
					t.Fatalf("%q: %v", text, err)
				}
				return
			}
			for _, row := range got.Rows {
				if err := jsondoc.Valid(row, jsondoc.Limits{MaxDepth: 5000, MaxBytes: 64 << 20}); err != nil {
					t.Fatalf("%q gives %q: %v", text, row, err)
				}
			}
			if cursor = got.Cursor; cursor == "" {
				return
			}
		}
	})
}
