package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAttackByScripts runs stored procedures that never end or use very much memory. The server must end
// them, and serve other clients meanwhile.
func TestAttackByScripts(t *testing.T) {
	a := attacked(t)
	defer a.neighbour()()
	for name, body := range map[string]string{
		"backtrack": `function(){return new RegExp("(?=)^"+"(a|aa)".repeat(45)+"$").test("a".repeat(89)+"!")}`,
		"optional":  `function(){return new RegExp("(?=)^"+"(a?)".repeat(60)+"b").test("a".repeat(60))}`,
		"spread":    `function(){return Math.max(...new Array(4e6))}`,
		"apply":     `function(){return Math.max.apply(null, new Array(4e6))}`,
		"sort":      `function(){for(;;){var a=[];for(var i=0;i<4e6;i++)a.push(-i);a.sort()}}`,
		"normalize": `function(){return "\ufdfa".repeat(4e6).normalize("NFKD").length}`,
		"plus":      `function(){var s="x";while(true)s+=s}`,
		"doublings": `function(){var s="x";for(var i=0;i<40;i++)s=s+s;return s.length}`,
		"loop":      `function(){while(true);}`,
		"queries":   `function(){function q(){__.queryDocuments(__.getSelfLink(),"SELECT VALUE COUNT(1) FROM c JOIN a IN c.arr JOIN b IN c.arr JOIN d IN c.arr",function(){q()})}q()}`,
	} {
		a.procedure(name, body)
		for range attackScale {
			if name == "queries" { // it is told in time that no more are taken, and ends
				a.want(200, "POST", "dbs/d/colls/v/sprocs/"+name, `[]`, key("x")...)
				continue
			}
			a.refused("POST", "dbs/d/colls/v/sprocs/"+name, `[]`, key("x")...)
		}
	}
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"after","pk":"x"}`, key("x")...)
	a.want(204, "DELETE", "dbs/d/colls/v", "")
}

// TestAttackByPatch sends a patch whose condition takes practically forever. The server must end it, and
// accept writes of other clients meanwhile.
func TestAttackByPatch(t *testing.T) {
	a := attacked(t)
	var list []string
	for range 1500 {
		list = append(list, strings.Repeat("a", 40)+"!")
	}
	e, err := json.Marshal(list)
	must(t, err)
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"p","pk":"x","e":`+string(e)+`}`, key("x")...)
	patch := `{"condition":"from c where exists(select value 1 from x in c.e where RegexMatch(x,\"^(a+)+$\"))","operations":[{"op":"set","path":"/n","value":1}]}`
	defer a.neighbour()()
	a.hangsUp(time.Second, "PATCH", "dbs/d/colls/v/docs/p", patch, key("x")...)
	a.refused("PATCH", "dbs/d/colls/v/docs/p", patch, key("x")...)
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"after","pk":"x"}`, key("x")...)
}

var query = []string{"x-ms-documentdb-isquery", "true", "x-ms-documentdb-query-enablecrosspartition", "true", "Content-Type", "application/query+json"}

// TestAttackByQueries runs queries that take practically forever. They must end with 408 after the time
// limit, also if their clients have closed the connection.
func TestAttackByQueries(t *testing.T) {
	a := attacked(t)
	numbers := strings.Trim(strings.Repeat("1,", 1000), ",")
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"q","pk":"x","arr":[`+numbers+`]}`, key("x")...)
	defer a.neighbour()()
	joins := `{"query":"SELECT VALUE COUNT(1) FROM c JOIN x IN c.arr JOIN y IN c.arr JOIN z IN c.arr JOIN w IN c.arr"}`
	array := "c.arr"
	for range 12 {
		array = "ARRAY_CONCAT(" + array + "," + array + ")"
	}
	doubled := `{"query":"SELECT VALUE ARRAY_LENGTH(` + array + `) FROM c"}`
	var both sync.WaitGroup
	in := append(query, key("x")...)
	for range 2 * attackScale {
		both.Go(func() { a.want(408, "POST", "dbs/d/colls/v/docs", joins, in...) })
	}
	both.Wait()
	a.want(200, "POST", "dbs/d/colls/v/docs", doubled, in...) // an array that would be too long is undefined
	a.hangsUp(time.Second, "POST", "dbs/d/colls/v/docs", doubled, in...)
	a.hangsUp(time.Second, "POST", "dbs/d/colls/v/docs", joins, in...)
}

