package mayfly_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly"
)

func TestPatch(t *testing.T) {
	_, c, clock := open(t)
	first := must(c.Create(t.Context(), []byte(`{"id":"a","user":"ada","n":0,"old":1}`)))
	count := []mayfly.PatchOperation{{Op: "incr", Path: "/n", Value: 1}}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := c.Patch(t.Context(), "ada", "a", count); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	d := must(c.Patch(t.Context(), "ada", "a", []mayfly.PatchOperation{{Op: "remove", Path: "/old"},
		{Op: "set", Path: "/page", Value: nil}}, mayfly.TTL(time.Hour)))
	if got := string(d.JSON[:len(`{"id":"a","user":"ada","n":20,"page":null,"ttl":3600,`)]); got !=
		`{"id":"a","user":"ada","n":20,"page":null,"ttl":3600,` {
		t.Error(got)
	}
	if d.ExpiresAt.Sub(d.Timestamp) != time.Hour {
		t.Errorf("it expires at %v", d.ExpiresAt)
	}
	err := c.Transact(t.Context(), "ada", func(tx *mayfly.Tx) error {
		_, err := tx.Patch("a", count, mayfly.IfMatch(d.ETag))
		return err
	})
	if n := must(mayfly.One[int](t.Context(), c, "SELECT VALUE c.n FROM c")); n != 21 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	try := func(op string, path string, value any) error {
		one := []mayfly.PatchOperation{{Op: op, Path: path, Value: value}}
		return second(c.Patch(t.Context(), "ada", "a", one))
	}
	stale := mayfly.IfMatch(first.ETag)
	for what, want := range map[string]struct{ err, is error }{
		"none":      {second(c.Patch(t.Context(), "ada", "x", count)), mayfly.ErrNotFound},
		"etag":      {second(c.Patch(t.Context(), "ada", "a", count, stale)), mayfly.ErrPreconditionFailed},
		"nothing":   {second(c.Patch(t.Context(), "ada", "a", nil)), mayfly.ErrBadRequest},
		"no number": {try("incr", "/n", math.NaN()), mayfly.ErrBadRequest},
		"its key":   {try("set", "/user", "bob"), mayfly.ErrBadRequest},
		"no op":     {try("double", "/n", nil), mayfly.ErrBadRequest},
	} {
		if !errors.Is(want.err, want.is) {
			t.Errorf("%s: %v, want %v", what, want.err, want.is)
		}
	}
	clock.Advance(time.Hour)
	if _, err := c.Patch(t.Context(), "ada", "a", count); !errors.Is(err, mayfly.ErrNotFound) {
		t.Errorf("expired: %v", err)
	}
}
