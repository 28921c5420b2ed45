package definition

import "testing"

// TestWebhookURLs checks that a webhook URL to which no request can be sent is refused.
func TestWebhookURLs(t *testing.T) {
	check := func(url string) error { return (&ExpiryEventSettings{Webhooks: []Webhook{{URL: url}}}).Validate() }
	for _, url := range []string{"http://127.0.0.1/", "https://example.com:8443/a", "http://[::1]:80/",
		"http://a_b/", "http://3fa9c1d2e4b5:80/", "http://localhost./", "http://host.docker.internal/"} {
		if err := check(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0/",
		"http://a:0/", "http://a:99999/", "http://a..b/", "http://.a/", "ftp://a/", "http:///a", "http://1.2.3.0xff/"} {
		if err := check(url); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}
