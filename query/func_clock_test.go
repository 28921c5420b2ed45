package query

import (
	"context"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"testing"
	"time"
)

// TestCurrentTimeFunctions checks the functions that return the current time: within a row all calls return
// the same time, from row to row it may advance (in units of 100 ns), and the static variants return the same
// for all rows.
func TestCurrentTimeFunctions(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	sources := newPageStateStore(t, info.Index, numbered(3, `{"id":"%"}`), 1)
	for text, want := range map[string]string{
		"SELECT VALUE NOW() FROM c": `"2026-03-04T05:06:07.1234567Z" "2026-03-04T05:06:07.1234577Z" "2026-03-04T05:06:07.1234587Z"`,
		"SELECT VALUE [GetCurrentTicks(), GetCurrentTicks()] FROM c": "[17726007671234567,17726007671234567] " +
			"[17726007671234577,17726007671234577] [17726007671234587,17726007671234587]",
		`SELECT VALUE AGO("ss", 7) FROM c`: `"2026-03-04T05:06:00.1234567Z" "2026-03-04T05:06:00.1234577Z" "2026-03-04T05:06:00.1234587Z"`,
		"SELECT VALUE GetCurrentDateTimeStatic() FROM c": `"2026-03-04T05:06:07.1230000Z" "2026-03-04T05:06:07.1230000Z" ` +
			`"2026-03-04T05:06:07.1230000Z"`,
		"SELECT VALUE GetCurrentTimestamp() FROM c": "1772600767123 1772600767123 1772600767123",
	} {
		at := time.Date(2026, 3, 4, 5, 6, 7, 123455799, time.UTC)
		env := eval.Env{Now: time.Date(2026, 3, 4, 5, 6, 7, 123000000, time.UTC), Clock: func() time.Time {
			at = at.Add(time.Microsecond)
			return at
		}}
		page, err := mustPrepare(t, text, info).Run(context.Background(), sources, env, exec.RunOptions{})
		if got := rowsText(page); err != nil || got != want {
			t.Errorf("%s gives %s (%v), want %s", text, got, err, want)
		}
	}
}
