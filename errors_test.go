package mayfly_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly"
)

// TestErrorsNameDocuments: the error of an operation on a document names the container, the key and the id.
func TestErrorsNameDocuments(t *testing.T) {
	_, c, _ := open(t)
	first := must(c.Create(t.Context(), Session{ID: "a", User: "ada", Page: "/"}))
	must(c.Replace(t.Context(), first))
	const none = `app/sessions: no document "7" in ["u7"]`
	change := []mayfly.PatchOperation{{Op: "set", Path: "/n", Value: 1}}
	seven := Session{ID: "7", User: "u7"}
	for what, is := range map[string]struct {
		err  error
		want string
	}{
		"read":    {second(c.Read(t.Context(), "u7", "7")), none},
		"delete":  {c.Delete(t.Context(), "u7", "7"), none},
		"replace": {second(c.Replace(t.Context(), seven)), none},
		"patch":   {second(c.Patch(t.Context(), "u7", "7", change)), none},
		"lease":   {second(c.Lease(t.Context(), "u7", "7", time.Minute)), none},
		"in a transaction": {c.Transact(t.Context(), "u7", func(tx *mayfly.Tx) error { return tx.Delete("7") }),
			none},
		"create": {second(c.Create(t.Context(), first)), `app/sessions: document "a" in ["ada"]: `},
		"etag": {second(c.Replace(t.Context(), first, mayfly.IfMatch(first.ETag))),
			`app/sessions: document "a" in ["ada"]: `},
		"upsert by etag": {second(c.Upsert(t.Context(), seven, mayfly.IfMatch(first.ETag))),
			`app/sessions: document "7" in ["u7"]: `},
	} {
		if is.err == nil || !strings.HasPrefix(is.err.Error(), is.want) {
			t.Errorf("%s: %v, want %s", what, is.err, is.want)
		}
	}
}
