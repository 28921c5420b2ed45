package telemetry

import (
	"errors"
	"net/url"
	"strings"
)

// Off is the endpoint that sends nothing, whatever the variables say.
const Off = "off"

// Settings say whether telemetry is sent, and where to.
type Settings struct {
	// Endpoint is the URL of a collector, to which v1/traces and v1/metrics are appended; Off sends nothing.
	// Empty: the variables decide.
	Endpoint string
	// Variable reads a variable of the environment.
	Variable func(name string) string
}

// signals are what can be sent, as variables name them.
const (
	traces  = "TRACES"
	metrics = "METRICS"
)

// wanted reports whether a signal is to be sent: where the endpoint says so, or a variable of the standard
// that names a collector or an exporter. The variables are there for all programs of a machine: what they ask
// for that this one does not have is a reason not to send, and no error.
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

// Validate says what is wrong with the endpoint.
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

// address is where a signal goes, empty where the variables say it.
func (s *Settings) address(path string) string {
	if s.Endpoint == "" {
		return ""
	}
	return strings.TrimRight(s.Endpoint, "/") + path
}
