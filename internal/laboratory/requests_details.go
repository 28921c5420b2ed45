package laboratory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue/message"
)

// LoggedRequestDetails is a request with the headers and bodies of the request and of the response. Secrets
// are masked.
type LoggedRequestDetails struct {
	LoggedRequest
	RequestHeaders  []LoggedHeader        `json:"requestHeaders" nullable:"false"`
	RequestBody     *LoggedBody           `json:"requestBody,omitempty"`
	ResponseHeaders []LoggedHeader        `json:"responseHeaders" nullable:"false"`
	ResponseBody    *LoggedBody           `json:"responseBody,omitempty"`
	Message         *LoggedRequestMessage `json:"message,omitempty" description:"Message that was sent or received."`
}

// Verbatim implements route.VerbatimResponse: characters that HTML reserves are not escaped.
func (*LoggedRequestDetails) Verbatim() {}

// LoggedHeader is one HTTP header of a logged request, or of the response to it.
type LoggedHeader struct {
	Name  string `json:"name"`
	Value string `json:"value" description:"Value of the header; secrets are shown as ***."`
}

// LoggedBody is a body, possibly truncated.
type LoggedBody struct {
	Text   string `json:"text,omitempty" description:"The body as text; binary JSON is converted."`
	Base64 string `json:"base64,omitempty" description:"The body in base64, if it is not text."`
	Cut    bool   `json:"cut,omitempty" description:"Whether only the beginning of the body was logged."`
}

// LoggedRequestMessage is a message of Service Bus that a request has sent or received.
type LoggedRequestMessage struct {
	ID            string                     `json:"id,omitempty"`
	Session       string                     `json:"session,omitempty"`
	Subject       string                     `json:"subject,omitempty"`
	CorrelationID string                     `json:"correlationId,omitempty"`
	ContentType   string                     `json:"contentType,omitempty"`
	Properties    map[string]json.RawMessage `json:"properties,omitempty"`
	Text          string                     `json:"text,omitempty"`

	Base64 string `json:"base64,omitempty" description:"Body in base64, if not text."`
}

type loggedRequestPathParameters struct {
	ID string `path:"id" description:"Id of the logged request."`
}

func (l *Laboratory) getRequest(_ context.Context, in *loggedRequestPathParameters) (LoggedRequestDetails,
	error) {
	log, err := l.log()
	if err != nil {
		return LoggedRequestDetails{}, err
	}
	id, err := strconv.ParseUint(in.ID, 10, 64)
	if err != nil || id == 0 {
		return LoggedRequestDetails{}, route.BadRequest("The id of a request is a whole number from 1.")
	}
	r := log.Details(id)
	if r == nil {
		return LoggedRequestDetails{}, route.NotFound("There is no request '" + in.ID +
			"' in the log: it never existed, or was overwritten.")
	}
	out := LoggedRequestDetails{LoggedRequest: requestOf(r), RequestHeaders: headersOf(r.Request),
		ResponseHeaders: headersOf(r.Response)}
	if r.Protocol == requestlog.AMQP {
		out.Message = requestMessageOf(r.RequestBody, r.ResponseBody)
	}
	if out.Message == nil {
		out.RequestBody = requestBodyOf(r.RequestBody, r.RequestCut)
		out.ResponseBody = requestBodyOf(r.ResponseBody, r.ResponseCut)
	}
	return out, nil
}

func headersOf(list []requestlog.HeaderField) []LoggedHeader {
	out := make([]LoggedHeader, len(list))
	for i, f := range list {
		out[i] = LoggedHeader(f)
	}
	return out
}

// maxShownBody is the maximum size in bytes of the text of a body in binary JSON. That text may be longer
// than the binary form.
const maxShownBody = 1 << 20

// requestBodyOf returns a recorded body in readable form, or nil if it is empty. cut says that the log has
// only the beginning of the body.
func requestBodyOf(b []byte, cut bool) *LoggedBody {
	if len(b) == 0 {
		return nil
	}
	if jsonbinary.Is(b) {
		if text, err := jsonbinary.AppendText(nil, b, jsondoc.Limits{MaxBytes: maxShownBody}); err == nil {
			b = text
		}
	}
	whole := b
	for i := 0; cut && i < utf8.UTFMax && len(whole) > 0 && !utf8.Valid(whole); i++ {
		whole = whole[:len(whole)-1] // the body may have been truncated within a character
	}
	if utf8.Valid(whole) {
		return &LoggedBody{Text: string(whole), Cut: cut}
	}
	return &LoggedBody{Base64: base64.StdEncoding.EncodeToString(b), Cut: cut}
}

// requestMessageOf parses the message that a request has sent or received. It returns nil if there is none,
// or if the body was truncated.
func requestMessageOf(bodies ...[]byte) *LoggedRequestMessage {
	for _, b := range bodies {
		if len(b) == 0 {
			continue
		}
		m, err := message.Parse(b)
		if err != nil {
			continue
		}
		properties, _ := propertiesOf(m.Application)
		out := &LoggedRequestMessage{ID: m.Text(message.MessageID), Session: m.Text(message.GroupID),
			Subject: m.Text(message.Subject), CorrelationID: m.Text(message.CorrelationID),
			ContentType: m.Text(message.ContentType), Properties: properties}
		out.Text, out.Base64 = bodyOf(m)
		return out
	}
	return nil
}
