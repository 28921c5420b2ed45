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

// image returns the name of the image that the tests run: that in the environment variable MAYFLY_IMAGE,
// or else that of the latest release.
func image() string { return cmp.Or(os.Getenv("MAYFLY_IMAGE"), mayfly.Image) }

// sessions creates a container in which documents expire only by their own ttl, and in it one document
// with a ttl of half an hour.
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

// TestOfficialModule checks that the Testcontainers module for Microsoft's Cosmos DB emulator works with
// Mayfly's image instead.
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
