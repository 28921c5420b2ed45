package collector

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// OTLPTestServer is an HTTP server that receives traces and metrics in the OpenTelemetry protocol (OTLP, as
// protobuf) and stores them for a test. It is safe for concurrent use.
type OTLPTestServer struct {
	URL string // address of the server, without a slash at the end

	mu       sync.Mutex
	spans    []*trace.Span
	metrics  []*metrics.Metric
	resource *resource.Resource
	headers  []http.Header
}

// New starts a collector that is closed at the end of the test.
func New(t testing.TB) *OTLPTestServer {
	t.Helper()
	c := new(OTLPTestServer)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		in := new(collectortrace.ExportTraceServiceRequest)
		if !receive(t, w, r, in, new(collectortrace.ExportTraceServiceResponse)) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.headers = append(c.headers, r.Header)
		for _, of := range in.ResourceSpans {
			c.resource = of.Resource
			for _, s := range of.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		in := new(collectormetrics.ExportMetricsServiceRequest)
		if !receive(t, w, r, in, new(collectormetrics.ExportMetricsServiceResponse)) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, of := range in.ResourceMetrics {
			for _, s := range of.ScopeMetrics {
				c.metrics = append(c.metrics, s.Metrics...)
			}
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// receive decodes the message in a request into in, and responds with out. If the request is malformed, it
// fails the test and returns false.
func receive(t testing.TB, w http.ResponseWriter, r *http.Request, in, out proto.Message) bool {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			t.Error(err)
			return false
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(raw, in)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s of type %s: %v", r.URL, r.Header.Get("Content-Type"), err)
		return false
	}
	answer, err := proto.Marshal(out)
	if err != nil {
		t.Error(err)
		return false
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, err = w.Write(answer)
	return err == nil
}

// Spans returns the received spans.
func (c *OTLPTestServer) Spans() []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*trace.Span(nil), c.spans...)
}

// Span returns the first received span with a name, or nil if there is none.
func (c *OTLPTestServer) Span(name string) *trace.Span {
	for _, s := range c.Spans() {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Metric returns the last received metric with a name, or nil if there is none.
func (c *OTLPTestServer) Metric(name string) (last *metrics.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.metrics {
		if m.Name == name {
			last = m
		}
	}
	return last
}

// Resource returns the attributes by which the sender describes itself.
func (c *OTLPTestServer) Resource() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Attributes(c.resource.GetAttributes())
}

// Headers returns the headers of the requests with spans.
func (c *OTLPTestServer) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Attributes returns the values of attributes by name.
func Attributes(list []*common.KeyValue) map[string]any {
	out := make(map[string]any)
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = v.IntValue
		case *common.AnyValue_DoubleValue:
			out[a.Key] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			out[a.Key] = v.BoolValue
		}
	}
	return out
}
