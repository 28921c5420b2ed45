package cli

import (
	"log/slog"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/tree"
)

// SettingSource is where a setting comes from. A higher value takes precedence.
type SettingSource int

const (
	fromDefault  SettingSource = iota
	FromEmulator               // an environment variable of one of Microsoft's emulators
	fromVariable
	FromFlag // the command line
)

// Variable returns the name of the environment variable that sets a flag.
func Variable(flag string) string {
	return "MAYFLY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// WarnMisspelled warns about environment variables whose names are close to those of flags but match none.
// Such variables have no effect.
func WarnMisspelled(log *slog.Logger, flags *pflag.FlagSet, environment []string) {
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		meant, ours := strings.CutPrefix(name, Variable(""))
		if !ours || flags.Lookup(strings.ToLower(strings.ReplaceAll(meant, "_", "-"))) != nil {
			continue
		}
		var names []string
		flags.VisitAll(func(f *pflag.Flag) {
			names = append(names, strings.TrimPrefix(Variable(f.Name), Variable("")))
		})
		if nearest := Nearest(meant, names); nearest != "" {
			log.Warn("unknown environment variable", "variable", name, "meant", Variable(nearest))
		}
	}
}

// Nearest returns the name that differs least from a misspelled one, or "" if none is close.
func Nearest(misspelled string, names []string) (nearest string) {
	distance := min(3, (len(misspelled)+1)/2)
	for _, name := range names {
		if d := tree.Edits(misspelled, name); d < distance {
			nearest, distance = name, d
		}
	}
	return nearest
}

// ApplyVariables sets each flag that was not given from its environment variable. It returns where the value
// of each flag comes from.
//
// For a service called "mayfly", Kubernetes sets MAYFLY_PORT to its address, such as tcp://10.0.0.1:8081, in
// every container of the namespace. No user has set such a value, so it is ignored.
func ApplyVariables(flags *pflag.FlagSet, lookup func(string) (string, bool)) (map[string]SettingSource,
	error) {
	sources := map[string]SettingSource{}
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
