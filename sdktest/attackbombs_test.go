package sdktest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bombMB is the number of megabytes by which the memory of a server or command may grow while it processes
// a small input that would expand to a large one.
const bombMB = 600

// withoutGrowth calls fn, and fails the test if the server then uses over bombMB megabytes more memory
// than before.
func (a *attackedServer) withoutGrowth(fn func()) {
	a.t.Helper()
	before := residentKB(a.t, a.s)
	fn()
	if after := residentKB(a.t, a.s); after-before > bombMB<<10 {
		a.t.Errorf("the server takes %d MB more", (after-before)>>10)
	}
}

// TestAttackByJSON sends JSON that is deeply nested, very long, or has very many members. The server must
// refuse it or process it in time, without much more memory.
func TestAttackByJSON(t *testing.T) {
	a := attacked(t)
	defer a.neighbour()()
	const most = 1_900_000 // bytes: below the limit of a request
	document := func(value string) string { return `{"id":"bomb","pk":"x","v":` + value + `}` }
	deep := strings.Repeat("[", most/2) + strings.Repeat("]", most/2)
	objects := strings.Repeat(`{"a":`, most/6) + "1" + strings.Repeat("}", most/6)
	var names strings.Builder
	for i := range 120_000 {
		fmt.Fprintf(&names, `"member%d":%d,`, i, i)
	}
	docs, in := "dbs/d/colls/v/docs", key("x")
	a.withoutGrowth(func() {
		for range attackScale {
			a.refused("POST", docs, document(deep), in...)
			a.refused("POST", docs, document(objects), in...)
			a.refused("POST", docs, document(`{`+names.String()+`"member1":1}`), in...) // a name twice
			a.refused("POST", docs, document(`"`+strings.Repeat(`\u00`, most/4)+`"`), in...)
			a.refused("POST", docs, document(`"`+strings.Repeat("x", 3<<20)+`"`), in...)
			a.refused("POST", docs, strings.Repeat("[", most), in...)
			a.refused("POST", docs, `[{"id":"1","pk":`+deep+`}]`, append(in, "x-ms-cosmos-is-batch-request", "True")...)
			a.refused("POST", docs, document("1"), "x-ms-documentdb-partitionkey", deep[:60_000])
			a.refused("PATCH", docs+"/n", `{"operations":`+deep+`}`, in...)
			a.refused("POST", "dbs/d/colls", `{"id":"w","partitionKey":{"paths":["/pk"]},"indexingPolicy":`+deep+`}`)
			for path := range map[string]bool{"_mayfly/faults": true, "_mayfly/dbs/d/colls/v/settings": true} {
				a.refused("POST", path, deep)
				a.refused("PATCH", path, deep)
			}
			a.refused("POST", docs, document(strings.Repeat("9", most)), in...)
			a.does("POST", docs, document(`[`+strings.Repeat("1,", most/2)+`1]`), append(in, "x-ms-documentdb-is-upsert", "True")...)
		}
	})
}

// TestAttackBySQL sends queries whose text is very long, deeply nested, or has very many parts. Each must
// end in time or be refused.
func TestAttackBySQL(t *testing.T) {
	a := attacked(t)
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"q","pk":"x","s":"`+strings.Repeat("a", 1000)+`","n":1}`, key("x")...)
	defer a.neighbour()()
	ask := func(text string, parameters ...string) {
		t.Helper()
		body, err := json.Marshal(text)
		must(t, err)
		from := time.Now()
		status, answer := a.does("POST", "dbs/d/colls/v/docs",
			`{"query":`+string(body)+`,"parameters":[`+strings.Join(parameters, ",")+`]}`, append(query, key("x")...)...)
		if status >= 500 || status != 200 && status < 400 {
			t.Errorf("%.60s...: %d %.200s", text, status, answer)
		}
		t.Logf("%.50s...: %d in %v", text, status, time.Since(from).Round(time.Millisecond))
	}
	const n = 400_000
	for range attackScale {
		ask("SELECT * FROM c WHERE " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n))
		ask("SELECT * FROM c WHERE " + strings.Repeat("NOT ", n) + "true")
		ask("SELECT * FROM c WHERE c.n IN (" + strings.Repeat("1,", n) + "1)")
		ask("SELECT * FROM c WHERE " + strings.Repeat("c.n=2 OR ", 50_000) + "c.n=1")
		ask("SELECT * FROM c WHERE c" + strings.Repeat(".n", n))
		ask("SELECT * FROM " + strings.Repeat("(SELECT * FROM ", 20_000) + "c" + strings.Repeat(")", 20_000))
		ask("SELECT * FROM c" + strings.Repeat(" JOIN x IN c.a", 20_000))
		ask("SELECT " + strings.Repeat("c.n,", n) + "c.n FROM c")
		ask("SELECT VALUE " + strings.Repeat("[", n) + strings.Repeat("]", n))
		ask(`SELECT * FROM c WHERE c.s LIKE "` + strings.Repeat("%a", 300) + `b"`)
		ask(`SELECT VALUE RegexMatch(c.s, "^(a+)+$b") FROM c`)
		ask(`SELECT VALUE RegexMatch(c.s, "` + strings.Repeat("(a*)*", 1000) + `b") FROM c`)
		ask(`SELECT VALUE REPLICATE(REPLICATE(c.s, 10000), 10000) FROM c`)
		ask("SELECT * FROM c ORDER BY " + strings.Repeat("c.n,", 10_000) + "c.n")
		ask("SELECT * FROM c WHERE c.n = @p", `{"name":"@p","value":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`)
		ask("/*" + strings.Repeat("*", n))
		ask(`SELECT "` + strings.Repeat("x", n))
	}
}

