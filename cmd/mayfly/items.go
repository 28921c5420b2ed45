package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mayflydb/mayfly/doc"
)

// Paths of the protocol.
const (
	databasesPath  = "dbs"
	databasePath   = "dbs/{db}"
	containersPath = "dbs/{db}/colls"
	containerPath  = "dbs/{db}/colls/{coll}"
	itemsPath      = "dbs/{db}/colls/{coll}/docs"
	itemPath       = "dbs/{db}/colls/{coll}/docs/{id}"
)

// maxDocument is the most that is read of a document to be stored, in bytes. The server takes 2 MB.
const maxDocument = 8 << 20

// parsePartitionKey takes the value of --partition-key; nil where there is none.
func parsePartitionKey(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, &usageError{
			fmt.Sprintf("--partition-key is not JSON: %s; the key of one text is '[%q]'", text, text)}
	}
	return json.RawMessage(text), nil
}

// setPartitionKey names the partition in a request's header, in which only ASCII is safe.
func setPartitionKey(req *http.Request, key json.RawMessage) {
	var b strings.Builder
	for _, r := range string(key) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	req.Header.Set("X-Ms-Documentdb-Partitionkey", b.String())
}

// containerAnswer is what is read of a container's definition.
type containerAnswer struct {
	ID           string `json:"id"`
	DefaultTTL   *int64 `json:"defaultTtl"`
	PartitionKey struct {
		Paths []string `json:"paths"`
	} `json:"partitionKey"`
}

// definition reads the container's definition.
func (c *serverCall) definition(ctx context.Context) (answer containerAnswer, err error) {
	req, err := c.call(ctx, http.MethodGet, containerPath, nil)
	if err != nil {
		return answer, err
	}
	return ask[containerAnswer](req)
}

// identity tells a container from all that there are and were, on any server: by its resource id, and by the
// etag of its database, which no two stores give twice.
func (c *serverCall) identity(ctx context.Context) (string, error) {
	text := ""
	for _, path := range []string{databasePath, containerPath} {
		req, err := c.call(ctx, http.MethodGet, path, nil)
		if err != nil {
			return "", err
		}
		answer, err := ask[struct {
			RID  string `json:"_rid"`
			ETag string `json:"_etag"`
		}](req)
		if err != nil {
			return "", err
		}
		if path == containerPath { // its etag changes with its settings
			answer.ETag = ""
		}
		text += answer.RID + answer.ETag
	}
	return text, nil
}

// partitionKeyOf is the partition key of a document, by the container's definition.
func (a *containerAnswer) partitionKeyOf(document json.RawMessage) (json.RawMessage, error) {
	key := []byte{'['}
	for i, text := range a.PartitionKey.Paths {
		path, err := doc.ParsePath(text)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			key = append(key, ',')
		}
		value := doc.Of(document).Get(path)
		if value.Kind() == doc.Undefined {
			key = append(key, "{}"...)
		}
		key = value.AppendJSON(key)
	}
	return append(key, ']'), nil
}

// itemKey is the partition key of an item: as given, or by its id alone, where that is the container's
// partition key.
func (c *itemCall) itemKey(ctx context.Context) (json.RawMessage, error) {
	key, err := parsePartitionKey(c.partitionKey)
	if key != nil || err != nil {
		return key, err
	}
	container, err := c.definition(ctx)
	if err != nil {
		return nil, err
	}
	if paths := container.PartitionKey.Paths; len(paths) != 1 || paths[0] != "/id" {
		return nil, &usageError{fmt.Sprintf("--partition-key is missing: the container is partitioned by %s",
			strings.Join(paths, ", "))}
	}
	return json.Marshal([]string{c.item})
}

// answered is what the head of a page tells.
type answered struct {
	charge       float64 // in request units
	continuation string  // of the next page; empty at the end
}

// eachPage sends the request of a list again and again, page after page, until it ends; the first one is that
// of the continuation. page makes the request without; list names the rows in the answer.
func eachPage(continuation string, page func() (*http.Request, error), list string,
	fn func(rows []json.RawMessage, a answered) error) error {
	for {
		req, err := page()
		if err != nil {
			return err
		}
		if continuation != "" {
			req.Header.Set("X-Ms-Continuation", continuation)
		}
		res, err := exchange(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // read to its end, or broken off
		if err != nil {
			return err
		}
		var answer map[string]json.RawMessage
		var rows []json.RawMessage
		if err := json.Unmarshal(body, &answer); err != nil {
			return &strangeAnswer{req.URL, err}
		}
		if err := json.Unmarshal(answer[list], &rows); err != nil {
			return &strangeAnswer{req.URL, err}
		}
		charge, _ := strconv.ParseFloat(res.Header.Get("X-Ms-Request-Charge"), 64) // told to people only
		continuation = res.Header.Get("X-Ms-Continuation")
		if err := fn(rows, answered{charge, continuation}); err != nil || continuation == "" {
			return err
		}
	}
}
