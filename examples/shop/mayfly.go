package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// KeepAbandoned makes the server move carts to the container of abandoned carts when they expire, in the same
// transaction. Only Mayfly has this setting; in Azure Cosmos DB an expired cart is lost.
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
