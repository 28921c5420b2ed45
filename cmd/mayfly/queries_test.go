package main

import (
	"strings"
	"testing"
)

// TestQueriesCommand checks `mayfly queries`: a query is saved with its parameters, listed, run with other
// parameter values, and deleted.
func TestQueriesCommand(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	for _, id := range []string{"1", "2"} {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"`+id+`","pk":"p`+id+`"}`)
	}
	const name = "one / ü"
	for _, c := range []struct {
		args string // separated by |
		code int
		want string
	}{
		{"save|" + name + "|SELECT c.id FROM c\n WHERE c.id = " +
			"@id|--param|id=\"1\"|--param|n=7", 0, "saved query " + name},
		{"list", 0, name + `  @id="1" @n=7  SELECT c.id FROM c WHERE c.id = @id`},
		{"run|" + name + "|--ndjson", 0, `{"id":"1"}` + "\n"},
		{"run|" + name + `|--ndjson|--param|@id="2"`, 0, `{"id":"2"}` + "\n"},
		{"run|" + name + `|--ndjson|--json`, exitUsage, "exclude each other"},
		{"run|one / u", exitFailed, `there is no saved query "one / u": did you mean "one / ü"?`},
		{"run|another", exitFailed, "`mayfly queries list` lists them"},
		{"save||SELECT 1", exitUsage, "NAME must not be empty"},
		{"delete|", exitUsage, "NAME must not be empty"},
		{"save| x|SELECT 1", exitFailed, "1 to 64 characters"},
		{"save|a|SELECT 1|--param|x", exitUsage, "NAME=VALUE"},
		{"save|a| ", exitFailed, "has no text"},
		{"delete|" + name, 0, "deleted query " + name},
		{"delete|" + name, exitFailed, "There is no saved query"},
		{"list", 0, "NAME  PARAMETERS  QUERY\n"},
	} {
		args := append([]string{"queries"}, strings.Split(c.args, "|")...)
		args = append(args, "--url", "http://"+b.host, "--db", "db", "--container", "c")
		if code, out, errs := mayfly(t, args...); code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: %d %s%s, want %d %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}
