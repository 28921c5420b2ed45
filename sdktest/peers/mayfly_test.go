//go:build long

package peers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/sdktest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// embeddedMayfly is a Mayfly store inside the process of the test.
type embeddedMayfly struct {
	db   *mayfly.DB
	docs *mayfly.Container
}

func openEmbedded(ctx context.Context, dir string) (*embeddedMayfly, error) {
	db, err := mayfly.Open(dir)
	if err != nil {
		return nil, err
	}
	docs, err := db.Container(ctx, "peers/docs", mayfly.PartitionBy("/pk"),
		mayfly.Spec(func(s *definition.ContainerSpec) {
			s.Indexing = index.Policy{
				Included: []index.IncludedOrExcludedPath{{Path: "/*"}},
				Excluded: []index.IncludedOrExcludedPath{{Path: "/pad/?"}},
				Composite: [][]index.CompositePathSpec{
					{{Path: "/category"}, {Path: "/price"}}, {{Path: "/pk"}, {Path: "/ts"}},
				},
			}
		}))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &embeddedMayfly{db, docs}, nil
}

func (*embeddedMayfly) name() string { return "Mayfly embedded" }

func (e *embeddedMayfly) fill(ctx context.Context, s documentSet) error {
	c, err := e.docs.Store(ctx)
	if err != nil {
		return err
	}
	for from := 0; from < s.docs; from += store.MaxBatchOperations {
		var ops []store.ItemOperation
		for i := from; i < min(from+store.MaxBatchOperations, s.docs); i++ {
			body := s.json(i)
			ops = append(ops, store.ItemOperation{Kind: store.OperationCreate,
				Partition: c.PartitionKeyOf(body),
				Body:      body, NoContent: true})
		}
		done, _, err := c.Batch(ctx, definition.PartitionKey{}, ops,
			store.BatchOptions{ContinueOnError: true})
		if err != nil {
			return err
		}
		for _, r := range done.Results {
			if r.Err != nil {
				return r.Err
			}
		}
	}
	return nil
}

func (e *embeddedMayfly) ask(ctx context.Context, q *queryTestCase, s documentSet, k int) (rows [][]byte,
	err error) {
	args := mayfly.Args{}
	if q.partition == nil {
		for i, v := range q.params(s, k) {
			args[fmt.Sprintf("p%d", i+1)] = v
		}
	}
	opts := []mayfly.QueryOption{mayfly.With(args), mayfly.PageSize(1000)}
	if q.partition != nil {
		opts = append(opts, mayfly.In(q.partition(s, k)))
	}
	for row, err := range mayfly.Query[json.RawMessage](ctx, e.docs, q.mayfly, opts...) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (e *embeddedMayfly) close() error { return e.db.Close() }

// mayflyServer is Mayfly in a process of its own, queried over HTTP with signed requests on one
// connection. Like the PostgreSQL driver, the client sends and receives in the goroutine of its caller,
// and does not decode rows.
type mayflyServer struct {
	server *sdktest.Server
	key    []byte // master key
	conn   net.Conn
	in     *bufio.Reader
	out    []byte // the last request
}

func serve(ctx context.Context, bin, dir string) (*mayflyServer, error) {
	s := &mayflyServer{server: &sdktest.Server{Bin: bin, Args: []string{"--log-level", "warn", "--data",
		dir}}}
	if err := s.server.Start(ctx); err != nil {
		return s, err
	}
	var err error
	if s.key, err = base64.StdEncoding.DecodeString(sdktest.EmulatorKey); err != nil {
		return s, err
	}
	at, err := url.Parse(s.server.URL("http"))
	if err != nil {
		return s, err
	}
	s.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", at.Host)
	s.in = bufio.NewReaderSize(s.conn, 64<<10)
	return s, err
}

func (*mayflyServer) name() string { return "Mayfly over HTTP" }

// fill does nothing, because the server's folder is a copy of the embedded store's folder with all
// documents.
func (*mayflyServer) fill(context.Context, documentSet) error { return nil }

const link = "dbs/peers/colls/docs"

func (s *mayflyServer) ask(ctx context.Context, q *queryTestCase, docs documentSet, k int) (rows [][]byte,
	err error) {
	type parameter struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	}
	body := struct {
		Query      string      `json:"query"`
		Parameters []parameter `json:"parameters"`
	}{q.mayfly, []parameter{}}
	key := ""
	if q.partition != nil {
		key = `["` + q.partition(docs, k) + `"]`
	} else {
		for i, v := range q.params(docs, k) {
			body.Parameters = append(body.Parameters, parameter{fmt.Sprintf("@p%d", i+1), v})
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	for continuation := ""; ; {
		page, next, err := s.page(ctx, text, key, continuation)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, page...); next == "" {
			return rows, nil
		}
		continuation = next
	}
}

// page sends a query and returns the rows of its response and the continuation of the next page, "" at the
// end. It writes and parses HTTP itself: net/http's client would add as much time as a short query takes.
func (s *mayflyServer) page(_ context.Context, text []byte, key, continuation string) (rows [][]byte,
	next string, err error) {
	scope := "x-ms-documentdb-query-enablecrosspartition: true\r\nx-mayfly-serve-cross-partition: true\r\n"
	if key != "" {
		scope = "x-ms-documentdb-partitionkey: " + key + "\r\n"
	}
	if continuation != "" {
		scope += "x-ms-continuation: " + continuation + "\r\n"
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	s.out = fmt.Appendf(s.out[:0], "POST /"+link+"/docs HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/query+json\r\nx-ms-documentdb-isquery: true\r\n"+
		"x-ms-version: 2020-07-15\r\nx-ms-max-item-count: -1\r\nx-ms-date: %s\r\nAuthorization: %s\r\n"+
		"%sContent-Length: %d\r\n\r\n%s", date, s.signature(date), scope, len(text), text)
	if _, err := s.conn.Write(s.out); err != nil {
		return nil, "", err
	}
	var status string
	length := -1
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return nil, "", err
		}
		if len(line) == len("\r\n") {
			break
		}
		if status == "" {
			status = string(line)
		}
		switch name, value, _ := bytes.Cut(line, []byte(": ")); string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, "", err
			}
		case "x-ms-continuation":
			next = string(bytes.TrimSpace(value))
		}
	}
	body := make([]byte, max(length, 0))
	_, err = io.ReadFull(s.in, body)
	if err != nil || !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return nil, "", errors.Join(err, fmt.Errorf("%s: %s", status, body))
	}
	jsondoc.Of(body).Member("Documents").Each(func(_ string, row jsondoc.Value) bool {
		rows = append(rows, row.Raw())
		return true
	})
	return rows, next, nil
}

// signature returns the authorization of a query with a date, by the master key.
func (s *mayflyServer) signature(date string) string {
	mac := hmac.New(sha256.New, s.key)
	fmt.Fprintf(mac, "post\ndocs\n%s\n%s\n\n", link, strings.ToLower(date))
	return url.QueryEscape("type=master&ver=1.0&sig=" + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func (s *mayflyServer) close() error {
	err := s.server.Stop()
	if s.conn != nil {
		err = errors.Join(err, s.conn.Close())
	}
	return err
}
