package failover

import (
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/mayflydb/mayfly/sdktest"
)

const (
	// queueName is the queue of all tests.
	queueName = "q"
	// lockTime is the lock duration of the queue.
	lockTime = 10 * time.Second
	// outageStatus is the status of a response while the database cannot be reached: nothing was written.
	outageStatus = 503
	// fullStatus is the status of a response if the disk of the database is full: nothing was written.
	fullStatus = 507
	// unknownStatus is the status of a response if the server cannot find out whether a write has
	// succeeded.
	unknownStatus = 408
)

// mayflyServer is a Mayfly process under test, with endpoints for Cosmos DB and, on the port amqp, for
// Service Bus.
type mayflyServer struct {
	*sdktest.Server
	amqp int
}

// startServers starts n servers on a database, all at the same time, and creates the container and the
// queue of the tests.
func startServers(t *testing.T, n int, database string) []*mayflyServer {
	t.Helper()
	list := make([]*mayflyServer, n)
	for i := range list {
		s := &mayflyServer{amqp: freePort(t)}
		s.Server = &sdktest.Server{Bin: binary, Host: "127.0.0.1", Port: freePort(t), Args: []string{
			"--log-level", "warn", "--data", t.TempDir(), "--engine", database, "--servicebus",
			"--servicebus-port", strconv.Itoa(s.amqp), "--servicebus-admin-port", "off",
			"--servicebus-tls-port", "off", "--servicebus-admin-tls-port", "off"}}
		list[i] = s
		t.Cleanup(func() { s.finish(t) })
	}
	var starting sync.WaitGroup
	for _, s := range list {
		starting.Go(func() {
			if err := s.Start(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	client := list[0].client(t)
	_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "db"}, nil)
	must(t, err)
	db, err := client.NewDatabase("db")
	must(t, err)
	_, err = db.CreateContainer(t.Context(), azcosmos.ContainerProperties{ID: "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}}, nil)
	must(t, err)
	list[0].mayfly(t, "queue", "create", queueName, "--lock-duration", lockTime.String(),
		"--max-delivery-count", "2000")
	return list
}

// finish stops a server that is still running at the end of the test, and logs the end of its output if
// the test has failed.
func (s *mayflyServer) finish(t *testing.T) {
	if s.Running() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	if t.Failed() {
		out := s.Output()
		t.Logf("the output of %s:\n%s", s.URL("http"), out[max(0, len(out)-4000):])
	}
}

// mayfly runs a command of the program mayfly against the server, and returns its output.
func (s *mayflyServer) mayfly(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append(args, "--url", s.URL("http"))...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mayfly %v: %v: %s", args, err, out)
	}
	return string(out)
}

// client returns a Cosmos DB client of the server that does not retry.
func (s *mayflyServer) client(t *testing.T) *azcosmos.Client {
	t.Helper()
	cred, err := azcosmos.NewKeyCredential(sdktest.EmulatorKey)
	must(t, err)
	c, err := azcosmos.NewClientWithKey(s.URL("http"), cred, &azcosmos.ClientOptions{
		ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	must(t, err)
	return c
}

func (s *mayflyServer) container(t *testing.T) *azcosmos.ContainerClient {
	t.Helper()
	c, err := s.client(t).NewContainer("db", "c")
	must(t, err)
	return c
}

// bus returns a Service Bus client of the server that does not retry.
func (s *mayflyServer) bus(t *testing.T) *sb.Client {
	t.Helper()
	c, err := sb.NewClientFromConnectionString(fmt.Sprintf("Endpoint=sb://localhost:%d;"+
		"SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;"+
		"UseDevelopmentEmulator=true;", s.amqp),
		&sb.ClientOptions{RetryOptions: sb.RetryOptions{MaxRetries: -1}})
	must(t, err)
	return c
}
