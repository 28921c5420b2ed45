package cli

import (
	"log/slog"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/tree"
)

// Source reports where a setting comes from; a higher one wins.
type Source int

const (
	fromDefault  Source = iota
	FromEmulator        // a variable of an official emulator
	fromVariable
	FromFlag // the command line
)

// Variable is the environment variable of a flag.
func Variable(flag string) string {
	return "MAYFLY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// TellMisspelled names variables that are spelled nearly as those of flags, and are of none: a start would
// leave them alone in silence.
func TellMisspelled(log *slog.Logger, flags *pflag.FlagSet, environment []string) {
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		meant, ours := strings.CutPrefix(name, Variable(""))
		if !ours || flags.Lookup(strings.ToLower(strings.ReplaceAll(meant, "_", "-"))) != nil {
			continue
		}
		nearest, distance := "", min(3, (len(meant)+1)/2)
		flags.VisitAll(func(f *pflag.Flag) {
			if d := tree.Edits(name, Variable(f.Name)); d < distance {
				nearest, distance = Variable(f.Name), d
			}
		})
		if nearest != "" {
			log.Warn("a variable is not known", "variable", name, "meant", nearest)
		}
	}
}

// ApplyVariables sets every flag that was not given from its variable and tells each flag's source.
//
// Kubernetes puts the address of a service called "mayfly" into MAYFLY_PORT, as tcp://10.0.0.1:8081, in every
// container of its namespace. Such a value is nobody's wish and is left alone.
func ApplyVariables(flags *pflag.FlagSet, lookup func(string) (string, bool)) (map[string]Source, error) {
	sources := map[string]Source{}
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			sources[f.Name] = FromFlag
			return
		}
		name := Variable(f.Name)
		value, ok := lookup(name)
		if f.Name == "help" || !ok || value == "" || strings.HasPrefix(value, "tcp://") {
			return
		}
		if err := f.Value.Set(value); err != nil {
			if first == nil {
				first = BadValue(f, name, value, err)
			}
			return
		}
		sources[f.Name] = fromVariable
	})
	return sources, first
}