// TestAttackBySilentReaders requests many large responses and does not read them. The server's memory must
// stay bounded.
func TestAttackBySilentReaders(t *testing.T) {
	a := attacked(t)
	for i := range 8 {
		a.want(201, "POST", "dbs/d/colls/v/docs", fmt.Sprintf(`{"id":"%d","pk":"x","pad":%q}`, i, strings.Repeat("x", 1<<20)), key("x")...)
	}
	defer a.neighbour()()
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range 150 * attackScale {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", a.s.Port))
		must(t, err)
		open = append(open, c)
		_, err = fmt.Fprintf(c, "GET /dbs/d/colls/v/docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nx-ms-max-item-count: -1\r\n\r\n", EmulatorKey)
		must(t, err)
	}
	time.Sleep(3 * time.Second)
	if kb := residentKB(t, a.s); kb > 800<<10 {
		t.Errorf("the server takes %d MB", kb>>10)
	}
}

// residentKB returns the resident memory of the server's process in KB, or 0 if the system does not report
// it.
func residentKB(t *testing.T, s *Server) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(kb)
	must(t, err)
	t.Logf("resident: %d MB", n>>10)
	return n
}

// TestAttackByIdleConnections opens many idle connections to a server with few file descriptors, and
// checks that the server still accepts writes.
func TestAttackByIdleConnections(t *testing.T) {
	script := filepath.Join(t.TempDir(), "few")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\nulimit -n 128\nexec '"+binary+"' \"$@\"\n"), 0o755))
	s := &Server{Bin: script, Args: []string{"--log-level", "warn", "--data", t.TempDir(), "--virtual-clock"}}
	must(t, s.Start(t.Context()))
	t.Cleanup(func() { must(t, s.Stop()) })
	a := &attackedServer{t: t, s: s}
	a.want(201, "POST", "dbs", `{"id":"d"}`)
	a.want(201, "POST", "dbs/d/colls", `{"id":"v","partitionKey":{"paths":["/pk"],"version":2}}`)
	for range 200 * attackScale {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port), time.Second)
		if err != nil {
			continue
		}
		t.Cleanup(func() { c.Close() })
		_, _ = io.WriteString(c, "GET /_mayfly/livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	for i := range 200 {
		a.want(201, "POST", "dbs/d/colls/v/docs", fmt.Sprintf(`{"id":"%d","pk":"x","pad":%q}`, i, strings.Repeat("x", 100<<10)), key("x")...)
	}
}

// TestAttackByAPage checks that a web page of another origin can neither read from the server nor change
// anything on it.
func TestAttackByAPage(t *testing.T) {
	a := attacked(t)
	const evil = "https://evil.example"
	for _, path := range []string{"dbs", "dbs/d/colls/v/docs", "_mayfly/clock"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, a.s.URL("http")+path, nil)
		must(t, err)
		req.Header.Set("Origin", evil)
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "authorization, x-ms-date")
		res, err := a.client.Do(req)
		must(t, err)
		res.Body.Close()
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("OPTIONS %s lets %s in: %q", path, evil, got)
		}
	}
	a.want(403, "POST", "dbs", `{"id":"evil"}`, "Origin", evil)
	a.want(403, "PUT", "_mayfly/clock", `{"advance":"1h"}`, "Origin", evil)
	a.want(404, "GET", "dbs/evil", "")
	a.refused("GET", "", "", "Host", "evil.example")
	a.refused("GET", "dbs", "", "Host", "evil.example:8081")
	a.refused("PATCH", "_mayfly/dbs/d/colls/v/settings", `{"expiryEvents":{"webhooks":[{"url":"http://169.254.169.254/latest"}]}}`)
}