// TestAttackByCompression sends small compressed bodies that would expand to a gigabyte. The server must
// refuse them without expanding them.
func TestAttackByCompression(t *testing.T) {
	a := attacked(t)
	bomb := gzipped(t, []byte(`{"id":"z","pk":"x","v":"`), 1<<30)
	defer a.neighbour()()
	a.withoutGrowth(func() {
		for range 4 * attackScale {
			for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "gzip, gzip"} {
				a.refused("POST", "dbs/d/colls/v/docs", string(bomb), append(key("x"), "Content-Encoding", encoding)...)
				a.refused("PUT", "_mayfly/clock", string(bomb), "Content-Encoding", encoding)
			}
		}
	})
}

// gzipped returns prefix and n bytes "x", compressed with gzip.
func gzipped(t *testing.T, prefix []byte, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	must(t, err)
	_, err = w.Write(prefix)
	must(t, err)
	for block := bytes.Repeat([]byte("x"), 1<<20); n > 0; n -= len(block) {
		_, err = w.Write(block)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// TestAttackByFiles calls commands with small files that would expand to very large data, such as YAML
// with nested aliases. They must fail in time and with little memory.
func TestAttackByFiles(t *testing.T) {
	s := start(t, "--memory")
	a := &attackedServer{t: t, s: s}
	a.want(201, "POST", "dbs", `{"id":"d"}`)
	a.want(201, "POST", "dbs/d/colls", `{"id":"v","partitionKey":{"paths":["/pk"],"version":2}}`)
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		laughs += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	dir := t.TempDir()
	into := []string{"--url", s.URL("http"), "--db", "d", "--container", "v"}
	for _, c := range []struct {
		name    string
		content []byte
		command []string
		more    []string
	}{
		{"laughs.yaml", []byte(laughs), []string{"seed", "check"}, nil},
		{"deep.yaml", []byte("databases: " + strings.Repeat("[", 500_000)), []string{"seed", "check"}, nil},
		{"blocks.yaml", []byte(strings.Repeat("- ", 500_000) + "x"), []string{"seed", "check"}, nil},
		{"outside.yaml", []byte("databases:\n  - id: d\n    containers:\n      - id: c\n        partitionKey: /id\n" +
			"        storedProcedures: [{id: s, file: ../../../../../../etc/passwd}]\n"), []string{"seed", "check"}, nil},
		{"deep.json", []byte(strings.Repeat("[", 1_000_000)), []string{"import"}, into},
		{"line.ndjson.gz", gzipped(t, []byte(`{"id":"z","pk":"x","v":"`), 1<<30), []string{"import"}, into},
		{"array.json.gz", gzipped(t, []byte(`[{"id":"z","pk":"x","v":"`), 1<<30), []string{"import"}, into},
		{"cell.csv.gz", gzipped(t, []byte("id,pk\n1,\""), 1<<30), []string{"import"}, into},
		{"header.csv.gz", gzipped(t, nil, 1<<30), []string{"import"}, into},
		{"columns.csv", []byte(strings.Repeat("a.", 300_000) + "b,id\n1,2\n"), []string{"import"}, into},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(dir, c.name)
			must(t, os.WriteFile(file, c.content, 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), attackTime)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, append(append(c.command, file), c.more...)...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			from := time.Now()
			err := cmd.Run()
			usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			mb := usage.Maxrss >> 10
			t.Logf("%d bytes: %v in %v, %d MB: %.200s", len(c.content), err, time.Since(from).Round(time.Millisecond), mb, out.String())
			if code := cmd.ProcessState.ExitCode(); code <= 0 || strings.Contains(out.String(), "goroutine ") {
				t.Errorf("exit code %d: %.2000s", code, out.String())
			}
			if strings.Contains(out.String(), "root:") {
				t.Errorf("it has read a file outside: %s", out.String())
			}
			if mb > bombMB {
				t.Errorf("it has taken %d MB", mb)
			}
		})
	}
}

