package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestRequestsArchive checks that the log of requests can be exported as a valid HAR 1.2 archive.
func TestRequestsArchive(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	w.do("DELETE", "/_mayfly/requests", "").want(204)
	key := pk(`["a"]`)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201)
	w.do("GET", docs+"/1?a=b%20c", "", key...)
	a := w.do("GET", "/_mayfly/requests.har", "").want(200)
	var har struct {
		Log struct {
			Version string
			Creator struct{ Name, Version string }
			Entries []struct {
				StartedDateTime time.Time
				Time            *float64
				Request         struct {
					Method, URL, HTTPVersion      string
					Cookies, Headers, QueryString *[]struct{ Name, Value string }
					PostData                      *struct{ MimeType, Text string }
					HeadersSize, BodySize         *int
				}
				Response struct {
					Status                  int
					StatusText, HTTPVersion string
					RedirectURL             *string
					Cookies, Headers        *[]struct{ Name, Value string }
					Content                 struct {
						Size           *int
						MimeType, Text string
					}
					HeadersSize, BodySize *int
				}
				Cache   *struct{}
				Timings struct{ Send, Wait, Receive *float64 }
			}
		}
	}
	if err := json.Unmarshal(a.body, &har); err != nil {
		t.Fatal(err)
	}
	if har.Log.Version != "1.2" || har.Log.Creator.Name == "" || len(har.Log.Entries) != 2 {
		t.Fatalf("%s", a.body)
	}
	for _, e := range har.Log.Entries {
		if !strings.HasPrefix(e.Request.URL, "http://") || e.Request.Cookies == nil ||
			e.Request.Headers == nil ||
			e.Request.QueryString == nil || e.Request.HeadersSize == nil || e.Request.BodySize == nil ||
			e.Response.Cookies == nil || e.Response.Headers == nil || e.Response.RedirectURL == nil ||
			e.Response.Content.Size == nil || e.Response.Content.MimeType != "application/json" ||
			e.Cache == nil ||
			e.Time == nil || e.Timings.Send == nil || e.Timings.Wait == nil || e.Timings.Receive == nil ||
			e.Response.HeadersSize == nil || e.Response.BodySize == nil || e.StartedDateTime.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if p := har.Log.Entries[0].Request.PostData; p == nil || p.Text != `{"id":"1","pk":"a"}` {
		t.Errorf("%s", a.body)
	}
	if q := *har.Log.Entries[1].Request.QueryString; len(q) != 1 || q[0].Name != "a" || q[0].Value != "b c" {
		t.Errorf("%v", q)
	}
}