// TestAttackAtTheEnd checks that a server ends within 20 seconds of SIGTERM, although a stored procedure,
// a query and writes are in progress, and clients do not read their responses.
func TestAttackAtTheEnd(t *testing.T) {
	a := attacked(t, "--script-time", "100s", "--query-time", "100s")
	numbers := strings.Trim(strings.Repeat("1,", 1000), ",")
	pad := strings.Repeat("x", 1<<20)
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"q","pk":"x","arr":[`+numbers+`]}`, key("x")...)
	for i := range 8 {
		a.want(201, "POST", "dbs/d/colls/v/docs", fmt.Sprintf(`{"id":"%d","pk":"x","pad":%q}`, i, pad), key("x")...)
	}
	a.procedure("loop", `function(){while(true);}`)
	for range 5 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", a.s.Port))
		must(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "GET /dbs/d/colls/v/docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", EmulatorKey)
		must(t, err)
	}
	joins := `{"query":"SELECT VALUE COUNT(1) FROM c JOIN x IN c.arr JOIN y IN c.arr JOIN z IN c.arr JOIN w IN c.arr"}`
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for _, do := range []func(){
		func() { _, _, _ = a.ask(ctx, "POST", "dbs/d/colls/v/docs", joins, append(query, key("x")...)...) },
		func() { _, _, _ = a.ask(ctx, "POST", "dbs/d/colls/v/sprocs/loop", `[]`, key("x")...) },
		func() { _, _, _ = a.ask(ctx, "POST", "dbs/d/colls/v/docs", `{"id":"late","pk":"x"}`, key("x")...) },
	} {
		work.Go(do)
	}
	time.Sleep(time.Second)
	began := time.Now()
	must(t, a.s.Stop())
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	} else {
		t.Logf("it ended in %v", took)
	}
}

// TestAttackByNames gives a database the rid of another one as its name. A delete by that name must delete
// the database with the name, not the other one.
func TestAttackByNames(t *testing.T) {
	a := attacked(t)
	var precious struct {
		RID string `json:"_rid"`
	}
	must(t, json.Unmarshal([]byte(a.want(201, "POST", "dbs", `{"id":"precious"}`)), &precious))
	name := strings.ReplaceAll(precious.RID, "/", "-")
	a.want(201, "POST", "dbs", `{"id":"`+name+`"}`)
	a.want(204, "DELETE", "dbs/"+name, "")
	a.want(200, "GET", "dbs/precious", "")
}

// TestAttackByTheClock checks that the clock cannot be set back to a time before an expiry, so that an
// expired document does not come back even if it has not been purged.
func TestAttackByTheClock(t *testing.T) {
	a := attacked(t)
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"m","pk":"x","ttl":1000}`, key("x")...)
	var clock struct {
		Now string `json:"now"`
	}
	must(t, json.Unmarshal([]byte(a.want(200, "PUT", "_mayfly/clock", `{"freeze":true}`)), &clock))
	a.want(200, "PUT", "_mayfly/reaper", `{"paused":true}`)
	a.want(200, "PUT", "_mayfly/clock", `{"advance":"2000s"}`)
	a.want(404, "GET", "dbs/d/colls/v/docs/m", "", key("x")...)
	a.want(400, "PUT", "_mayfly/clock", `{"set":"`+clock.Now+`"}`)
	a.want(404, "GET", "dbs/d/colls/v/docs/m", "", key("x")...)
}

// TestAttackOnTheLog changes one byte in the write-ahead log of a server that was killed. The server and
// the command check must refuse to open the data and name the damaged file.
func TestAttackOnTheLog(t *testing.T) {
	dir := t.TempDir()
	s := start(t, "--data", dir)
	a := &attackedServer{t: t, s: s}
	a.want(201, "POST", "dbs", `{"id":"d"}`)
	a.want(201, "POST", "dbs/d/colls", `{"id":"v","partitionKey":{"paths":["/pk"],"version":2}}`)
	for i := range 300 {
		a.want(201, "POST", "dbs/d/colls/v/docs", fmt.Sprintf(`{"id":"%d","pk":"x"}`, i), key("x")...)
	}
	must(t, s.Kill())
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	must(t, err)
	newest := slices.Max(logs)
	whole, err := os.ReadFile(newest)
	must(t, err)
	used := len(bytes.TrimRight(whole, "\x00"))
	for _, percent := range []int{5, 20, 40, 60} { // behind that the end is short enough to be what a power cut leaves
		spoiled := bytes.Clone(whole)
		spoiled[used*percent/100] ^= 1
		must(t, os.WriteFile(newest, spoiled, 0o600))
		for _, args := range [][]string{{"serve", "--data", dir, "--port", "0"}, {"check", dir}} {
			ctx, cancel := context.WithTimeout(t.Context(), startTime)
			out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput()
			cancel()
			if err == nil || !strings.Contains(string(out), filepath.Base(newest)) {
				t.Errorf("%s with a byte flipped at %d of 100: %v\n%s", args[0], percent, err, out)
			}
		}
	}
	must(t, os.WriteFile(newest, whole, 0o600))
	must(t, s.Start(t.Context()))
	if got := a.want(200, "GET", "dbs/d/colls/v/docs/299", "", key("x")...); !strings.Contains(got, "299") {
		t.Error(got)
	}
}
