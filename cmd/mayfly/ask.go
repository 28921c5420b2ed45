package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/ttl"
)

// askTimeout bounds the wait for an answer of a running server.
const askTimeout = 10 * time.Minute

// serverCall is a question to a running server about one of its containers.
type serverCall struct {
	url, key            string
	database, container string
}

// register adds the flags that say which server and which container.
func (c *serverCall) register(flags *pflag.FlagSet) {
	c.registerServer(flags)
	flags.StringVar(&c.database, "db", "", "database")
	flags.StringVar(&c.container, "container", "", "container")
}

// registerServer adds the flags that say which server.
func (c *serverCall) registerServer(flags *pflag.FlagSet) {
	flags.StringVar(&c.url, "url", fmt.Sprintf("http://localhost:%d", defaultPort), "base URL of the server")
	flags.StringVar(&c.key, "key", httpapi.EmulatorKey, "master key in base64")
}

// request is the signed request that asks question, as JSON, at a path of Mayfly's own surface. The path is not escaped.
func (c *serverCall) request(ctx context.Context, path string, question any) (*http.Request, error) {
	if c.database == "" || c.container == "" {
		return nil, errNoContainer
	}
	return c.call(ctx, http.MethodPost, path, question)
}

var errNoContainer = &usageError{"--db and --container must name the container"}

// call is request with any method; a nil question is no body. Only what the path has places for must be named.
func (c *serverCall) call(ctx context.Context, method, path string, question any) (*http.Request, error) {
	if c.container == "" && strings.Contains(path, "{coll}") || c.database == "" && strings.Contains(path, "{db}") {
		return nil, errNoContainer
	}
	key, err := base64.StdEncoding.DecodeString(c.key)
	if err != nil {
		return nil, &usageError{"--key is not base64: " + err.Error()}
	}
	var body []byte
	if question != nil {
		if body, err = json.Marshal(question); err != nil {
			return nil, err
		}
	}
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(strings.NewReplacer("{db}", c.database, "{coll}", c.container).Replace(p))
	}
	escaped := strings.Join(parts, "/")
	address := strings.TrimSuffix(c.url, "/") + "/" + escaped
	if query != "" {
		address += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, &usageError{"invalid --url: " + err.Error()}
	}
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	date := ttl.Real{}.Now().UTC().Format(http.TimeFormat)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Ms-Date", date)
	req.Header.Set("Authorization", httpapi.AuthorizationHeader(httpapi.Sign(key, req.Method, "", plain, date)))
	return req, nil
}

// ask sends a request and reads the answer.
func ask[T any](req *http.Request) (answer T, err error) {
	client := http.Client{Timeout: askTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer, err
	}
	if res.StatusCode/100 != 2 {
		return answer, &refusal{url: req.URL, status: res.Status, reasons: reasons(body)}
	}
	if res.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("%s answers with something else than a Mayfly server: %w", req.URL, err)
	}
	return answer, nil
}

// refusal is a server's answer that is a failure.
type refusal struct {
	url     *url.URL
	status  string
	reasons []string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s answers %s: %s", r.url, r.status, strings.Join(r.reasons, " "))
}

// reasons reads what the body of a failure says. Its message begins with "Message: " and a JSON object with a list of errors,
// which are texts, or objects where they have a place in the query; a line break ends that.
func reasons(body []byte) (list []string) {
	var outer struct{ Message string }
	var inner struct{ Errors []json.RawMessage }
	if json.Unmarshal(body, &outer) != nil {
		return []string{strings.TrimSpace(string(body[:min(len(body), 512)]))}
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(outer.Message, "Message: "), "\r\n")
	if json.Unmarshal([]byte(text), &inner) != nil {
		return []string{text}
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
			one = fmt.Sprintf("%s (at character %d)", placed.Message, placed.Location.Start+1)
		default:
			one = placed.Message
		}
		list = append(list, one)
	}
	return list
}
