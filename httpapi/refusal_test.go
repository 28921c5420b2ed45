package httpapi

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestMalformedHeads checks that a request which net/http itself refuses gets an error in the form of
// Cosmos DB's protocol, on a new connection and on one with earlier requests, and that the connection is
// closed.
func TestMalformedHeads(t *testing.T) {
	t.Parallel()
	for _, withTLS := range []bool{false, true} {
		s := serve(t, withTLS, Options{})
		for head, status := range map[string]int{
			"GET /dbs HTTP/1.1\r\nHost: localhost\r\nx-ms-documentdb-partitionkey: [\"a\x7f\"]\r\n\r\n": 400,
			"GET /dbs HTTP/1.1\r\nHost: localhost\r\nbad name: 1\r\n\r\n":                               400,
			"GET /dbs HTTP/1.1\r\n\r\n": 400,
			"GET /dbs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n":                 400,
			"nonsense, and more of the same kind\r\n\r\n":                                             400,
			"GET /dbs HTTP/1.1\r\nHost: localhost\r\nx: " + strings.Repeat("x", 200<<10) + "\r\n\r\n": 431,
		} {
			for _, before := range []string{"", "GET /_mayfly/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
				malformedHead(t, s, withTLS, before, head, status)
			}
		}
		s.stop()
	}
}

func malformedHead(t *testing.T, s *listeningServer, withTLS bool, before, head string, status int) {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if withTLS {
		conn = tls.Client(conn, s.conf)
	}
	in := bufio.NewReader(conn)
	if before != "" {
		if _, err := io.WriteString(conn, before); err != nil {
			t.Fatal(err)
		}
		ok, err := http.ReadResponse(in, nil)
		if err != nil || ok.StatusCode != 200 {
			t.Fatal(ok, err)
		}
		_, _ = io.Copy(io.Discard, ok.Body)
	}
	_, _ = io.WriteString(conn, head) // the server need not read all of it
	got, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%.60q: %v", head, err)
	}
	body, err := io.ReadAll(got.Body)
	var text struct{ Code, Message string }
	if err != nil || got.StatusCode != status || json.Unmarshal(body, &text) != nil || text.Code == "" ||
		!strings.Contains(text.Message, got.Header.Get("x-ms-activity-id")) ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%.60q: %d %v %s, %v", head, got.StatusCode, got.Header, body, err)
	}
	if _, err := in.ReadByte(); err == nil {
		t.Errorf("%.60q: the connection is open", head)
	}
}
