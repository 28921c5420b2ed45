package laboratory

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/requestlog"
)

// HARFile is an HTTP archive, version 1.2 (http://www.softwareishard.com/blog/har-12-spec/). It contains
// direct-mode requests in their HTTP form. It does not contain AMQP operations.
type HARFile struct {
	Log HARLog `json:"log"`
}

// Verbatim marks the response as a route.VerbatimResponse: its JSON is sent without escapes for the
// characters that HTML reserves.
func (*HARFile) Verbatim() {}

// HARLog is the content of an archive.
type HARLog struct {
	Version string     `json:"version"`
	Creator HARCreator `json:"creator"`
	Entries []HAREntry `json:"entries" nullable:"false"`
}

// HARCreator is the program that created an archive.
type HARCreator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// HAREntry is an entry of a HAR file (HTTP Archive): a request with its response.
type HAREntry struct {
	Started  string      `json:"startedDateTime" format:"date-time"`
	Time     float64     `json:"time" description:"Duration in milliseconds."`
	Request  HARRequest  `json:"request"`
	Response HARResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  HARTimings  `json:"timings"`
	Comment  string      `json:"comment,omitempty"`
}

// HARRequest is the request of a HAREntry, in the HTTP Archive format (HAR), in which logged requests can be
// exported.
type HARRequest struct {
	Method      string         `json:"method"`
	URL         string         `json:"url"`
	HTTPVersion string         `json:"httpVersion"`
	Cookies     []LoggedHeader `json:"cookies" nullable:"false"`
	Headers     []LoggedHeader `json:"headers" nullable:"false"`
	Query       []LoggedHeader `json:"queryString" nullable:"false"`
	PostData    *HARPostData   `json:"postData,omitempty"`
	HeadersSize int64          `json:"headersSize" description:"Always -1: unknown."`
	BodySize    int64          `json:"bodySize"`
}

// HARPostData is the body of a request.
type HARPostData struct {
	MimeType string `json:"mimeType"`
	Text     string `json:"text"`
	Comment  string `json:"comment,omitempty"`
}

// HARResponse is the response in an entry of a HAR file (HTTP Archive).
type HARResponse struct {
	Status      int            `json:"status"`
	StatusText  string         `json:"statusText"`
	HTTPVersion string         `json:"httpVersion"`
	Cookies     []LoggedHeader `json:"cookies" nullable:"false"`
	Headers     []LoggedHeader `json:"headers" nullable:"false"`
	Content     HARContent     `json:"content"`
	RedirectURL string         `json:"redirectURL"`
	HeadersSize int64          `json:"headersSize"`
	BodySize    int64          `json:"bodySize"`
}

// HARContent is the body of a response.
type HARContent struct {
	Size     int64  `json:"size"`
	MimeType string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Comment  string `json:"comment,omitempty"`
}

// HARTimings holds the parts of a request's duration. The server knows only the total duration.
type HARTimings struct {
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

type exportHARFileRequest struct {
	requestLogFilter
	Limit int `query:"limit" minimum:"1" maximum:"10000" default:"1000" description:"Maximum number of requests, the latest ones."`
	ResponseMemoryReserver
	_ struct{} `takes:"an archive takes %"`
}

func (l *Laboratory) archiveRequests(_ context.Context, in *exportHARFileRequest) (HARFile, error) {
	out := HARFile{HARLog{Version: "1.2", Creator: HARCreator{"Mayfly", "1"},
		Entries: []HAREntry{}}}
	f, err := in.filter(l.opt.Wall.Now())
	if err != nil {
		return out, err
	}
	log, err := l.log()
	if err != nil {
		return out, err
	}
	if err := in.ResponseMemoryReserver.take(); err != nil {
		return out, err
	}
	list, _ := log.Read(0, f).Next()
	for _, brief := range list[max(len(list)-in.Limit, 0):] {
		if brief.Protocol == requestlog.AMQP {
			continue
		}
		if r := log.Find(brief.ID); r != nil { // nil if the entry has been overwritten in the meantime
			out.Log.Entries = append(out.Log.Entries, archiveEntryOf(r))
		}
	}
	return out, nil
}

func archiveEntryOf(r *requestlog.RetrievedEntry) HAREntry {
	version := "HTTP/1.1"
	if r.Protocol == requestlog.Direct {
		version = "RNTBD"
	}
	ms := float64(r.Took.Microseconds()) / 1000
	e := HAREntry{Started: r.Began.Format(time.RFC3339Nano), Time: ms, Timings: HARTimings{Wait: ms},
		Request: HARRequest{Method: r.Method, URL: absolute(r), HTTPVersion: version,
			Cookies: []LoggedHeader{}, Headers: headersOf(r.Request), Query: queryOf(r.URI), HeadersSize: -1,
			BodySize: r.In},
		Response: HARResponse{Status: r.Status, StatusText: http.StatusText(r.Status),
			HTTPVersion: version,
			Cookies:     []LoggedHeader{}, Headers: headersOf(r.Response), HeadersSize: -1, BodySize: r.Out,
			Content: HARContent{Size: r.Out, MimeType: cmp.Or(r.Answered("Content-Type"),
				"application/octet-stream")}}}
	if r.Rule != "" {
		e.Comment = "It met the fault on demand " + r.Rule + "."
	}
	if body := requestBodyOf(r.RequestBody, r.RequestCut); body != nil {
		e.Request.PostData = &HARPostData{MimeType: cmp.Or(r.Sent("Content-Type"),
			"application/octet-stream"), Text: body.Text + body.Base64, Comment: commentOf(body)}
	}
	if body := requestBodyOf(r.ResponseBody, r.ResponseCut); body != nil {
		c := &e.Response.Content
		c.Text, c.Comment = body.Text+body.Base64, commentOf(body)
		if body.Base64 != "" {
			c.Encoding = "base64"
		}
	}
	return e
}

func commentOf(b *LoggedBody) string {
	if b.Cut {
		return "The body was longer."
	}
	return ""
}

// absolute returns the complete URL of a request, which an archive must contain.
func absolute(r *requestlog.RetrievedEntry) string {
	host := cmp.Or(r.Host, "localhost:8081")
	return "http://" + host + "/" + strings.TrimPrefix(r.URI, "/")
}

func queryOf(uri string) []LoggedHeader {
	out := []LoggedHeader{}
	_, query, _ := strings.Cut(uri, "?")
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, bad := url.QueryUnescape(name)
		value, wrong := url.QueryUnescape(value)
		if name != "" && bad == nil && wrong == nil {
			out = append(out, LoggedHeader{name, value})
		}
	}
	return out
}
