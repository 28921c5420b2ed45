package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandLineErrors checks that each mistake on the command line is reported in one comprehensible line,
// with the right exit code.
func TestCommandLineErrors(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"serv", exitUsage, `there is no command "serv" in mayfly: did you mean serve or servers?`},
		{"zzz", exitUsage, `"zzz" in mayfly: ` + "`mayfly --help` lists them all"},
		{"snapshot lst", exitUsage, `there is no command "lst" in mayfly snapshot: did you mean list?`},
		{"serve --port abc", exitUsage, `--port "abc": a port is a number from 0 to 65535`},
		{"health --port 99999999999999999999", exitUsage, "a port is a number from 0 to 65535"},
		{"serve --ranges two", exitUsage, `--ranges "two": it must be a whole number`},
		{"serve --memory=perhaps", exitUsage, `--memory "perhaps": it must be true or false`},
		{"clock --rate fast", exitUsage, `--rate "fast": it must be a number`},
		{"wait quiet --timeout long", exitUsage, `--timeout "long": it must be a duration`},
		{"queue create q --ttl 14x", exitUsage,
			`--ttl "14x": it must be a duration such as 90s, 5m, 14d or PT1H, or a number of seconds`},
		{"containers create c --db d --partition-key /pk --ttl soon", exitUsage,
			"such as 90s, 12h, 30d or PT1H, never or off, not soon"},
		{"containers create c --partition-key /pk", exitUsage, "--db must name the database"},
		{"containers create c --db d", exitUsage, "--partition-key is missing: the path"},
		{"containers create c --db d --partition-key user", exitUsage, "is it --partition-key /user?"},
		{"containers create c --db d --partition-key /user/", exitUsage, "is it --partition-key /user?"},
		{"containers list", exitUsage, "--db must name the database"},
		{"faults add latency", exitUsage, "the fault latency requires a duration: --latency 200ms"},
		{"requests --har x --protocol amqp", exitUsage, "an HTTP archive cannot contain AMQP operations"},
		{"import - ", exitUsage, "--db and --container must name the container"},
		{"query SELECT --db d --container c --param user", exitUsage, "--param must be NAME=VALUE, not user"},
		{"query SELECT --db d --container c --param @=1", exitUsage, "--param must be NAME=VALUE, not @=1"},
		{"databases list --url localhost", exitUsage, `"localhost" is not like http://localhost:8081`},
		{"databases list --url localhost:80", exitUsage, `"localhost:80" is not like http://localhost:8081`},
		{"doctor --url ftp://localhost", exitUsage, `"ftp://localhost" is not like http://localhost:8081`},
		{"health --url localhost", exitUsage, `"localhost" is not like http://localhost:8081`},
		{"query", exitUsage, "QUERY is missing: it is called as `mayfly query QUERY`"},
		{"wait", exitUsage, "expired|purged|feed is missing: it is called as `mayfly wait " +
			"expired|purged|feed ID | wait quiet`"},
		{"snapshot restore", exitUsage, "NAME is missing: it is called as `mayfly snapshot restore NAME`"},
		{"check a b", exitUsage, "\"b\" is too much: it is called as `mayfly check [DIR]`"},
		{"health now", exitUsage, "\"now\" is too much: it is called as `mayfly health`"},
		{"put a b", exitUsage, "\"b\" is too much: it is called as `mayfly put [DOCUMENT]`"},
		{"put {'id':1} --db d --container c", exitUsage,
			`the document:1:2: this is not JSON: invalid character '\'' looking for beginning of object key`},
		{"dry-run -1", exitUsage,
			"-1 is taken for a flag: an argument below zero comes after --, as in -- -1"},
		{"lint --dbs d", exitUsage, "unknown flag: --dbs (`mayfly lint --help` lists them all)"},
		{"get a --db d --container c --partition-key ada", exitUsage,
			`--partition-key is not JSON: ada; the key of one text is '["ada"]'`},
		{"clock --url " + nobody, exitFailed, "nothing answers at " + nobody +
			": is `mayfly serve` running?"},
		{"lint --db d --container c --url " + nobody, exitFailed, "is `mayfly serve` running?"},
		{"health --url " + nobody, exitFailed, "not ready: nothing answers at " + nobody},
	} {
		code, out, errs := mayfly(t, strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 ||
			strings.Contains(errs, "strconv") {
			t.Errorf("%s: %d %s%s", c.args, code, out, errs)
		}
	}
	t.Setenv("MAYFLY_PORT", "abc")
	if code, _, errs := mayfly(t, "serve"); code != exitUsage || !strings.Contains(errs,
		`MAYFLY_PORT "abc": a port is a number`) {
		t.Errorf("%d %s", code, errs)
	}
}

