package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestCompletion checks the completions that shells get for commands, flags and, from a running server,
// the names of databases, containers, items and other objects.
func TestCompletion(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs", `{"id":"other"}`)
	b.must(t, 201, "POST", "/_mayfly/snapshots", `{"name":"clean"}`)
	b.must(t, 201, "POST", "/_mayfly/entities", `{"path":"orders"}`)
	b.must(t, 201, "POST", "/_mayfly/entities", `{"path":"news","topic":true}`)
	b.must(t, 201, "POST", "/_mayfly/entities/orders/send", `{"text":"x"}`)
	b.must(t, 201, "POST", "/_mayfly/faults", `{"fault":"429","database":"other"}`)
	b.must(t, 200, "PUT", "/_mayfly/dbs/db/colls/c/queries/by-id", `{"query":"SELECT 1"}`)
	for _, id := range []string{"cart 1", `cart"2`, "user"} {
		b.must(
			t,
			201,
			"POST",
			"/dbs/db/colls/c/docs",
			`{"id":"`+strings.ReplaceAll(
				id,
				`"`,
				`\"`,
			)+`","pk":"x"}`,
			"x-ms-documentdb-partitionkey",
			`["x"]`,
		)
	}
	for _, c := range []struct {
		words string // the last one is being typed; | between them
		want  string
	}{
		{"lint|--db|", "db other"},
		{"lint|--db|o", "other"},
		{"lint|--db|db|--container|", "c"},
		{"lint|--db|none|--container|", ""},
		{"lint|", ""},
		{"snapshot|restore|", "clean"},
		{"snapshot|restore|clean|", ""},
		{"snapshot|create|", ""},
		{"queries|run|--db|db|--container|c|", "by-id"},
		{"databases|delete|", "db other"},
		{"containers|delete|--db|db|", "c"},
		{"get|--db|db|--container|c|", "cart 1;cart\"2;user"},
		{"get|--db|db|--container|c|cart\"", "cart\"2"},
		{"expiry|--db|db|--container|none|", ""},
		{"wait|", "expired purged feed quiet"},
		{"wait|--db|db|--container|c|purged|u", "user"},
		{"faults|delete|", "f1"},
		{"faults|add|", "429 449 410 503 408 latency drop lockLost detach"},
		{"faults|add|429|--entity|", "orders news"},
		{"faults|add|429|--operation|readItem,createI", ""},
		{"queue|show|o", "orders"},
		{"queue|set|orders|--forward-to|", "orders news"},
		{"queue|set|orders|--status|", "Active Disabled SendDisabled ReceiveDisabled"},
		{"queue|explain|orders|", "1"},
		{"queue|explain|orders|1|", ""},
		{"queue|wait|orders|--until|", "empty messages"},
		{"split|--db|db|--container|c|", "0"},
		{"clock|--advance|", "1s 1m 1h 1d 30d"},
		{"reaper|", "pause resume run step set"},
		{"dry-run|", "off never 60 3600 86400"},
		{"serve|--log-level|", "debug info warn error"},
		{"import|--format|", "auto ndjson json csv"},
		{"export|--format|", "ndjson json csv"},
		{"cert|trust|", strings.Join(trustNames(), " ")},
		{"query|", ""},
	} {
		words := strings.Split(c.words, "|")
		root := rootCommand()
		cmd, _, err := root.Find(words)
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Flags().Lookup("url") != nil {
			at := strings.Count(cmd.CommandPath(), " ")
			words = slices.Insert(words, at, "--url", "http://"+b.host)
		}
		code, out, _ := mayfly(t, append([]string{"__complete"}, words...)...)
		list, directive, _ := strings.Cut(out, ":")
		got := strings.Split(strings.TrimSpace(list), "\n")
		for i, one := range got {
			got[i], _, _ = strings.Cut(one, "\t") // a description
		}
		want := strings.Split(c.want, " ")
		if strings.Contains(c.want, ";") || strings.Contains(c.want, `"`) {
			want = strings.Split(c.want, ";")
		}
		if c.words == "faults|add|429|--operation|readItem,createI" {
			if !slices.Contains(got, "readItem,createItem") || slices.Contains(got, "readItem,readItem") {
				t.Errorf("%s: %q", c.words, got)
			}
			continue
		}
		if code != 0 || !slices.Equal(got, want) || !strings.HasPrefix(directive, "4") {
			t.Errorf("%s: %d %q, want %q, directive %s", c.words, code, got, want, directive)
		}
	}
}

