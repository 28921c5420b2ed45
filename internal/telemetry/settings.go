package telemetry

import (
	"errors"
	"net/url"
	"strings"
)

// Off is the endpoint for sending nothing, whatever the environment variables say.
const Off = "off"

// Settings says whether telemetry is sent, and where.
type Settings struct {
	// Endpoint is the URL of a collector, to which v1/traces and v1/metrics are appended. With Off nothing
	// is sent. If it is empty, the environment variables decide.
	Endpoint string
	// Variable returns the value of an environment variable.
	Variable func(name string) string
}

// The kinds of data that can be sent (signals), with the names that environment variables use.
const (
	traces  = "TRACES"
	metrics = "METRICS"
)

// wanted reports whether a signal (traces or metrics) is to be sent: if the endpoint is set, or a standard
// environment variable such as OTEL_EXPORTER_OTLP_ENDPOINT requests it. If a variable requests an exporter
// or a protocol that this program does not support, that is no error, since such variables apply to all
// programs of a machine: the signal is not sent, and why is the reason.
func (s *Settings) wanted(signal string) (yes bool, why string) {
	if s.Endpoint == Off || strings.EqualFold(s.Variable("OTEL_SDK_DISABLED"), "true") {
		return false, ""
	}
	exporter := s.Variable("OTEL_" + signal + "_EXPORTER")
	switch {
	case exporter == "none":
		return false, ""
	case s.Endpoint != "":
		return true, ""
	case exporter != "" && exporter != "otlp":
		return false, "OTEL_" + signal + "_EXPORTER asks for " + exporter + ", and there is otlp alone"
	case exporter == "" && s.Variable("OTEL_EXPORTER_OTLP_ENDPOINT") == "" &&
		s.Variable("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") == "":
		return false, ""
	}
	protocol := s.Variable("OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL")
	if protocol == "" {
		protocol = s.Variable("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" {
		return false, "OTEL_EXPORTER_OTLP_PROTOCOL asks for " + protocol +
			", and there is http/protobuf alone"
	}
	return true, ""
}

var errEndpoint = errors.New("the collector must be a URL such as http://localhost:4318, or " + Off)

// Validate returns an error if the endpoint is invalid.
func (s *Settings) Validate() error {
	if s.Endpoint == "" || s.Endpoint == Off {
		return nil
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errEndpoint
	}
	return nil
}

// address returns the URL to which a signal is sent. It returns "" if the environment variables set it.
func (s *Settings) address(path string) string {
	if s.Endpoint == "" {
		return ""
	}
	return strings.TrimRight(s.Endpoint, "/") + path
}
