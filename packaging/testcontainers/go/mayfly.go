// Package mayfly starts Mayfly in a container for a test, by Testcontainers: a server in memory on random
// ports, with a clock that the test moves. Tests in Go can do the same without Docker: see package
// github.com/mayflydb/mayfly/mayflytest.
package mayfly

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// Image is the image of the latest release.
const Image = "ghcr.io/mayflydb/mayfly:latest"

// Key is the account key of Microsoft's emulators, which the server accepts.
const Key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// The ports in the container.
const (
	cosmosPort     = "8081/tcp"
	messagesPort   = "5672/tcp"
	managementPort = "5300/tcp"
)

// Container is a running Mayfly server in a container.
type Container struct {
	testcontainers.Container
}

// Run starts a server from a Docker image and returns when it is ready. Options are those of testcontainers;
// settings of Mayfly are environment variables: testcontainers.WithEnv(map[string]string{"MAYFLY_THROTTLE":
// "true"}).
func Run(ctx context.Context, image string, opts ...testcontainers.ContainerCustomizer) (*Container, error) {
	all := append([]testcontainers.ContainerCustomizer{
		testcontainers.WithExposedPorts(cosmosPort, messagesPort, managementPort),
		testcontainers.WithEnv(map[string]string{"MAYFLY_MEMORY": "true", "MAYFLY_VIRTUAL_CLOCK": "true"}),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/_mayfly/readyz").WithPort(cosmosPort)),
	}, opts...)
	started, err := testcontainers.Run(ctx, image, all...)
	if started == nil {
		return nil, fmt.Errorf("mayfly: %w", err)
	}
	if err != nil {
		return &Container{started}, fmt.Errorf("mayfly: %w", err) // for TerminateContainer
	}
	return &Container{started}, nil
}

// URL returns the address for clients of Cosmos DB, without TLS.
func (c *Container) URL(ctx context.Context) (string, error) {
	return c.PortEndpoint(ctx, cosmosPort, "http")
}

// ConnectionString returns the connection string for clients of Cosmos DB.
func (c *Container) ConnectionString(ctx context.Context) (string, error) {
	endpoint, err := c.URL(ctx)
	return "AccountEndpoint=" + endpoint + ";AccountKey=" + Key + ";", err
}

// ServiceBusConnectionString returns the connection string for Service Bus clients that send and receive
// messages.
func (c *Container) ServiceBusConnectionString(ctx context.Context) (string, error) {
	return serviceBus(c.PortEndpoint(ctx, messagesPort, ""))
}

// ServiceBusAdministrationConnectionString returns the connection string for Service Bus clients that manage
// queues, topics and subscriptions.
func (c *Container) ServiceBusAdministrationConnectionString(ctx context.Context) (string, error) {
	return serviceBus(c.PortEndpoint(ctx, managementPort, ""))
}

func serviceBus(authority string, err error) (string, error) {
	return "Endpoint=sb://" + authority + ";SharedAccessKeyName=RootManageSharedAccessKey;" +
		"SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;", err
}

// Advance moves the server's clock forward by d. When it returns, everything that has expired by then has
// been purged, and feeds and webhooks have been notified.
func (c *Container) Advance(ctx context.Context, d time.Duration) error {
	endpoint, err := c.URL(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"advance": d.String()})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, endpoint+"/_mayfly/clock?settle=true",
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1024)) // the status alone decides
		return fmt.Errorf("mayfly: the clock does not move: %s: %s", res.Status, text)
	}
	return nil
}