// TestAttackByFilters creates subscription rules whose filters are very long, deeply nested or slow, and
// sends messages to their topic. The server must refuse invalid rules, and serve other clients meanwhile.
func TestAttackByFilters(t *testing.T) {
	b := startBus(t, "--memory")
	a := &attackedServer{t: t, s: b.Server}
	a.prepare()
	b.create(t, "topic", "s")
	put := func(name, expression string) int {
		t.Helper()
		body := `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><RuleDescription ` +
			`xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">` +
			`<Filter i:type="SqlFilter"><SqlExpression>` + expression + `</SqlExpression></Filter></RuleDescription></content></entry>`
		status, answer := b.atom(t, "PUT", "topic/Subscriptions/s/rules/"+name, body)
		if status >= 500 {
			t.Errorf("%.40s: %d %.200s", expression, status, answer)
		}
		return status
	}
	defer a.neighbour()()
	for name, expression := range map[string]string{
		"deep":     strings.Repeat("(", 100_000) + "1=1" + strings.Repeat(")", 100_000),
		"not":      strings.Repeat("NOT ", 100_000) + "1=1",
		"long":     strings.Repeat("a=1 OR ", 100_000) + "a=1",
		"list":     "a IN (" + strings.Repeat("1,", 100_000) + "1)",
		"unclosed": "a = '" + strings.Repeat("x", 100_000),
		"entity":   `&lol;`,
	} {
		if got := put(name, expression); got < 400 {
			t.Errorf("%s is taken: %d", name, got)
		}
	}
	laughs := `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>`
	if status, _ := b.atom(t, "PUT", "topic/Subscriptions/s/rules/x", laughs+strings.Repeat("<a>", 100_000)); status < 400 || status >= 500 {
		t.Errorf("XML with entities: %d", status)
	}
	for i := range 200 * attackScale {
		name := fmt.Sprint("like", i)
		if got := put(name, "name LIKE '"+strings.Repeat("%a", 400)+"b'"); got != 201 {
			t.Fatalf("a rule with LIKE: %d", got)
		}
	}
	for range 10 * attackScale {
		status, answer := b.rest(t, "POST", "topic/messages", "hello", "name", `"`+strings.Repeat("a", 4000)+`"`)
		if status != 201 && status != 503 {
			t.Errorf("a message: %d %.200s", status, answer)
		}
	}
}

// TestAttackBySlowWriters opens hundreds of connections whose requests arrive one byte at a time or not at
// all. Other clients must still be served.
func TestAttackBySlowWriters(t *testing.T) {
	a := attacked(t)
	var open []io.WriteCloser
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	defer a.neighbour()()
	head := "POST /dbs/d/colls/v/docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + EmulatorKey + "\r\n" +
		"x-ms-documentdb-partitionkey: [\"x\"]\r\nContent-Length: 1000000\r\n\r\n{\"id\":\""
	for i := range 300 * attackScale {
		c := a.dial()
		open = append(open, c)
		text := head
		if i%2 == 0 {
			text = head[:60] // the header block does not end either
		}
		_, err := io.WriteString(c, text)
		must(t, err)
	}
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		for _, c := range open {
			_, _ = io.WriteString(c, "x")
		}
	}
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"after","pk":"x"}`, key("x")...)
	if kb := residentKB(t, a.s); kb > bombMB<<10 {
		t.Errorf("the server takes %d MB", kb>>10)
	}
}
