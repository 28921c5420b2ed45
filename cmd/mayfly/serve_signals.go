package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/inject"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/laboratory"
	"github.com/mayflydb/mayfly/telemetry"
)

// signalFlags say what a server tells of itself.
type signalFlags struct {
	slowQuery time.Duration
	otlp      string
	pprof     bool
}

func (f *signalFlags) register(flags *pflag.FlagSet) {
	cli.DurationFlag(flags, &f.slowQuery, "slow-query", 0,
		"log pages of queries that take at least so long, with their plans (default none)")
	flags.StringVar(&f.otlp, "otlp", "",
		"URL of an OpenTelemetry collector for traces and metrics; off sends none (default by OTEL_*)")
	flags.BoolVar(&f.pprof, "pprof", false,
		"let those who have the key read profiles of the server under /debug/pprof")
}

func (f *signalFlags) validate() error {
	if f.slowQuery < 0 {
		return cli.Misuse(fmt.Sprintf("--slow-query %v: must not be negative", f.slowQuery))
	}
	settings := f.telemetry()
	if err := settings.Validate(); err != nil {
		return cli.Misuse("--otlp: " + err.Error())
	}
	return nil
}

func (f *signalFlags) telemetry() telemetry.Settings {
	return telemetry.Settings{Endpoint: f.otlp, Variable: os.Getenv}
}

// openTelemetry begins to send where somebody wants that.
func (s *serve) openTelemetry(ctx context.Context) (err error) {
	figures := prometheus.NewRegistry()
	if err := figures.Register(laboratory.Figures(context.WithoutCancel(ctx), s.db, s.queues)); err != nil {
		return err
	}
	s.telemetry, err = telemetry.Open(ctx, s.flags.signals.telemetry(), version(), figures, s.log)
	return err
}

// withSignals adds to the options of HTTP what the server tells of itself, and its faults on demand.
func (s *serve) withSignals(o httpapi.Options) httpapi.Options {
	s.faults = inject.New(s.db.Now)
	o.Faults, o.SlowQuery, o.Profiles = s.faults, s.flags.signals.slowQuery, s.flags.signals.pprof
	if s.telemetry != nil {
		o.Observe = s.telemetry.Request
	}
	return o
}

// telemetryTime is how long a server that ends waits for a collector.
const telemetryTime = 2 * time.Second

// closeTelemetry sends what is waiting. That a collector does not take it is no failure of the server.
func (s *serve) closeTelemetry() {
	if s.telemetry == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTime)
	defer cancel()
	if err := s.telemetry.Close(ctx); err != nil {
		s.log.Warn("telemetry could not be sent", "error", err)
	}
	s.telemetry = nil
}
