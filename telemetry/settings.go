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

// wanted tells whether a signal is to be sent: where the endpoint says so, or a variable of the standard that
// names a collector or an exporter.
func (s *Settings) wanted(signal string) bool {
	if s.Endpoint == Off || strings.EqualFold(s.Variable("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch exporter := s.Variable("OTEL_" + signal + "_EXPORTER"); {
	case exporter == "none":
		return false
	case s.Endpoint != "" || exporter == "otlp":
		return true
	}
	return s.Variable("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		s.Variable("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// Errors of settings.
var (
	errEndpoint = errors.New("the collector must be a URL such as http://localhost:4318, or " + Off)
	errProtocol = errors.New("the variable OTEL_EXPORTER_OTLP_PROTOCOL asks for another protocol than " +
		"http/protobuf, which is the only one")
	errExporter = errors.New("the variables OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER can be otlp " +
		"or none")
)

// Validate says what is wrong with the settings.
func (s *Settings) Validate() error {
	if s.Endpoint != "" && s.Endpoint != Off {
		u, err := url.Parse(s.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errEndpoint
		}
	}
	for _, signal := range []string{traces, metrics} {
		if !s.wanted(signal) {
			continue
		}
		protocol := s.Variable("OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL")
		if protocol == "" {
			protocol = s.Variable("OTEL_EXPORTER_OTLP_PROTOCOL")
		}
		if protocol != "" && protocol != "http/protobuf" {
			return errProtocol
		}
		if e := s.Variable("OTEL_" + signal + "_EXPORTER"); e != "" && e != "otlp" {
			return errExporter
		}
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
