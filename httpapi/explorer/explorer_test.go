package explorer

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func newSite(t *testing.T) *Site {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, s *Site, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, "/"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	if err := s.Serve(rec, r, path); err != nil {
		t.Fatal(err)
	}
	return rec.Result()
}

func bodyOf(t *testing.T, from io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// one returns the value of a response header whose name is stored in lower case, as Site.Serve sets it.
// Without such a header it returns what Header.Get finds.
func one(r *http.Response, name string) string {
	if v := r.Header[name]; len(v) == 1 {
		return v[0]
	}
	return r.Header.Get(name)
}

// TestPageLinksAndSizes checks the HTML pages of the site: all links inside the site lead to existing files
// and anchors, no page has inline scripts or styles, and the compressed files of the application take at most
// 400 KB, those of the documentation at most 416 KB.
func TestPageLinksAndSizes(t *testing.T) {
	s := newSite(t)
	inline := regexp.MustCompile(`<script[^>]*>[^<]|<[^>]+\s(?:on\w+|style)=|<style`)
	names := regexp.MustCompile(`\s(?:src|href)="([^"]*)"`)
	compressed := map[string]int{}
	for path, f := range s.files {
		root := Root
		if strings.HasPrefix(path, Docs) {
			root = Docs
		}
		compressed[root] += len(f.brotli)
		if f.kind == "" {
			t.Errorf("%s has no content type", path)
		}
		if !strings.HasPrefix(f.kind, "text/html") {
			continue
		}
		page := bodyOf(t, ask(t, s, "GET", path).Body)
		if found := inline.FindString(page); found != "" {
			t.Errorf("%s has inline %q", path, found)
		}
		named := names.FindAllStringSubmatch(page, -1)
		if len(named) < 3 {
			t.Errorf("%s names %v", path, named)
		}
		for _, m := range named {
			checkLink(t, s, path, page, m[1])
		}
	}
	if compressed[Root] > 400<<10 || compressed[Docs] > 416<<10 {
		t.Errorf("bytes, compressed: %v", compressed)
	}
	if s.Has(Root+"/nothing") || s.Has("") {
		t.Error("there is what must not be")
	}
}

// checkLink checks that the target of a link exists in the site: the file and, if the address has a
// fragment, the element with this id. from is the path of the page with the link, page its HTML. Links to
// other hosts are not checked.
func checkLink(t *testing.T, s *Site, from, page, address string) {
	t.Helper()
	if strings.Contains(address, "://") {
		return
	}
	to, fragment, _ := strings.Cut(address, "#")
	if to = strings.Trim(to, "/"); to == "" {
		to = from
	}
	switch {
	case !s.Has(to):
		t.Errorf("%s leads to %s, which is not there", from, address)
	case fragment != "":
		if to != from {
			page = bodyOf(t, ask(t, s, "GET", to).Body)
		}
		if !strings.Contains(page, ` id="`+fragment+`"`) {
			t.Errorf("%s leads to %s, which has no such place", from, address)
		}
	}
}

// TestEmulatorFileNames checks that the start page and its script are also served under the file names of
// Microsoft's emulator, which scripts request.
func TestEmulatorFileNames(t *testing.T) {
	s := newSite(t)
	for page, kind := range map[string]string{"index.html": "text/html", "quickstart.html": "text/html",
		"emulator.js": "text/javascript"} {
		if !s.Has(Root + "/" + page) {
			t.Fatalf("there is no %s", page)
		}
		a := ask(t, s, "GET", Root+"/"+page)
		if got := a.Header.Get("Content-Type"); a.StatusCode != 200 || !strings.HasPrefix(got, kind) ||
			strings.Contains(one(a, "cache-control"), "immutable") {
			t.Errorf("%s: %d %s %v", page, a.StatusCode, got, a.Header)
		}
	}
}

// TestHeaders checks the response headers of every file: the content security policy, nosniff,
// no-referrer, and Cache-Control, which is immutable only for files with a hash in their name.
func TestHeaders(t *testing.T) {
	s := newSite(t)
	for path := range s.files {
		r := ask(t, s, "GET", path)
		csp := one(r, "content-security-policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'",
			"frame-ancestors 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy is %s", path, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") || strings.Contains(csp, "*") {
			t.Errorf("%s: the policy lets in too much: %s", path, csp)
		}
		if one(r, "x-content-type-options") != "nosniff" || one(r, "referrer-policy") != "no-referrer" {
			t.Errorf("%s: %v", path, r.Header)
		}
		kept := one(r, "cache-control")
		if strings.Contains(kept, "immutable") != strings.Contains(path, "/assets/") {
			t.Errorf("%s: cache-control %s", path, kept)
		}
	}
}

// TestCodings checks the choice of the content coding (none, gzip, brotli) by Accept-Encoding: every
// coding has the same content and an ETag of its own.
func TestCodings(t *testing.T) {
	s := newSite(t)
	plain := bodyOf(t, ask(t, s, "GET", Root).Body)
	etags := map[string]bool{}
	for accept, want := range map[string]string{
		"": "", "identity": "", "gzip": "gzip", "gzip, deflate, br, zstd": "br", "GZIP;q=0.5": "gzip",
		"br;q=0, gzip": "gzip", "gzip;q=0.0": "", "x, ;;q=": "",
	} {
		r := ask(t, s, "GET", Root, "Accept-Encoding", accept)
		if got := one(r, "content-encoding"); got != want {
			t.Errorf("%q: %q", accept, got)
		}
		etags[one(r, "etag")] = true
		body := bodyOf(t, r.Body)
		if want == "gzip" {
			unpacked, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			body = bodyOf(t, unpacked)
		}
		if want != "br" && body != plain {
			t.Errorf("%q: another body", accept)
		}
		again := ask(t, s, "GET", Root, "Accept-Encoding", accept, "If-None-Match", one(r, "etag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%q: %d for the same ETag", accept, again.StatusCode)
		}
	}
	if len(etags) != 3 {
		t.Errorf("%d ETags", len(etags))
	}
	head := ask(t, s, "HEAD", Root)
	if text, _ := io.ReadAll(head.Body); !bytes.Equal(text, nil) || head.ContentLength != int64(len(plain)) {
		t.Errorf("HEAD: %d bytes said, %d sent", head.ContentLength, len(text))
	}
}
