package httpapi

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// echoBody calls readBody for a request that addresses a resource of kind k. It returns the status of the
// response and the number of bytes read; the number is -1 if reading failed.
func echoBody(t *testing.T, r *http.Request, k cosmos.ResourceKind) (int, int) {
	read := -1
	w, _ := answerTo(t, r, func(c *activeRequest) error {
		c.setTarget(targetResource{kind: k})
		if err := c.readBody(); err != nil {
			return err
		}
		read = len(c.req.Body)
		return c.noContent(200)
	})
	return w.Code, read
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	maxBody, maxItemBody := cosmos.KindDatabase.MaxBody(), cosmos.KindItem.MaxBody()
	for _, chunked := range []bool{false, true} {
		for _, tc := range []struct {
			kind   cosmos.ResourceKind
			size   int
			status int
		}{
			{cosmos.KindDatabase, 0, 200}, {cosmos.KindDatabase, 1, 200}, {cosmos.KindDatabase, maxBody,
				200}, {cosmos.KindDatabase, maxBody + 1, 413},
			{cosmos.KindItem, maxBody + 1, 200}, {cosmos.KindItem, maxItemBody, 200}, {cosmos.KindItem,
				maxItemBody + 1, 413},
		} {
			r := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, tc.size)))
			if chunked {
				r.ContentLength = -1
			}
			status, read := echoBody(t, r, tc.kind)
			if status != tc.status || status == 200 && read != tc.size {
				t.Errorf("chunked %v, %d bytes: %d, %d read", chunked, tc.size, status, read)
			}
		}
	}
	short := httptest.NewRequest("POST", "/", strings.NewReader("ab"))
	short.ContentLength = 3
	if status, _ := echoBody(t, short, cosmos.KindItem); status != 400 {
		t.Errorf("a body that ended early: %d", status)
	}
}

// TestResponseToRefusedLargeBody checks that a client that sends its whole body before it reads receives the
// response, even if the server refuses the request because of its size or its missing authorization.
func TestResponseToRefusedLargeBody(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"413": {NoAuth: true}, "401": {}} {
		s := serve(t, true, o)
		for _, size := range []int64{maxDrain - 1<<20, maxDrain + 1<<20, 3 * maxDrain} {
			for _, scheme := range []string{"http", "https"} {
				for _, chunked := range []bool{false, true} {
					what := fmt.Sprintf("%s, %s, %d MB, chunked %v", name, scheme, size>>20, chunked)
					if status := strconv.Itoa(s.sendAll(t, scheme, size, chunked)); status != name {
						t.Errorf("%s: %s", what, status)
					}
				}
			}
		}
		q, err := http.NewRequest("POST", "https://"+s.addr+"/dbs/a/colls/b/docs",
			io.LimitReader(zeroReader{}, 3*maxDrain))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.client2(t).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if strconv.Itoa(r.StatusCode) != name {
			t.Errorf("%s: %s over HTTP/2", name, r.Status)
		}
		s.stop()
	}
}

// zeroReader is an endless request body of zero bytes.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// sendAll sends a request with a body of size bytes, and reads the response only after that. It returns
// the status.
func (s *listeningServer) sendAll(t *testing.T, scheme string, size int64, chunked bool) int {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	if scheme == "https" {
		conn = tls.Client(conn, s.conf)
	}
	defer conn.Close()
	out := bufio.NewWriter(conn)
	head := "POST /dbs/a/colls/b/docs HTTP/1.1\r\nHost: localhost\r\n"
	if chunked {
		fmt.Fprintf(out, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n", head, size)
	} else {
		fmt.Fprintf(out, "%sContent-Length: %d\r\n\r\n", head, size)
	}
	_, err = io.CopyN(out, zeroReader{}, size)
	if chunked && err == nil {
		_, err = out.WriteString("\r\n0\r\n\r\n")
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		t.Errorf("%s, %d MB, chunked %v: broken off while sending: %v", scheme, size>>20, chunked, err)
		return 0
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) == 0 {
		t.Errorf("%s, %d MB, chunked %v: the body %q, %v", scheme, size>>20, chunked, body, err)
	}
	return r.StatusCode
}

// TestContentLengthAboveLimit checks that a request whose Content-Length is far above the limit gets 413
// without the server reading the body, and that the connection is then closed.
func TestContentLengthAboveLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, false, Options{NoAuth: true})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /dbs/a/colls/b/docs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n",
		int64(1)<<40)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != 413 || !r.Close ||
		!strings.HasPrefix(gjson.GetBytes(body, "message").Str,
			`Message: {"Errors":["Request size is too large"]}`+"\r\n") {
		t.Errorf("%s, close %v: %s %v", r.Status, r.Close, body, err)
	}
}

func TestExpectContinue(t *testing.T) {
	t.Parallel()
	s := serve(t, false, Options{NoAuth: true})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /dbs/a/colls/b/docs HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", 100<<20)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 413 {
		t.Errorf("status %d, want 413 without a 100 before it", r.StatusCode)
	}
}
