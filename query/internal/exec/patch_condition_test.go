package exec_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// fakeStoredDocument is a source.Document with this text, written in second 1700000005.
type fakeStoredDocument string

func (fakeStoredDocument) RID() uint64    { return 5 }
func (d fakeStoredDocument) Body() []byte { return []byte(d) }
func (fakeStoredDocument) System() jsondoc.SystemProperties {
	return jsondoc.SystemProperties{TS: 1700000005}
}

func TestCondition(t *testing.T) {
	d := fakeStoredDocument(`{"id":"1","n":7,"l":[1]}`)
	for text, want := range map[string]bool{
		"FROM c": true, "from c where c.n = 7": true, "FROM c WHERE c.n > 7": false,
		"FROM x WHERE x._ts = 1700000005":                                true,
		"FROM c WHERE ARRAY_CONTAINS(c.l, 1) AND NOT IS_DEFINED(c.gone)": true, "FROM c WHERE c.n": false,
		"FROM c WHERE false": false,
	} {
		c, err := exec.PrepareCondition(text, bind.ContainerInfo{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, err := c.Match(t.Context(), d, eval.Env{}); got != want || err != nil {
			t.Errorf("%s: %t, %v", text, got, err)
		}
	}
	var wrong *queryerror.Error
	if _, err := exec.PrepareCondition("FROM c WHERE x.a = 1", bind.ContainerInfo{}); !errors.As(err,
		&wrong) ||
		wrong.Code != queryerror.CodeUnresolved {
		t.Errorf("%v", err)
	}
}

// TestConditionEndsWithContext checks that Match of a condition with an expensive subquery ends when its
// context ends.
func TestConditionEndsWithContext(t *testing.T) {
	c, err := exec.PrepareCondition("FROM c WHERE (SELECT VALUE COUNT(1) FROM a IN c.l JOIN b IN c.l JOIN "+
		"d IN c.l "+
		"JOIN e IN c.l) < 0", bind.ContainerInfo{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	long := fakeStoredDocument(`{"l":[` + strings.Repeat("1,", 99) + `1]}`)
	if holds, err := c.Match(ctx, long, eval.Env{}); holds || !errors.Is(err, context.Canceled) {
		t.Errorf("%t, %v", holds, err)
	}
}
