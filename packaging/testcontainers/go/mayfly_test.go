package mayfly_test

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/azure/cosmosdb"

	mayfly "github.com/mayflydb/mayfly/packaging/testcontainers/go"
)

// image is what the tests run.
func image() string { return cmp.Or(os.Getenv("MAYFLY_IMAGE"), mayfly.Image) }

// sessions makes a container whose documents have a time to live of their own, and one document of half an
// hour.
func sessions(t *testing.T, connection string) *azcosmos.ContainerClient {
	t.Helper()
	client, err := azcosmos.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "app"}, nil); err != nil {
		t.Fatal(err)
	}
	db, err := client.NewDatabase("app")
	if err != nil {
		t.Fatal(err)
	}
	each := int32(-1)
	if _, err := db.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "sessions", DefaultTimeToLive: &each,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/user"}}}, nil); err != nil {
		t.Fatal(err)
	}
	c, err := db.NewContainer("sessions")
	if err != nil {
		t.Fatal(err)
	}
	ada := azcosmos.NewPartitionKeyString("ada")
	if _, err := c.CreateItem(ctx, ada, []byte(`{"id": "1", "user": "ada", "ttl": 1800}`), nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSessionExpires(t *testing.T) {
	testcontainers.SkipIfProviderIsNotHealthy(t)
	ctx := t.Context()
	c, err := mayfly.Run(ctx, image())
	testcontainers.CleanupContainer(t, c)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := c.ConnectionString(ctx)
	if err != nil {
		t.Fatal(err)
	}
	items := sessions(t, connection)
	if err := c.Advance(ctx, 30*time.Minute); err != nil {
		t.Fatal(err)
	}
	var gone *azcore.ResponseError
	_, err = items.ReadItem(ctx, azcosmos.NewPartitionKeyString("ada"), "1", nil)
	if !errors.As(err, &gone) || gone.StatusCode != http.StatusNotFound {
		t.Errorf("after half an hour: %v", err)
	}
	if bus, err := c.ServiceBusConnectionString(ctx); err != nil || bus == "" {
		t.Errorf("%q, %v", bus, err)
	}
}

// TestOfficialModule: the module for Microsoft's emulator takes this image in its place.
func TestOfficialModule(t *testing.T) {
	testcontainers.SkipIfProviderIsNotHealthy(t)
	c, err := cosmosdb.Run(t.Context(), image())
	testcontainers.CleanupContainer(t, c)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := c.ConnectionString(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions(t, connection).Read(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
