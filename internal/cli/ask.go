package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/ttl"
)

// DefaultPort is the default port of a server.
const DefaultPort = 8081

// AskTimeout limits the wait for a response of a running server.
const AskTimeout = 10 * time.Minute

// ClientCommandFlags holds the flags of a command that calls a running server: its URL and key, and the
// database, container and item that the command concerns.
type ClientCommandFlags struct {
	URL, Key            string
	Database, Container string
	Item                string // id of the item, which replaces {id} in a path
	JSON                bool   // print the server's response as JSON
}

// Register adds the flags for the server and the container.
func (c *ClientCommandFlags) Register(flags *pflag.FlagSet) {
	c.RegisterServer(flags)
	flags.StringVar(&c.Database, "db", "", "database")
	flags.StringVar(&c.Container, "container", "", "container")
}

// RegisterServer adds the flags --url and --key, which say what server the command calls.
func (c *ClientCommandFlags) RegisterServer(flags *pflag.FlagSet) {
	flags.StringVar(&c.URL, "url", fmt.Sprintf("http://localhost:%d", DefaultPort),
		"base URL of the server, or MAYFLY_URL")
	flags.StringVar(&c.Key, "key", httpapi.EmulatorKey, "master key in base64, or MAYFLY_KEY")
	// help would show the whole key, which is long
	flags.Lookup("key").DefValue = "the well-known key of the Cosmos DB emulators"
}

// Request returns a signed request to a path of Mayfly's own API, with the value question as its JSON body.
// The path is not escaped.
func (c *ClientCommandFlags) Request(ctx context.Context, path string, question any) (*http.Request, error) {
	if c.Database == "" || c.Container == "" {
		return nil, ErrNoContainer
	}
	return c.Call(ctx, http.MethodPost, path, question)
}

var (
	// ErrNoContainer is the error of a call that names no container.
	ErrNoContainer = Misuse("--db and --container must name the container")
	errNoDatabase  = Misuse("--db must name the database")
)

// Call returns a signed request with any method to any path, including those of Cosmos DB's protocol.
// question becomes the JSON body; if it is nil, the request has no body. The path may contain {db}, {coll}
// and {id}; only the names that it contains must be given.
func (c *ClientCommandFlags) Call(ctx context.Context, method, path string,
	question any) (*http.Request, error) {
	switch {
	case c.Container == "" && strings.Contains(path, "{coll}"):
		return nil, ErrNoContainer
	case c.Database == "" && strings.Contains(path, "{db}"):
		return nil, errNoDatabase
	}
	if _, err := ServerAddress(c.URL); err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(c.Key)
	if err != nil {
		return nil, Misuse("--key is not base64: " + err.Error())
	}
	body, ready := question.(RawJSONRequestBody)
	if question != nil && !ready {
		if body, err = json.Marshal(question); err != nil {
			return nil, err
		}
	}
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(strings.NewReplacer("{db}", c.Database, "{coll}", c.Container, "{id}",
			c.Item).Replace(p))
	}
	escaped := strings.Join(parts, "/")
	address := strings.TrimSuffix(c.URL, "/") + "/" + escaped
	if query != "" {
		address += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, Misuse("invalid --url: " + err.Error())
	}
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	kind, link := resource(plain)
	date := ttl.SystemClock{}.Now().UTC().Format(http.TimeFormat)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Ms-Date", date)
	req.Header.Set("Authorization",
		httpapi.AuthorizationHeader(httpapi.Sign(key, req.Method, kind, link, date)))
	return req, nil
}

// RawJSONRequestBody is the body of a request that is already encoded as JSON.
type RawJSONRequestBody []byte

// resource returns the type and the link with which a path is signed: for dbs/D/colls/C/docs these are docs
// and dbs/D/colls/C, for dbs/D they are dbs and the whole path. Paths below _mayfly have no type.
func resource(path string) (kind, link string) {
	if strings.HasPrefix(path, "_mayfly") {
		return "", path
	}
	parts := strings.SplitN(path, "/", 6) // an id may contain any character
	if len(parts)%2 == 1 {
		return parts[len(parts)-1], strings.Join(parts[:len(parts)-1], "/")
	}
	return parts[len(parts)-2], path
}

// exchange sends a request on a new connection and returns the response if it is successful. The caller must
// close the body.
func exchange(req *http.Request) (*http.Response, error) {
	once := &http.Transport{DisableKeepAlives: true}
	return exchangeBy(&http.Client{Timeout: AskTimeout, Transport: once}, req)
}

