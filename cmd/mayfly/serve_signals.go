package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// signalFlags say what a server tells of itself.
type signalFlags struct {
	slowQuery time.Duration
}

func (f *signalFlags) register(flags *pflag.FlagSet) {
	flags.DurationVar(&f.slowQuery, "slow-query", 0,
		"log pages of queries that take at least so long, with their plans (default none)")
}

func (f *signalFlags) validate() error {
	if f.slowQuery < 0 {
		return &usageError{fmt.Sprintf("--slow-query %v: must not be negative", f.slowQuery)}
	}
	return nil
}
