package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeedWithQueues checks that a folder of seed files can define Service Bus entities, in the emulator's
// format, beside databases.
func TestSeedWithQueues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.json": `{"databases":[{"id":"shop"}]}`,
		"b.json": `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders"}]}]}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := boot(t, "--memory", "--seed", dir)
	if got := b.must(t, 200, "GET", "/_mayfly/entities", ""); !strings.Contains(got, `"path":"orders"`) {
		t.Error(got)
	}
	b.must(t, 200, "GET", "/dbs/shop", "")
	b.stop(t)
	if err := os.WriteFile(filepath.Join(dir, "b.json"), []byte(`{"UserConfig":{"Queues":[]}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := mayfly(t, "serve", "--memory", "--port", "0", "--seed", dir); code == 0 ||
		!strings.Contains(errs, "b.json:1:16: 'Queues' is not known here") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestQueueCommands creates entities and sends, receives and settles messages with the commands below
// `mayfly queue` only.
func TestQueueCommands(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--virtual-clock")
	on := func(wantCode int, want string, args ...string) {
		t.Helper()
		code, out, errs := mayfly(t, append(append([]string{"queue"}, args...), "--url", "http://"+b.host)...)
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("%v: %d %s%s, without %q", args, code, out, errs, want)
		}
	}
	on(0, "created queue orders", "create", "orders", "--ttl", "1h", "--dead-letter-on-expiration",
		"--lock-duration", "30s")
	on(0, "created topic news", "create", "news", "--topic")
	on(0, "created subscription news/Subscriptions/all", "create", "news/Subscriptions/all")
	on(1, "exists already", "create", "orders")
	on(1, "LockDuration", "create", "x", "--lock-duration", "1h")
	on(1, "could not be found", "send", "absent", "x")
	on(2, "TEXT is missing", "send", "orders")
	on(0, "sent to orders", "send", "orders", "first", "--ttl", "90s", "--property", "n=5", "--property",
		"color=red", "--id", "a")
	on(0, "sent", "send", "orders", "second", "--delay", "10m")
	on(0, "sent", "send", "orders", "third", "--ttl", "2h")
	on(0, `{"color":"red","n":5}`, "peek", "orders")
	on(0, `"scheduled": 1`, "show", "orders")
	on(0, "changed queue orders", "set", "orders", "--ttl", "30m", "--status", "ReceiveDisabled")
	on(0, `"status": "ReceiveDisabled"`, "show", "orders")
	on(0, `"defaultTimeToLive": "PT30M"`, "show", "orders")
	on(0, "changed", "set", "orders", "--status", "", "--ttl", "1h", "--max-delivery-count", "0")
	on(0, `"status": "Active"`, "show", "orders")
	on(0, `"lockDuration": "PT30S"`, "show", "orders")
	on(1, "'status' has an invalid value", "set", "orders", "--status", "Asleep")
	on(1, "LockDuration", "set", "orders", "--lock-duration", "1h")
	on(1, "could not be found", "set", "absent", "--ttl", "1h")
	on(2, "nothing is to be set", "set", "orders")
	on(0, `{"id":"a","color":"red"}`, "query", "orders",
		"SELECT c.id, c.properties.color FROM c WHERE c.properties.n = 5")
	on(0, "3\n", "query", "orders", "SELECT VALUE COUNT(1) FROM c")
	on(1, "incorrect syntax", "query", "orders", "SELECT FROM")
	on(0, "expires ", "explain", "orders", "1")
	on(0, "Its time to live is 1m 30s, set by its sender, counted from its arrival; then it is "+
		"dead-lettered.", "explain", "orders", "1")
	on(0, "which is shorter than what its sender set", "explain", "orders", "3")
	on(0, "it begins when the message arrives", "explain", "orders", "2")
	on(1, "no message of the number 9", "explain", "orders", "9")
	on(0, "60 - 120          1", "forecast", "orders")
	on(0, "0 - 3600          2", "forecast", "orders", "--by", "hour")
	b.must(t, 200, "PUT", "/_mayfly/clock", `{"advance":"90s"}`)
	b.must(t, 200, "PUT", "/_mayfly/reaper", `{"paused":true}`)
	b.must(t, 200, "POST", "/_mayfly/reaper/run", "") // whatever holds it back
	on(0, "TTLExpiredException", "dead-letters", "orders")
	on(0, "1 sent again", "resubmit", "orders")
	on(0, "0 sent again", "resubmit", "orders")
	metrics := b.must(t, 200, "GET", "/_mayfly/metrics", "")
	for _, want := range []string{"mayfly_entities 3\n", "mayfly_messages 3\n",
		`mayfly_entity_messages{entity="orders",state="scheduled"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	on(0, "third", "receive", "orders", "--count", "5")
	on(0, "number", "receive", "orders")
	on(0, "sent to news", "send", "news", "hello")
	on(0, "hello", "peek", "news/Subscriptions/all")
	on(2, "--yes", "purge", "news/Subscriptions/all")
	on(0, "1 deleted", "purge", "news/Subscriptions/all", "--yes")
	on(0, "news/Subscriptions/all  subscription  0", "list")
	on(1, "'count' must be", "wait", "orders", "--count", "0")
	on(1, "408", "wait", "orders", "--until", "empty", "--timeout", "1s")
	waited := make(chan string, 1)
	go func() {
		_, out, errs := mayfly(t, "queue", "wait", "orders", "--url", "http://"+b.host)
		waited <- out + errs
	}()
	b.must(t, 200, "PUT", "/_mayfly/clock", `{"advance":"10m"}`) // the second one arrives
	if got := <-waited; !strings.Contains(got, "orders: 1 active, 0 scheduled") {
		t.Error(got)
	}
	on(0, "second", "receive", "orders")
	on(0, "orders: 0 active, 0 scheduled", "wait", "orders", "--until", "empty")
	on(0, "deleted news", "delete", "news", "--yes")
	on(1, "could not be found", "show", "news/Subscriptions/all")
	on(0, `"entities"`, "list", "--json")
}
