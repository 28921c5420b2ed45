package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Paths of Cosmos DB's protocol, as templates for ClientCommandFlags.Call.
const (
	DatabasesPath  = "dbs"
	DatabasePath   = "dbs/{db}"
	ContainersPath = "dbs/{db}/colls"
	ContainerPath  = "dbs/{db}/colls/{coll}"
	ItemsPath      = "dbs/{db}/colls/{coll}/docs"
	ItemPath       = "dbs/{db}/colls/{coll}/docs/{id}"
)

// MaxDocument is the maximum number of bytes that are read of a document to be stored. The server accepts 2
// MB.
const MaxDocument = 8 << 20

// ParsePartitionKey parses the value of --partition-key; it returns nil if there is none.
func ParsePartitionKey(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, Misuse(
			fmt.Sprintf("--partition-key is not JSON: %s; the key of one text is '[%q]'", text, text))
	}
	return json.RawMessage(text), nil
}

// SetPartitionKey sets the partition key header of a request. The value is written in ASCII, since other
// characters are not safe in a header.
func SetPartitionKey(req *http.Request, key json.RawMessage) {
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

// ContainerDefinition is the part of a container's definition that commands use.
type ContainerDefinition struct {
	ID           string `json:"id"`
	DefaultTTL   *int64 `json:"defaultTtl"`
	PartitionKey struct {
		Paths []string `json:"paths"`
	} `json:"partitionKey"`
}

// Definition requests the definition of the container that the flags name from the server.
func (c *ClientCommandFlags) Definition(ctx context.Context) (answer ContainerDefinition, err error) {
	req, err := c.Call(ctx, http.MethodGet, ContainerPath, nil)
	if err != nil {
		return answer, err
	}
	return Ask[ContainerDefinition](req)
}

// Identity returns a text that identifies the container among all containers of all servers, including
// deleted ones. It consists of the container's resource id and the etag of its database, which no other
// store has.
func (c *ClientCommandFlags) Identity(ctx context.Context) (string, error) {
	text := ""
	for _, path := range []string{DatabasePath, ContainerPath} {
		req, err := c.Call(ctx, http.MethodGet, path, nil)
		if err != nil {
			return "", err
		}
		answer, err := Ask[struct {
			RID  string `json:"_rid"`
			ETag string `json:"_etag"`
		}](req)
		if err != nil {
			return "", err
		}
		if path == ContainerPath { // the etag of a container is not used, since it changes with the settings
			answer.ETag = ""
		}
		text += answer.RID + answer.ETag
	}
	return text, nil
}

// DocumentCount returns the number of documents in the container, including those that have expired and are
// not purged yet. It returns 0 if the server does not send the number.
func (c *ClientCommandFlags) DocumentCount(ctx context.Context) (int64, error) {
	req, err := c.Call(ctx, http.MethodGet, ContainerPath, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-Ms-Documentdb-Populatequotainfo", "true")
	res, err := exchange(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	for one := range strings.SplitSeq(res.Header.Get("X-Ms-Resource-Usage"), ";") {
		if text, found := strings.CutPrefix(one, "documentsCount="); found {
			return strconv.ParseInt(text, 10, 64)
		}
	}
	return 0, nil
}

// MissingPaths returns the partition key paths for which a document has no value.
func (a *ContainerDefinition) MissingPaths(document json.RawMessage) (missing []string) {
	for _, text := range a.PartitionKey.Paths {
		path, err := jsondoc.ParsePath(text)
		if err == nil && jsondoc.Of(document).Get(path).Kind() == jsondoc.Undefined {
			missing = append(missing, text)
		}
	}
	return missing
}

// PartitionKeyOf returns the partition key of a document, by the container's definition.
func (a *ContainerDefinition) PartitionKeyOf(document json.RawMessage) (json.RawMessage, error) {
	key := []byte{'['}
	for i, text := range a.PartitionKey.Paths {
		path, err := jsondoc.ParsePath(text)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			key = append(key, ',')
		}
		value := jsondoc.Of(document).Get(path)
		if value.Kind() == jsondoc.Undefined {
			key = append(key, "{}"...)
		}
		key = value.AppendJSON(key)
	}
	return append(key, ']'), nil
}

// PageHeaders holds the values of the response headers of one page of a list: its charge and the continuation
// token of the next page.
type PageHeaders struct {
	Charge       float64 // in request units
	Continuation string  // of the next page; empty at the end
}

// EachPage requests a list page by page until the list ends. It begins at a continuation token ("": the first
// page). page makes the request without a token. list is the name of the response's member with the rows.
func EachPage(continuation string, page func() (*http.Request, error), list string,
	fn func(rows []json.RawMessage, a PageHeaders) error) error {
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
		_ = res.Body.Close() // the body was read to its end, or is not needed
		if err != nil {
			return err
		}
		var answer map[string]json.RawMessage
		var rows []json.RawMessage
		if err := json.Unmarshal(body, &answer); err != nil {
			return &UnexpectedResponseError{URL: req.URL, Err: err}
		}
		if err := json.Unmarshal(answer[list], &rows); err != nil {
			return &UnexpectedResponseError{URL: req.URL, Err: err}
		}
		charge, _ := strconv.ParseFloat(res.Header.Get("X-Ms-Request-Charge"), 64) // only displayed
		continuation = res.Header.Get("X-Ms-Continuation")
		if err := fn(rows, PageHeaders{charge, continuation}); err != nil || continuation == "" {
			return err
		}
	}
}