// TestHelp checks that the help of mayfly lists all commands under titles, none of them as "Additional
// Commands".
func TestHelp(t *testing.T) {
	t.Parallel()
	code, out, errs := mayfly(t)
	if code != 0 || errs != "" || strings.Contains(out, "Additional Commands") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	for _, want := range []string{"The server\n  ", "Data\n  ", "Time to live\n  "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	t.Parallel()
	_, want, _ := mayfly(t, "version")
	if code, out, errs := mayfly(t, "--version"); code != 0 || out != want {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestEveryCommandHasJSON checks that every command that prints a result has the flag --json.
func TestEveryCommandHasJSON(t *testing.T) {
	t.Parallel()
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			look(sub)
		}
		if cmd.HasSubCommands() && cmd.Name() != "bench" || cmd.Hidden || cmd.Name() == "serve" {
			return
		}
		if f := cmd.Flags().Lookup("json"); f == nil || f.Value.Type() != "bool" {
			t.Errorf("%s has no --json", cmd.CommandPath())
		}
	}
	look(rootCommand())
}

// TestJSON checks the JSON that commands print with --json.
func TestJSON(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"a","pk":"p","ttl":60}`)
	at := []string{"--url", "http://" + b.host}
	in := append([]string{"--db", "db", "--container", "c"}, at...)
	key := []string{"--partition-key", `["p"]`}
	for _, c := range []struct {
		args []string
		want string // of the answer
	}{
		{append([]string{"clock"}, at...), `"virtual": true`},
		{append([]string{"lint"}, in...), `"items"`},
		{append([]string{"forecast"}, in...), `"by"`},
		{append([]string{"dry-run", "30"}, in...), `"effects"`},
		{append([]string{"reaper"}, in...), `"backlog"`},
		{append([]string{"explain", "SELECT * FROM c"}, in...), `"plan"`},
		{append(append([]string{"expiry", "a"}, in...), key...), `"state": "`},
		{append(append([]string{"wait", "feed", "a"}, in...), key...), `"until": "feed"`},
		{append(append([]string{"lease", "a"}, in...), key...), `"leaseUntil"`},
		{append([]string{"split", "0"}, in...), `"PartitionKeyRanges"`},
		{append([]string{"snapshot", "create", "one"}, at...), `"name": "one"`},
		{append([]string{"snapshot", "list"}, at...), `"snapshots": [`},
		{append([]string{"snapshot", "restore", "one"}, at...), `"databases": [`},
		{append([]string{"settings"}, in...), `"ttlCeiling"`},
		{append(append([]string{"get", "a"}, in...), key...), `"id": "a"`},
		{append([]string{"put", `{"id":"b","pk":"p"}`}, in...), `"id": "b"`},
		{append([]string{"import", file(t, "docs.ndjson", `{"id":"i","pk":"p"}`)}, in...), `"imported": 1`},
		{append([]string{"export", "--to", filepath.Join(t.TempDir(), "c.ndjson")}, in...), `"items": 3`},
		{append([]string{"health"}, at...), `"ready": true`},
		{[]string{"version"}, `"go": "go`},
		{append([]string{"containers", "delete", "c", "--db", "db", "--yes"}, at...),
			`"deleted": "container c"`},
		{append([]string{"databases", "delete", "db", "--yes"}, at...), `"deleted": "database db"`},
	} {
		code, out, errs := mayfly(t, append(c.args, "--json")...)
		if code != 0 || !strings.HasPrefix(out, "{\n") || !strings.Contains(out, c.want) {
			t.Errorf("%v: %d %s%s", c.args, code, out, errs)
		}
	}
	b.makeContainer(t)
	if code, out, _ := mayfly(t, append([]string{"snapshot", "list"}, at...)...); code != 0 ||
		!strings.HasPrefix(out, "NAME ") || strings.Count(out, "\n") != 2 {
		t.Errorf("%d %s", code, out)
	}
	if code, out, _ := mayfly(t, append([]string{"lint"}, in...)...); code != 0 || !strings.Contains(out,
		"nothing found") {
		t.Errorf("%d %s", code, out)
	}
}

// TestJSONOfFailures checks that commands with --json print their result as JSON even if they fail because
// of it, for example an import with refused documents.
func TestJSONOfFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := boot(t, "--data", dir)
	b.makeContainer(t)
	in := []string{"--db", "db", "--container", "c", "--url", "http://" + b.host, "--json"}
	code, out, errs := mayfly(t, append([]string{"import", file(t, "docs.ndjson",
		"{\"id\":\"i\",\"pk\":\"p\"}\n{")}, in...)...)
	if code != exitFailed || out != "{\n  \"imported\": 1,\n  \"refused\": 1\n}\n" ||
		!strings.Contains(errs, "docs.ndjson:2:2: the text ends in the middle of a value") {
		t.Errorf("import: %d %s%s", code, out, errs)
	}
	b.stop(t)
	code, out, errs = mayfly(t, "check", dir, "--json")
	want := `{
  "databases": 1,
  "containers": 1,
  "documents": 1,
  "entities": 0,
  "messages": 0,
  "found": 0,
  "violations": [],
  "format": 3,
  "current": 3
}
`
	if code != 0 || out != want {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	code, out, errs = mayfly(t, "health", "--url", "http://"+b.host, "--json")
	if code != exitFailed || !strings.Contains(out, `"ready": false`) || !strings.Contains(out,
		"mayfly serve") || strings.Count(errs, "\n") != 1 {
		t.Errorf("health: %d %s%s", code, out, errs)
	}
}
