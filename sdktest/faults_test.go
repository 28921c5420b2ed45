package sdktest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// faults asks for the faults on demand, or adds one.
func faults(t *testing.T, s *Server, method, rule string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL("http")+"_mayfly/faults",
		strings.NewReader(rule))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+EmulatorKey)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != status {
		t.Fatalf("%s %s: %s: %s", method, rule, res.Status, body)
	}
	return string(body)
}

// fault adds a fault on demand.
func fault(t *testing.T, s *Server, rule string) {
	t.Helper()
	faults(t, s, http.MethodPost, rule, http.StatusCreated)
}

// TestFaults: the SDK, as applications have it, waits as a 429 tells and comes again. It does the same where
// the item was written before it, and finds what it has written itself.
func TestFaults(t *testing.T) {
	s := start(t, "--memory")
	newContainer(t, newDatabase(t, connect(t, s, "http"), "db"), azcosmos.ContainerProperties{ID: "c"})
	connection := "AccountEndpoint=" + s.URL("http") + ";AccountKey=" + EmulatorKey + ";"
	client, err := azcosmos.NewClientFromConnectionString(connection, nil)
	must(t, err)
	c, err := client.NewContainer("db", "c")
	must(t, err)
	create := func(id string) error {
		_, err := c.CreateItem(t.Context(), pkA, []byte(`{"id":"`+id+`","pk":"a"}`), nil)
		return err
	}

	fault(t, s, `{"fault":"429","operations":["createItem"],"database":"db","container":"c","count":2,`+
		`"retryAfterMs":5}`)
	must(t, create("1"))
	fault(t, s, `{"fault":"429","operations":["createItem"],"count":1,"retryAfterMs":5,"when":"after"}`)
	wantStatus(t, create("2"), 409)
	fault(t, s, `{"fault":"429","operations":["queryItems"],"count":1,"retryAfterMs":5}`)
	pages := c.NewQueryItemsPager("SELECT * FROM c", pkA, nil)
	page, err := pages.NextPage(t.Context())
	must(t, err)
	if len(page.Items) != 2 {
		t.Errorf("%d items", len(page.Items))
	}
	list := faults(t, s, http.MethodGet, "", http.StatusOK)
	if strings.Count(list, `"ended":true`) != 3 || !strings.Contains(list, `"seen":2,"hits":2`) {
		t.Errorf("the faults were not met: %s", list)
	}
}
