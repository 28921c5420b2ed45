package sdktest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
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

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"

	"github.com/mayflydb/mayfly/queue/access"
)

// busTime is the time limit for all scenarios of servicebus.md in one language.
const busTime = 20 * time.Minute

// busSuites lists the languages in which the scenarios of servicebus.md run. Python occurs twice, since
// its SDK has synchronous and asynchronous clients.
var busSuites = []scenarioProgram{
	{name: "Go", prepare: goProgram("./servicebus/go"), trust: trustByFile},
	{name: "JavaScript", tools: nodeTools, prepare: nodeProgram("servicebus/js"), trust: trustByNode},
	{name: "Python", tools: pythonTools, prepare: pythonProgram("servicebus/python"), trust: trustByRequests},
	{name: "Python, asynchronous", tools: pythonTools,
		prepare: pythonProgram("servicebus/python", "--asynchronous"), trust: trustByRequests},
	{name: "Java", tools: javaTools, prepare: javaProgram("servicebus/java"), trust: trustByStore},
}

// TestServiceBus runs the scenarios of servicebus.md in each language, against servers that no other
// language uses.
func TestServiceBus(t *testing.T) {
	t.Parallel()
	list := scenarioList(t, "servicebus.md")
	if len(list) < 150 {
		t.Fatalf("servicebus.md lists %d", len(list))
	}
	chooseScenarios(list)
	atOnce(len(busSuites), func(i int) {
		s := busSuites[i]
		t.Run(s.name, func(t *testing.T) {
			runnable(t, s)
			argv := s.prepare(t)
			parts := deal(list, busParts)
			atOnce(len(parts), func(i int) {
				t.Run(strconv.Itoa(i+1), func(t *testing.T) { runBusSuite(t, s, argv, parts[i]) })
			})
		})
	})
}

// busParts is the number of parts into which the scenarios of a language are divided. The parts run
// concurrently, each with its own server, because most scenarios wait most of the time.
const busParts = 3

// atOnce calls do with 0 to n-1 concurrently, and waits for all calls.
func atOnce(n int, do func(i int)) {
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { do(i) })
	}
	work.Wait()
}

// deal divides a list of scenarios into at most n parts. Consecutive names go to different parts, because
// similar scenarios, which may take long, have similar names.
func deal(list map[string][]string, n int) []map[string][]string {
	parts := make([]map[string][]string, n)
	for i, name := range slices.Sorted(maps.Keys(list)) {
		if i < n {
			parts[i] = map[string][]string{}
		}
		parts[i%n][name] = list[name]
	}
	return parts[:min(n, len(list))]
}

// runBusSuite runs the scenarios in list in one language, with a server of its own. argv is the command of
// the language's program.
func runBusSuite(t *testing.T, s scenarioProgram, argv []string, list map[string][]string) {
	bus := startBus(t, "--data", t.TempDir(),
		"--servicebus-key", "RootManageSharedAccessKey:Manage:SAS_KEY_VALUE") // signatures are checked
	ctx, cancel := context.WithTimeout(t.Context(), busTime)
	defer cancel()
	args := slices.Concat(argv[1:], bus.flags(), []string{"--control", control(t, bus.Server),
		"--only", strings.Join(slices.Sorted(maps.Keys(list)), ",")})
	cmd := exec.CommandContext(ctx, argv[0], args...)
	cmd.Env = slices.Concat(os.Environ(), s.trust(t, bus.certificate(t)))
	t.Log(outcomes(t, cmd, list, s.language()))
	must(t, bus.Stop())
	check(t, bus.Args[slices.Index(bus.Args, "--data")+1])
}

// serviceBusServer is a server with queues and topics, with the ports of its Service Bus protocols.
type serviceBusServer struct {
	*Server
	amqp, admin, tls int // ports; admin is in TLS
	plainAdmin       int
}

// startBus starts a server with queues and topics on free ports. It is stopped at the end of the test.
func startBus(t *testing.T, args ...string) serviceBusServer {
	t.Helper()
	b := serviceBusServer{}
	for _, port := range []*int{&b.amqp, &b.admin, &b.tls, &b.plainAdmin} {
		var err error
		*port, err = FreePort()
		must(t, err)
	}
	b.Server = start(t, append([]string{"--virtual-clock", "--servicebus",
		"--servicebus-port", strconv.Itoa(b.amqp), "--servicebus-admin-port", strconv.Itoa(b.plainAdmin),
		"--servicebus-tls-port", strconv.Itoa(b.tls),
		"--servicebus-admin-tls-port", strconv.Itoa(b.admin)}, args...)...)
	return b
}

// flags returns the command-line arguments that tell a scenario program the addresses of the server.
func (b serviceBusServer) flags() []string {
	return []string{"--amqp", at(b.amqp), "--admin", at(b.admin), "--tls", at(b.tls),
		"--mayfly", b.URL("http")}
}

// connection returns the Service Bus connection string of the server.
func (b serviceBusServer) connection() string {
	return "Endpoint=sb://" + at(b.amqp) + ";SharedAccessKeyName=RootManageSharedAccessKey;" +
		"SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
}

// certificate writes the server's certificate to a file, and returns the path.
func (b serviceBusServer) certificate(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mayfly.pem")
	must(t, os.WriteFile(file, get(t, b.URL("http")+"_explorer/emulator.pem"), 0o644))
	return file
}

func at(port int) string { return net.JoinHostPort("localhost", strconv.Itoa(port)) }

// create creates a queue or, if subscriptions are given, a topic with these subscriptions, with the SDK's
// administration client.
func (b serviceBusServer) create(t *testing.T, name string, subscriptions ...string) {
	t.Helper()
	c := b.administrator(t)
	if len(subscriptions) == 0 {
		_, err := c.CreateQueue(t.Context(), name, nil)
		must(t, err)
		return
	}
	_, err := c.CreateTopic(t.Context(), name, nil)
	must(t, err)
	for _, s := range subscriptions {
		_, err := c.CreateSubscription(t.Context(), name, s, nil)
		must(t, err)
	}
}

// administrator returns an SDK client for the administration of entities. It trusts only the server's
// certificate.
func (b serviceBusServer) administrator(t *testing.T) *admin.Client {
	t.Helper()
	pem, err := os.ReadFile(b.certificate(t))
	must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := admin.NewClientFromConnectionString("Endpoint=sb://"+at(b.admin)+
		";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE",
		&admin.ClientOptions{ClientOptions: azcore.ClientOptions{
			Transport: &http.Client{Transport: transport}}})
	must(t, err)
	return c
}

// rest sends a request to Service Bus over HTTP with a token of the emulator's key, and returns the status
// and the body of the response. headers are names and values in turn.
func (b serviceBusServer) rest(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	return b.restAs(t, access.Sign(access.EmulatorKey(), "http://localhost/", time.Now().Add(time.Hour)), method, path, body,
		headers...)
}

// restAs sends a request to Service Bus over HTTP with this token, and returns the status and the body of
// the response. headers are names and values in turn.
func (b serviceBusServer) restAs(t *testing.T, token, method, path, body string,
	headers ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+at(b.plainAdmin)+"/"+path, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Authorization", token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(answer)
}

// atom sends a request for the management of entities, whose body is an ATOM entry, over HTTP. It returns
// the status and the body of the response.
func (b serviceBusServer) atom(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	return b.rest(t, method, path+"?api-version=2021-05", body, "Content-Type", "application/atom+xml")
}
