package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// masterKey is the public master key of every Cosmos DB emulator, which Mayfly's own API requires.
const masterKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// sasKey is the key of RootManageSharedAccessKey in the official emulator.
const sasKey = "SAS_KEY_VALUE"

// someTime is the time limit of a call. shortly is how long a receiver waits that must not get a message.
const (
	someTime = 20 * time.Second
	shortly  = 500 * time.Millisecond
)

// commandLineSettings are the settings from the command line.
type commandLineSettings struct {
	running          bool   // the scenarios must not move the server's clock
	amqp, admin, tls string // addresses of the server's ports, each a host and a port
	mayfly           string // the URL of Mayfly's own API, with a slash at its end
	control          string // URL through which a scenario can restart the server; "" if it cannot
}

// scenario is one of the scenarios that servicebus.md lists.
type scenario struct {
	name string
	run  func(t *ScenarioRun)
}

// unsupportedScenario is the result of a scenario for which the SDK has no call; the text says what is
// missing.
type unsupportedScenario string

func (e unsupportedScenario) Error() string { return string(e) }

// without returns a scenario that is skipped because the SDK has no call for it.
func without(name, reason string) scenario {
	return scenario{name, func(*ScenarioRun) { panic(unsupportedScenario(reason)) }}
}

// ScenarioRun is one run of a scenario, with its clients and the entities that it has created. Methods that
// check something end the scenario if the check fails.
type ScenarioRun struct {
	commandLineSettings
	name   string
	ctx    context.Context
	client *sb.Client
	adm    *admin.Client
	after  []func() error
}

// one runs a scenario, deletes its entities afterwards, and returns why the scenario failed.
func one(f commandLineSettings, s scenario) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	t := &ScenarioRun{commandLineSettings: f, name: s.name, ctx: ctx}
	defer func() {
		for i := len(t.after) - 1; i >= 0; i-- {
			err = errors.Join(err, t.after[i]())
		}
	}()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case scenarioFailure:
			err = r
		case unsupportedScenario:
			err = r
		default:
			panic(r)
		}
	}()
	if !f.running {
		t.must(changeClock(f.mayfly, `{"real": true}`))
	}
	t.client = t.connect(t.amqpString(sasKey), nil)
	t.adm = t.administrator(sasKey)
	s.run(t)
	return nil
}

// scenarioFailure is the value of the panic by which a failed check ends a scenario. So the code of a
// scenario needs no handling of errors.
type scenarioFailure string

func (e scenarioFailure) Error() string { return string(e) }

// fatalf ends the scenario with a message that names the line of the scenario that has failed.
func (t *ScenarioRun) fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for skip := 1; ; skip++ {
		_, file, line, ok := runtime.Caller(skip)
		if !ok {
			break
		}
		if base := filepath.Base(file); base != "lib.go" && base != "bus.go" {
			text = fmt.Sprintf("%s:%d: %s", base, line, text)
			break
		}
	}
	panic(scenarioFailure(text))
}

func (t *ScenarioRun) must(err error) {
	if err != nil {
		t.fatalf("%v", err)
	}
}

// check ends the scenario unless ok is true. what and args describe the failure.
func (t *ScenarioRun) check(ok bool, what string, args ...any) {
	if !ok {
		t.fatalf(what, args...)
	}
}

// equal ends the scenario unless got and want have the same JSON encoding.
func (t *ScenarioRun) equal(got, want any) {
	if !reflect.DeepEqual(plain(t, got), plain(t, want)) {
		t.fatalf("got %s, want %s", spell(got), spell(want))
	}
}

func spell(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func plain(t *ScenarioRun, v any) any {
	var p any
	t.must(json.Unmarshal([]byte(spell(v)), &p))
	return p
}

// refused ends the scenario unless err is an error whose text contains one of the words, in any case.
func (t *ScenarioRun) refused(err error, words ...string) {
	if err == nil {
		t.fatalf("not refused with %v", words)
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(err.Error()), w) {
			return
		}
	}
	t.fatalf("not refused with %v, but: %v", words, err)
}

func (t *ScenarioRun) amqpString(key string) string {
	return connection(t.amqp, key) + "UseDevelopmentEmulator=true;"
}

func connection(at, key string) string {
	return "Endpoint=sb://" + at + ";SharedAccessKeyName=RootManageSharedAccessKey;" +
		"SharedAccessKey=" + key + ";"
}

// quick returns the retry options of all clients: short delays, and enough retries to survive a restart of
// the server.
func quick() sb.RetryOptions {
	return sb.RetryOptions{MaxRetries: 5, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: time.Second}
}

// connect returns a new client with the options o, which may be nil.
func (t *ScenarioRun) connect(connection string, o *sb.ClientOptions) *sb.Client {
	if o == nil {
		o = &sb.ClientOptions{}
	}
	o.RetryOptions = quick()
	c, err := sb.NewClientFromConnectionString(connection, o)
	t.must(err)
	t.after = append(t.after, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), someTime)
		defer cancel()
		return c.Close(ctx)
	})
	return c
}

// trust returns a TLS configuration that trusts the certificates in the file SSL_CERT_FILE, on every
// operating system.
func (t *ScenarioRun) trust() *tls.Config {
	file := os.Getenv("SSL_CERT_FILE")
	pem, err := os.ReadFile(file)
	t.must(err)
	pool := x509.NewCertPool()
	t.check(pool.AppendCertsFromPEM(pem), "%s holds no certificate", file)
	return &tls.Config{RootCAs: pool}
}

func (t *ScenarioRun) administrator(key string) *admin.Client {
	transport := &http.Transport{TLSClientConfig: t.trust(), MaxIdleConnsPerHost: 4}
	t.after = append(t.after, func() error { transport.CloseIdleConnections(); return nil })
	c, err := admin.NewClientFromConnectionString(connection(t.admin, key), &admin.ClientOptions{
		ClientOptions: azcore.ClientOptions{
			Transport: &http.Client{Transport: transport},
			Retry:     policy.RetryOptions{MaxRetries: -1},
		}})
	t.must(err)
	return c
}

// own sends a request to Mayfly's own HTTP API, and returns an error unless the response has status 200.
func own(method, url, body string) error {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+masterKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s %s: %s: %s", method, url, res.Status, text))
	}
	return nil
}

func changeClock(mayfly, change string) error {
	return own(http.MethodPut, mayfly+"_mayfly/clock?settle=true", change)
}

// advance moves the server's clock forward.
func (t *ScenarioRun) advance(seconds int) {
	t.must(changeClock(t.mayfly, fmt.Sprintf(`{"advance": "%ds"}`, seconds)))
}

// restart ends the server, by "stop" or "kill", and returns when the next one is ready.
func (t *ScenarioRun) restart(how string) {
	t.check(t.control != "", "needs -control")
	t.must(own(http.MethodPost, t.control+how, ""))
}

func ptr[T any](v T) *T { return &v }
