package httpapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// A request whose head cannot be parsed, one with a DEL in a header for instance, reaches no handler:
// net/http writes a plain text to the connection and closes it. sniffConn.Write finds these answers by the
// connection, on which no request is under way, and writes refusal's in their place, which clients can read.

// statusLine is how an answer of HTTP/1.1 begins.
const statusLine = "HTTP/1.1 "

// refusal is the answer in the form of the protocol in place of one that net/http has made by itself; nil
// where head is no such answer.
func (s *Server) refusal(head []byte) []byte {
	if !bytes.HasPrefix(head, []byte(statusLine)) {
		return nil
	}
	code, _, _ := strings.Cut(string(head[len(statusLine):]), " ")
	status, err := strconv.Atoi(code)
	if err != nil || status < http.StatusBadRequest {
		return nil
	}
	if status != http.StatusRequestHeaderFieldsTooLarge { // the protocol has none of the others
		status = http.StatusBadRequest
	}
	_, text, _ := bytes.Cut(head, []byte("\r\n\r\n"))
	if len(text) == 0 {
		text = []byte(http.StatusText(status))
	}
	req := cosmos.Request{Activity: uuid.NewString()}
	var ans cosmos.Answer
	s.ops.Fail(&req, &ans, cosmos.Failure(status, 0, string(text)))
	defer ans.Release()
	h := http.Header{
		"Content-Type": jsonContentType, "Content-Length": {strconv.Itoa(len(ans.Body))},
		"Connection":    {"close"},
		"cache-control": noStore, "pragma": noCache, "x-ms-activity-id": {req.Activity},
		"x-ms-gatewayversion": gatewayVersion, "x-ms-serviceversion": serviceVersion,
		"x-ms-schemaversion": schemaVersion, "x-ms-request-charge": {"0"},
	}
	var out bytes.Buffer
	out.WriteString(statusLine + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	_ = h.Write(&out) // a buffer takes everything
	out.WriteString("\r\n")
	out.Write(ans.Body)
	return out.Bytes()
}
