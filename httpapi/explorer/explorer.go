package explorer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// built contains the application in dist and the documentation in docs.
//
//go:embed all:dist all:docs
var built embed.FS

// Root is the path of the application, without leading or trailing slash. All of its files are below it.
const Root = "_explorer"

// Docs is the path of the documentation.
const Docs = Root + "/docs"

// policy is the content security policy of all responses.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// Site holds the files of the application and of the documentation. It is immutable and safe for concurrent
// use.
type Site struct {
	files map[string]*siteFile // by path, without slashes at either end
}

// siteFile is one file of a Site. Its header values are shared and must not be modified.
type siteFile struct {
	gzip, brotli []byte
	kind, etag   string
	forGood      bool // its name contains a hash of its content, so browsers may keep it for ever
}

// New returns the Site of the explorer and of the documentation, which are embedded in the program.
func New() (*Site, error) {
	s := &Site{files: make(map[string]*siteFile)}
	for dir, root := range map[string]string{"dist": Root, "docs": Docs} {
		if err := s.read(dir, root); err != nil {
			return nil, err
		}
		if s.files[root] == nil {
			return nil, fmt.Errorf("explorer: %s has no index.html", dir)
		}
	}
	s.alias()
	return s, nil
}

// alias serves the start page and its script also at the paths that they have in the official emulator, since
// scripts that start an emulator poll those paths until they get a response.
func (s *Site) alias() {
	for _, name := range []string{"index.html", "quickstart.html"} {
		s.files[Root+"/"+name] = s.files[Root]
	}
	for name, f := range s.files {
		if strings.HasPrefix(name, Root+"/assets/index-") && path.Ext(name) == ".js" {
			script := *f
			script.forGood = false
			s.files[Root+"/emulator.js"] = &script
		}
	}
}

// read adds the files of a folder. root is the path under which they are served.
func (s *Site) read(dir, root string) error {
	return fs.WalkDir(built, dir, func(name string, entry fs.DirEntry, err error) error {
		plain, packed := strings.CutSuffix(name, ".gz")
		if err != nil || entry.IsDir() || !packed {
			return err
		}
		f := &siteFile{kind: kindOf(plain), forGood: path.Base(path.Dir(plain)) == "assets"}
		if f.gzip, err = built.ReadFile(name); err != nil {
			return err
		}
		if f.brotli, err = built.ReadFile(plain + ".br"); err != nil {
			return err
		}
		sum := sha256.Sum256(f.gzip)
		f.etag = hex.EncodeToString(sum[:8])
		s.files[root+strings.TrimSuffix(strings.TrimPrefix(plain, dir), "/index.html")] = f
		return nil
	})
}

// kindOf returns the content type for a file name.
func kindOf(name string) string {
	switch path.Ext(name) { // not by package mime, whose table depends on the machine
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".json":
		return "application/json"
	case ".webp":
		return "image/webp"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// Has reports whether the site has a file at path, which has no slashes at either end.
func (s *Site) Has(path string) bool { return s.files[path] != nil }

// Serve answers GET and HEAD for a path for which Has is true. Header names are in lower case, like all of
// the server's, and replace values set before.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, path string) error {
	f, h := s.files[path], w.Header()
	delete(h, "pragma")
	h["content-security-policy"] = []string{policy}
	h["x-content-type-options"] = []string{"nosniff"}
	h["x-frame-options"] = []string{"DENY"}
	h["referrer-policy"] = []string{"no-referrer"}
	h["cross-origin-opener-policy"] = []string{"same-origin"}
	h["cross-origin-resource-policy"] = []string{"same-origin"}
	h["vary"] = []string{"Accept-Encoding"}
	h["cache-control"] = []string{"no-cache"}
	if f.forGood {
		h["cache-control"] = []string{"public, max-age=31536000, immutable"}
	}
	body, coding, err := f.in(r.Header.Get("Accept-Encoding"))
	if err != nil {
		return err
	}
	etag := `"` + f.etag + "-" + coding + `"`
	h["etag"] = []string{etag}
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if coding != identity {
		h["content-encoding"] = []string{coding}
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, err = w.Write(body)
	}
	return err
}

const identity = "identity"

// in returns the file in the best coding that the Accept-Encoding header accepts: brotli, gzip, or
// uncompressed.
func (f *siteFile) in(accepted string) (body []byte, coding string, err error) {
	takes := map[string]bool{}
	for part := range strings.SplitSeq(strings.ToLower(accepted), ",") {
		name, weight, _ := strings.Cut(part, ";")
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q="), 64)
		takes[strings.TrimSpace(name)] = err != nil || q > 0
	}
	switch {
	case takes["br"]:
		return f.brotli, "br", nil
	case takes["gzip"]:
		return f.gzip, "gzip", nil
	}
	plain, err := gzip.NewReader(bytes.NewReader(f.gzip))
	if err != nil {
		return nil, "", err
	}
	body, err = io.ReadAll(plain)
	return body, identity, err
}