// TestCompletionOfFiles checks that arguments and flags that name a file or a folder are completed with
// files that have a suitable ending, or with folders.
func TestCompletionOfFiles(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"import|":              "json\nndjson\njsonl\ncsv\ngz\nzst\n:8\n",
		"put|--file|":          "json\n:8\n",
		"check|":               ":16\n",
		"serve|--data|":        ":16\n",
		"serve|--seed|":        ":0\n",
		"snapshot|fork|--to|":  ":16\n",
		"export|--to|":         ":0\n",
		"cert|trust|--file|":   "pem\ncrt\n:8\n",
		"queue|send|--ttl|":    ":4\n",
		"bench|--only|read,ht": "", // below
	} {
		code, out, _ := mayfly(t, append([]string{"__complete"}, strings.Split(words, "|")...)...)
		if strings.HasPrefix(words, "bench") {
			if !strings.Contains(out, "read,http\n") || strings.Contains(out, "read,read") {
				t.Errorf("%s: %s", words, out)
			}
			continue
		}
		if out, _, _ = strings.Cut(out, "Completion ended"); code != 0 || out != want {
			t.Errorf("%s: %d %q, want %q", words, code, out, want)
		}
	}
}

// freeFlags lists the flags whose values can be anything, such as numbers and texts, so that they have no
// completions. The keys say what kind of values they have.
var freeFlags = map[string]string{
	"numbers": "account-id count limit requests-memory docs examples from max-delivery-count parallel port random-seed ranges " +
		"seconds share skip max-drop substatus memory-in-flight servicebus-port servicebus-tls-port " +
		"servicebus-admin-port servicebus-admin-tls-port",
	"times": "auto-delete-on-idle delay duplicates-within for latency lock-duration query-time since took " +
		"retry-after script-time set slow-query timeout ttl wait",
	"texts": "as at content-type correlation-id id if-match key param partition-key property session to reply-to " +
		"reply-to-session " +
		"shapes subject text ttl-path",
	"addresses": "engine migrate-to advertise compute-port health-port cors-origin otlp san servicebus-key " +
		"webhook-allow",
}

// TestEveryFlagIsCompleted checks that every argument of a command, and every flag that takes a value, has
// completions or is listed in this file as having none.
func TestEveryFlagIsCompleted(t *testing.T) {
	t.Parallel()
	free := map[string]bool{}
	for _, names := range freeFlags {
		for name := range strings.FieldsSeq(names) {
			free[name] = true
		}
	}
	values, known, seen := flagValues(), argumentValues(), map[string]bool{}
	for cmd := range everyCommand(rootCommand()) {
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		if _, arguments, _ := strings.Cut(cmd.Use, " "); arguments != "" && !cmd.HasSubCommands() &&
			known[path] == nil && !slices.Contains(unknownArguments, path) {
			t.Errorf("%s: its arguments are not completed", path)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			seen[f.Name], seen[path+" --"+f.Name] = true, true
			if f.NoOptDefVal != "" || values[f.Name] != nil || values[path+" --"+f.Name] != nil ||
				free[f.Name] {
				return
			}
			t.Errorf("%s: --%s is not completed, and not known to be free", path, f.Name)
		})
	}
	for name := range values {
		if !seen[name] {
			t.Errorf("there is no flag %s to complete", name)
		}
	}
	for name := range known {
		if cmd, rest, err := rootCommand().Find(strings.Fields(name)); err != nil || len(rest) > 0 ||
			cmd.HasSubCommands() {
			t.Errorf("there is no command %s to complete", name)
		}
	}
}

// unknownArguments lists the commands whose arguments have no completions, because they are new names or
// free text.
var unknownArguments = []string{
	"requests",
	"databases create",
	"containers create",
	"snapshot create",
	"queue create",
	"query",
	"explain",
	"put",
	"settings",
}

// TestCompletionScripts checks that `mayfly completion` prints a script for each supported shell, and that
// bash accepts the syntax of its script.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, errs := mayfly(t, "completion", shell)
		if code != 0 || !strings.Contains(out, "mayfly") {
			t.Errorf("%s: %d %s", shell, code, errs)
		}
		if shell == "bash" {
			path := filepath.Join(t.TempDir(), "mayfly.bash")
			if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Skip("no bash here")
			}
			if out, err := exec.Command(bash, "-n", path).CombinedOutput(); err != nil {
				t.Errorf("bash: %v %s", err, out)
			}
		}
	}
}
