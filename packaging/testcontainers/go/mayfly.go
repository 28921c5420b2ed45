// Package mayfly starts Mayfly in a container for a test, by Testcontainers: a server in memory on random
// ports, with a clock that the test moves. A test in Go without Docker has
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

// Key is the key of the emulators, which the server takes.
const Key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// The ports in the container.
const (
	cosmosPort     = "8081/tcp"
	messagesPort   = "5672/tcp"
	managementPort = "5300/tcp"
)

// Container is a server that runs.
type Container struct {
	testcontainers.Container
}

// Run starts a server of an image and returns when it is ready. Options may change what it is started with;
// those of Mayfly are variables: testcontainers.WithEnv(map[string]string{"MAYFLY_THROTTLE": "true"}).
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

// URL is the address for clients of Cosmos DB, without TLS.
func (c *Container) URL(ctx context.Context) (string, error) {
	return c.PortEndpoint(ctx, cosmosPort, "http")
}

// ConnectionString is that of Cosmos DB.
func (c *Container) ConnectionString(ctx context.Context) (string, error) {
	endpoint, err := c.URL(ctx)
	return "AccountEndpoint=" + endpoint + ";AccountKey=" + Key + ";", err
}

// ServiceBusConnectionString is that for sending and receiving.
func (c *Container) ServiceBusConnectionString(ctx context.Context) (string, error) {
	return serviceBus(c.PortEndpoint(ctx, messagesPort, ""))
}

// ServiceBusAdministrationConnectionString is that for managing entities.
func (c *Container) ServiceBusAdministrationConnectionString(ctx context.Context) (string, error) {
	return serviceBus(c.PortEndpoint(ctx, managementPort, ""))
}

func serviceBus(authority string, err error) (string, error) {
	return "Endpoint=sb://" + authority + ";SharedAccessKeyName=RootManageSharedAccessKey;" +
		"SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;", err
}

// Advance moves the clock on, and returns when all that has expired by then is purged and told.
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
