package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// KeepAbandoned has carts moved to the container of abandoned ones when they expire, in the transaction that
// removes them. It is Mayfly's own: Azure Cosmos DB cannot, and carts are gone there.
func KeepAbandoned(ctx context.Context, endpoint, key string) error {
	url := strings.TrimSuffix(endpoint, "/") + "/_mayfly/dbs/" + database +
		"/colls/" + customers + "/settings"
	settings := strings.NewReader(`{"onExpire": {"moveTo": "` + abandoned + `"}}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, settings)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("keeping abandoned carts: %s", res.Status)
	}
	return nil
}