// exchangeBy sends a request by client, which reuses its connections, and returns the response if it is
// successful. The caller must close the body.
func exchangeBy(client *http.Client, req *http.Request) (*http.Response, error) {
	res, err := client.Do(req)
	if err != nil {
		return nil, Unreachable(req.URL, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return nil, Refused(req.URL, res, body)
}

// ServerAddress parses text, the value of the flag --url. It returns a usage error unless it is an http or
// https URL with a host.
func ServerAddress(text string) (*url.URL, error) {
	at, err := url.Parse(text)
	if err != nil || at.Hostname() == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, Misuse(fmt.Sprintf("invalid --url: %q is not like http://localhost:8081", text))
	}
	return at, nil
}

// Unreachable returns err, with advice added if the server refuses the connection or its certificate is not
// trusted.
func Unreachable(at *url.URL, err error) error {
	const wsaeConnRefused = syscall.Errno(10061)
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || runtime.GOOS == "windows" && errors.Is(err, wsaeConnRefused):
		return fmt.Errorf("nothing answers at %s://%s: is `mayfly serve` running? (--url or MAYFLY_URL names another server)", at.Scheme, at.Host)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted here: http://%s needs none, and "+
			"`mayfly cert trust` tells how to trust it (%w)", at.Host, at.Host, untrusted)
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s does not answer in TLS: is it http://%s? (%w)", at.Host, at.Host, err)
	}
	return err
}

// Ask sends a request and decodes the response.
func Ask[T any](req *http.Request) (answer T, err error) {
	return readAnswer[T](exchange(req))
}

// AskBy sends a request by client, which reuses its connections, and decodes the response.
func AskBy[T any](client *http.Client, req *http.Request) (answer T, err error) {
	return readAnswer[T](exchangeBy(client, req))
}

// readAnswer decodes a response.
func readAnswer[T any](res *http.Response, err error) (answer T, _ error) {
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusNoContent {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, &UnexpectedResponseError{URL: res.Request.URL, Err: err}
	}
	return answer, nil
}

// UnexpectedResponseError reports a successful response with unexpected content.
type UnexpectedResponseError struct {
	URL *url.URL
	Err error
}

func (e *UnexpectedResponseError) Error() string {
	return fmt.Sprintf("%s answers with something else than a Mayfly server: %v", e.URL, e.Err)
}

func (e *UnexpectedResponseError) Unwrap() error { return e.Err }

// InsufficientStorage is the status of a write for which the server's disk is full.
const InsufficientStorage = 507

// ResponseError is the error for a response that is not successful.
type ResponseError struct {
	url        *url.URL
	Code       int
	status     string
	Reasons    []string
	RetryAfter time.Duration // 0: the server did not send it
	// position in the query, in characters, of the first error that has one; -1: none
	At int
}

// Refused returns the ResponseError for a response with the given body.
func Refused(asked *url.URL, res *http.Response, body []byte) *ResponseError {
	r := &ResponseError{url: asked, Code: res.StatusCode, status: res.Status, At: -1}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/html" {
		r.Reasons = []string{"a page for browsers, which no Mayfly server would send",
			"(`mayfly doctor` looks into it)"}
	} else {
		r.Reasons, r.At = reasons(body)
	}
	if ms, err := strconv.Atoi(res.Header.Get("X-Ms-Retry-After-Ms")); err == nil {
		r.RetryAfter = time.Duration(ms) * time.Millisecond
	}
	return r
}

func (r *ResponseError) Error() string {
	text := fmt.Sprintf("%s answers %s: %s", r.url, r.status, strings.Join(r.Reasons, " "))
	if r.Code == http.StatusUnauthorized {
		text += " (--key or MAYFLY_KEY gives the key that the server was started with)"
	}
	return text
}

// reasons parses the body of a response that is not successful. Its message begins with "Message: " and a
// JSON object with a list of errors, up to a line break. An error is a text, or an object if it has a
// position in the query. at is the first such position, or -1.
func reasons(body []byte) (list []string, at int) {
	at = -1
	var outer struct{ Message string }
	var inner struct{ Errors []json.RawMessage }
	if json.Unmarshal(body, &outer) != nil {
		return []string{strings.TrimSpace(string(body[:min(len(body), 512)]))}, at
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(outer.Message, "Message: "), "\r\n")
	if json.Unmarshal([]byte(text), &inner) != nil {
		return []string{text}, at
	}
	for _, raw := range inner.Errors {
		var one string
		var placed struct {
			Message  string
			Location *struct{ Start int }
		}
		switch {
		case json.Unmarshal(raw, &one) == nil:
		case json.Unmarshal(raw, &placed) == nil && placed.Location != nil:
			if at < 0 {
				at = placed.Location.Start
			}
			one = fmt.Sprintf("%s (at character %d)", placed.Message, placed.Location.Start+1)
		default:
			one = placed.Message
		}
		list = append(list, one)
	}
	return list, at
}

// RegisterURL adds the flag for the server but no flag for a key, since a server gives its certificate to
// everybody.
func (c *ClientCommandFlags) RegisterURL(flags *pflag.FlagSet) {
	flags.StringVar(&c.URL, "url", fmt.Sprintf("http://localhost:%d", DefaultPort),
		"base URL of the server, or MAYFLY_URL")
	c.Key = httpapi.EmulatorKey
}

// RegisterDatabase adds the flags for the server and the database.
func (c *ClientCommandFlags) RegisterDatabase(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c.RegisterServer(flags)
	flags.StringVar(&c.Database, "db", "", "database")
}
