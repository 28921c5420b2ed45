package hook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/hook"
	"github.com/mayflydb/mayfly/store"
)

func TestAllowedAddresses(t *testing.T) {
	public := []string{"8.8.8.8", "1.1.1.1:8080", "[2606:4700::1111]", "[64:ff9b::808:808]",
		"[::ffff:8.8.8.8]"}
	special := []string{"127.0.0.1", "127.9.9.9:80", "[::1]:80", "10.0.0.1", "172.16.0.1", "192.168.1.1",
		"169.254.169.254", "[fe80::1]", "[fe80::1%25eth0]",
		"[fd00:ec2::254]", "0.0.0.0", "[::]", "100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "[ff02::1]", "[::ffff:127.0.0.1]",
		"[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[2001:db8::1]", "[::127.0.0.1]", "[fec0::1]"}
	for _, tc := range []struct {
		list     string
		yes, not []string
	}{
		{"", public, append(special, "localhost", "localhost.", "evil.localhost", "Evil.LocalHost.:80")},
		{"10.0.0.0/8 192.168.1.7 fd00:ec2::/32 [::1]",
			append([]string{"10.255.0.1", "[::ffff:10.0.0.1]", "192.168.1.7", "[fd00:ec2::254]", "[::1]"},
				public...), []string{"127.0.0.1", "192.168.1.8", "169.254.169.254"}},
		{"localhost", []string{"127.0.0.1", "127.9.9.9", "[::1]", "localhost", "Localhost."},
			[]string{"10.0.0.1", "0.0.0.0"}},
		{"app.test", []string{"app.test", "APP.test.:80"}, []string{"127.0.0.1"}},
		{"0.0.0.0/0", []string{"127.0.0.1", "169.254.169.254"}, []string{"[::1]", "[fe80::1]"}},
	} {
		a, err := hook.ParseAllow(strings.Fields(tc.list))
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range tc.yes {
			if err := a.Check(t.Context(), "http://"+host+"/path"); err != nil {
				t.Errorf("%q: %s: %v", tc.list, host, err)
			}
		}
		for _, host := range tc.not {
			var wrong *hook.DisallowedAddressError
			if err := a.Check(t.Context(), "https://"+host+"/"); !errors.As(err, &wrong) ||
				!strings.Contains(err.Error(), "--webhook-allow") {
				t.Errorf("%q: %s: %v", tc.list, host, err)
			}
		}
	}
	for _, wrong := range []string{"", " ", "10.0.0.0/33", "http://localhost", "localhost:9000", "*.test",
		"a b"} {
		if _, err := hook.ParseAllow([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestAddressAtDelivery checks that a webhook in a container's settings is not delivered if its connection
// would lead to an address that is not allowed, whether the URL has an address or a name.
func TestAddressAtDelivery(t *testing.T) {
	g := newDeliveryFixture(t, "192.0.2.1")
	called := make(chan string, 10)
	private := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		called <- r.URL.Path
	}))
	t.Cleanup(private.Close)
	_, port, _ := strings.Cut(private.Listener.Addr().String(), ":")
	urls := []string{private.URL + "/address", "http://localhost:" + port + "/name",
		"http://[::ffff:127.0.0.1]:" + port + "/mapped"}
	for _, u := range urls {
		g.webhooks(store.WebhookSettings{URL: u})
		g.die(len(u)*10, 1)
		<-g.wall.asleep // after the first failure
		list := g.d.Status()
		var wrong *hook.DisallowedAddressError
		if len(list) != 1 || list[0].URL != u || list[0].Failures == 0 || !errors.As(list[0].Err, &wrong) ||
			!wrong.Address.IsLoopback() {
			t.Errorf("%s: %+v", u, list)
		}
	}
	select {
	case path := <-called:
		t.Errorf("%s was called", path)
	default:
	}
}

// TestRedirectsAreNotFollowed checks that a redirect is a failed delivery, even if its target is an
// allowed address.
func TestRedirectsAreNotFollowed(t *testing.T) {
	g := newDeliveryFixture(t, "127.0.0.0/8")
	called := make(chan string, 10)
	inner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		called <- r.URL.Path
	}))
	t.Cleanup(inner.Close)
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	t.Cleanup(outer.Close)
	g.webhooks(store.WebhookSettings{URL: outer.URL})
	g.die(0, 1)
	<-g.wall.asleep
	var status *hook.ResponseStatusError
	if list := g.d.Status(); len(list) != 1 || !errors.As(list[0].Err, &status) || status.Status != 307 ||
		len(called) > 0 {
		t.Errorf("%+v, %d calls", list, len(called))
	}
}

// TestAllowedName checks that events are delivered to a host name in the list of allowed addresses, even
// if the name has a non-public address.
func TestAllowedName(t *testing.T) {
	g := newDeliveryFixture(t, "localhost")
	e := newEndpoint(t, "")
	u := strings.Replace(e.URL, "127.0.0.1", "localhost", 1)
	g.webhooks(store.WebhookSettings{URL: u})
	g.die(0, 2)
	g.wantAll("by name", e.take(2), 0, 2)
	g.confirmed(u)
}
