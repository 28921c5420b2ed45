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

// masterKey is the one that the server's own routes take, and every Cosmos DB emulator is known to have.
const masterKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// sasKey is the key of RootManageSharedAccessKey that the official emulator has.
const sasKey = "SAS_KEY_VALUE"

// someTime is how long a call may take. shortly is how long a receiver waits that is to get nothing.
const (
	someTime = 20 * time.Second
	shortly  = 500 * time.Millisecond
)

// flags are what the command line says.
type flags struct {
	running          bool   // the clock is never moved
	amqp, admin, tls string // host and port
	mayfly           string // with a slash at its end
	control          string // "" if the server cannot be ended
}

// scenario is one of servicebus.md.
type scenario struct {
	name string
	run  func(t *T)
}

// noAPI is the outcome of a scenario that the SDK has no call for.
type noAPI string

func (e noAPI) Error() string { return string(e) }

// without is a scenario that the SDK has no call for, and why.
func without(name, reason string) scenario {
	return scenario{name, func(*T) { panic(noAPI(reason)) }}
}

// T is what one scenario works with: clients, and the entities that it has made. Its methods end the scenario
// where something is not as it should be.
type T struct {
	flags
	name   string
	ctx    context.Context
	client *sb.Client
	adm    *admin.Client
	after  []func() error
}

// one runs a scenario and deletes its entities.
func one(f flags, s scenario) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	t := &T{flags: f, name: s.name, ctx: ctx}
	defer func() {
		for i := len(t.after) - 1; i >= 0; i-- {
			err = errors.Join(err, t.after[i]())
		}
	}()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r
		case noAPI:
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

// failure ends a scenario. It is a panic, so that a scenario reads as a list of what has to come.
type failure string

func (e failure) Error() string { return string(e) }

// fatalf ends the scenario, telling the line of the scenario's file that led here.
func (t *T) fatalf(format string, args ...any) {
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
	panic(failure(text))
}

func (t *T) must(err error) {
	if err != nil {
		t.fatalf("%v", err)
	}
}

// check ends the scenario unless ok.
func (t *T) check(ok bool, what string, args ...any) {
	if !ok {
		t.fatalf(what, args...)
	}
}

// equal ends the scenario unless got is what is wanted; both may be anything that JSON can spell.
func (t *T) equal(got, want any) {
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

func plain(t *T, v any) any {
	var p any
	t.must(json.Unmarshal([]byte(spell(v)), &p))
	return p
}

// refused wants an error that says one of these words.
func (t *T) refused(err error, words ...string) {
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

func (t *T) amqpString(key string) string {
	return connection(t.amqp, key) + "UseDevelopmentEmulator=true;"
}

func connection(at, key string) string {
	return "Endpoint=sb://" + at + ";SharedAccessKeyName=RootManageSharedAccessKey;" +
		"SharedAccessKey=" + key + ";"
}

// quick are the retries of all clients: soon, and often enough to get over a restart.
func quick() sb.RetryOptions {
	return sb.RetryOptions{MaxRetries: 5, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: time.Second}
}

// connect makes a client; o may be nil.
func (t *T) connect(connection string, o *sb.ClientOptions) *sb.Client {
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

// trust is a TLS configuration that trusts the certificates of SSL_CERT_FILE, on every system.
func (t *T) trust() *tls.Config {
	file := os.Getenv("SSL_CERT_FILE")
	pem, err := os.ReadFile(file)
	t.must(err)
	pool := x509.NewCertPool()
	t.check(pool.AppendCertsFromPEM(pem), "%s holds no certificate", file)
	return &tls.Config{RootCAs: pool}
}

func (t *T) administrator(key string) *admin.Client {
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

// own calls one of the server's own routes.
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

// advance moves the server's clock on.
func (t *T) advance(seconds int) {
	t.must(changeClock(t.mayfly, fmt.Sprintf(`{"advance": "%ds"}`, seconds)))
}

// restart ends the server, by "stop" or "kill", and returns when it is back.
func (t *T) restart(how string) {
	t.check(t.control != "", "needs -control")
	t.must(own(http.MethodPost, t.control+how, ""))
}

func ptr[T any](v T) *T { return &v }
