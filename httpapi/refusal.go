package httpapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// A request whose head net/http cannot parse, such as one with a DEL character in a header, reaches no
// handler: net/http writes a response in plain text and closes the connection. sniffConn.Write recognizes
// such a response, because no request is in progress on the connection, and replaces it by a response in the
// form of Cosmos DB's protocol, which refusal makes.

// statusLine is the beginning of an HTTP/1.1 response.
const statusLine = "HTTP/1.1 "

// refusal returns the response in the form of Cosmos DB's protocol that replaces an error response of
// net/http. It returns nil if head is not the head of such a response.
func (s *Server) refusal(head []byte) []byte {
	if !bytes.HasPrefix(head, []byte(statusLine)) {
		return nil
	}
	code, _, _ := strings.Cut(string(head[len(statusLine):]), " ")
	status, err := strconv.Atoi(code)
	if err != nil || status < http.StatusBadRequest {
		return nil
	}
	// Cosmos DB's protocol does not have the other statuses
	if status != http.StatusRequestHeaderFieldsTooLarge {
		status = http.StatusBadRequest
	}
	_, text, _ := bytes.Cut(head, []byte("\r\n\r\n"))
	if len(text) == 0 {
		text = []byte(http.StatusText(status))
	}
	req := cosmos.Request{Activity: uuid.NewString()}
	var ans cosmos.Response
	s.ops.Fail(&req, &ans, cosmos.Failure(status, 0, string(text)))
	defer ans.Release()
	h := http.Header{
		"Content-Type": {echo.MIMEApplicationJSON}, "Content-Length": {strconv.Itoa(len(ans.Body))},
		"Connection":    {"close"},
		"cache-control": {noStore}, "pragma": {noCache}, "x-ms-activity-id": {req.Activity},
		"x-ms-gatewayversion": {gatewayVersion}, "x-ms-serviceversion": {serviceVersion},
		"x-ms-schemaversion": {schemaVersion}, "x-ms-request-charge": {"0"},
	}
	var out bytes.Buffer
	out.WriteString(statusLine + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	_ = h.Write(&out) // writes to a buffer do not fail
	out.WriteString("\r\n")
	out.Write(ans.Body)
	return out.Bytes()
}
