package sdktest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// faults sends a request to the server's API of faults on demand, with a rule as its body, and returns the
// body of the response. It fails the test if the status is not the given one.
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

// fault adds a rule that makes operations of the server fail.
func fault(t *testing.T, s *Server, rule string) {
	t.Helper()
	faults(t, s, http.MethodPost, rule, http.StatusCreated)
}

// TestFaults checks that the Cosmos DB SDK retries a request after an injected 429. If the fault occurs
// after the item was created, the retry fails with 409.
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

// TestMessageFaults checks that the Service Bus SDK recovers from an injected detach of a link and a
// dropped connection, and reports an injected loss of a message's lock; the message is then received
// again.
func TestMessageFaults(t *testing.T) {
	b := startBus(t, "--memory")
	b.create(t, "q")
	client, err := sb.NewClientFromConnectionString(b.connection(),
		&sb.ClientOptions{RetryOptions: sb.RetryOptions{RetryDelay: time.Millisecond}})
	must(t, err)
	defer client.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sender, err := client.NewSender("q", nil)
	must(t, err)
	fault(t, b.Server, `{"fault":"detach","entity":"q","operations":["send"],"count":1}`)
	must(t, sender.SendMessage(ctx, &sb.Message{Body: []byte("a")}, nil))
	fault(t, b.Server, `{"fault":"drop","entity":"q","operations":["send"],"count":1}`)
	must(t, sender.SendMessage(ctx, &sb.Message{Body: []byte("b")}, nil))

	fault(t, b.Server, `{"fault":"lockLost","operations":["complete"],"count":1}`)
	receiver, err := client.NewReceiverForQueue("q", nil)
	must(t, err)
	for _, want := range []struct {
		text  string
		count uint32 // of deliveries
		lost  bool
	}{{"a", 1, true}, {"a", 2, false}, {"b", 1, false}} {
		list, err := receiver.ReceiveMessages(ctx, 1, nil)
		must(t, err)
		if m := list[0]; string(m.Body) != want.text || m.DeliveryCount != want.count {
			t.Errorf("%s has come for the time %d, want %v", m.Body, m.DeliveryCount, want)
		}
		var failed *sb.Error
		err = receiver.CompleteMessage(ctx, list[0], nil)
		if lost := errors.As(err, &failed) && failed.Code == sb.CodeLockLost; lost != want.lost {
			t.Errorf("%s: %v", list[0].Body, err)
		}
	}
	if list := faults(t, b.Server, http.MethodGet, "", http.StatusOK); strings.Count(list, `"ended":true`) != 3 {
		t.Errorf("the faults were not met: %s", list)
	}
}
