//go:build upstream

package sdktest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// The SDKs' own tests, as they ship in the SDKs' packages and unmodified, against the built binary. Each
// suite has a folder below upstream with the list of the tests that are expected to fail, and why.

// upstreamTime is the time limit for one test suite of an SDK.
const upstreamTime = 40 * time.Minute

// rootKey is the secret of all shared access keys of the servers that the SDKs' own test suites use.
const rootKey = "SAS_KEY_VALUE"

// upstreamKeys are the flags of a server that checks signatures, with the shared access keys by which the
// SDKs' own test suites sign their tokens.
var upstreamKeys = []string{
	"--servicebus-key", "RootManageSharedAccessKey:Manage:" + rootKey,
	"--servicebus-key", "NoManage:Listen+Send:" + rootKey,
	"--servicebus-key", "SendOnly:Send:" + rootKey,
	"--servicebus-key", "ListenOnly:Listen:" + rootKey,
}

// webToken returns a JSON Web Token, like those of Entra ID, that servers with the key rootKey accept.
func webToken(expires time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	payload := `{"exp": ` + strconv.FormatInt(expires.Unix(), 10) + `}`
	return part([]byte(`{"alg": "none"}`)) + "." + part([]byte(payload)) + "." + part([]byte(rootKey))
}

// identity starts an HTTP server that imitates the managed identity of App Service, and returns the
// environment variables with which the SDKs' default credential gets its tokens from it.
func identity(t *testing.T) []string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		expires := time.Now().Add(time.Hour)
		w.Header().Set("Content-Type", "application/json")
		err := json.NewEncoder(w).Encode(map[string]string{
			"access_token": webToken(expires),
			"expires_on":   strconv.FormatInt(expires.Unix(), 10),
			"resource":     r.URL.Query().Get("resource"),
			"token_type":   "Bearer",
		})
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return []string{"IDENTITY_ENDPOINT=" + server.URL, "IDENTITY_HEADER=any",
		"AZURE_TOKEN_CREDENTIALS=ManagedIdentityCredential"}
}
