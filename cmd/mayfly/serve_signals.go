package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
	product "github.com/mayflydb/mayfly/internal/serve"
	"github.com/mayflydb/mayfly/internal/telemetry"
)

// telemetryFlags holds the flags for diagnosis: the duration from which a query is logged as slow, the
// OpenTelemetry collector to which traces and metrics are sent, and whether profiles are served.
type telemetryFlags struct {
	slowQuery time.Duration
	otlp      string
	pprof     bool
}

func (f *telemetryFlags) register(flags *pflag.FlagSet) {
	cli.DurationFlag(flags, &f.slowQuery, "slow-query", 0,
		"log pages of queries that take at least this long, with their plans (default none)")
	flags.StringVar(&f.otlp, "otlp", "",
		"URL of an OpenTelemetry collector for traces and metrics; off sends none (default by OTEL_*)")
	flags.BoolVar(&f.pprof, "pprof", false,
		"serve profiles under /debug/pprof to clients with the master key")
}

func (f *telemetryFlags) validate() error {
	if f.slowQuery < 0 {
		return cli.Misuse(fmt.Sprintf("--slow-query %v: must not be negative", f.slowQuery))
	}
	settings := f.telemetry()
	if err := settings.Validate(); err != nil {
		return cli.Misuse("--otlp: " + err.Error())
	}
	return nil
}

func (f *telemetryFlags) telemetry() telemetry.Settings {
	return telemetry.Settings{Endpoint: f.otlp, Variable: os.Getenv}
}

// openTelemetry starts to send traces and metrics, as the flags and environment variables say. It returns
// nil if nothing is to be sent.
func (s *serveCommandState) openTelemetry(ctx context.Context,
	figures prometheus.Gatherer) (product.Telemetry,
	error) {
	t, err := telemetry.Open(ctx, s.flags.signals.telemetry(), version(), figures, s.log)
	if t == nil {
		return nil, err // an interface that holds a nil pointer is not nil
	}
	return t, err
}
