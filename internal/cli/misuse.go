package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/tree"
)

// ParentCommand makes cmd a command that only has subcommands. If it is called without a known subcommand,
// it fails with a list of them and with the one that was probably meant.
func ParentCommand(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(members...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := "`" + cmd.CommandPath() + " --help` lists them all"
		near := cmd.SuggestionsFor(args[0])
		if begun := slices.DeleteFunc(slices.Clone(near), func(name string) bool {
			return !strings.HasPrefix(name, args[0])
		}); len(begun) > 0 {
			near = begun // the beginning of a word is a better match than a misspelled one
		}
		if len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return Misuse(fmt.Sprintf("there is no command %q in %s: %s", args[0], cmd.CommandPath(), hint))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// FlagError returns an error about a flag in words that users understand.
func FlagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return BadValue(bad.GetFlag(), "--"+bad.GetFlag().Name, bad.GetValue(), bad.Unwrap())
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		given := "-" + unknown.GetSpecifiedShortnames()
		if _, err := strconv.ParseFloat(given, 64); err == nil {
			return Misuse(given + " is taken for a flag: an argument below zero comes after --, as in -- " + given)
		}
	}
	return Misuse(fmt.Sprintf("%v (`%s --help` lists them all)", err, cmd.CommandPath()))
}

// Plural returns the number n followed by a noun: one if n is 1, otherwise more.
func Plural[N int | int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// ReportArguments makes cmd and its subcommands report missing and extra arguments in plain words.
func ReportArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		ReportArguments(sub)
	}
	fits := cmd.Args
	if fits == nil || cmd.HasSubCommands() && cmd.Name() != "bench" {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if fits(cmd, args) == nil {
			return nil
		}
		what := "an argument"
		name, places, _ := strings.Cut(cmd.Use, " ")
		switch needed := strings.Fields(places); {
		case len(args) > len(needed) || len(args) > 0 && needed[0][0] == '[':
			what = fmt.Sprintf("%q is too much", args[len(args)-1])
		case len(args) < len(needed):
			what = needed[len(args)] + " is missing"
		}
		called := strings.TrimSpace(strings.TrimSuffix(cmd.CommandPath(), name) + cmd.Use)
		return Misuse(what + ": it is called as `" + called + "`")
	}
}

// CheckJSON returns an error with a position if a text is not one JSON value.
func CheckJSON(name string, text []byte) error {
	if err := tree.CheckJSON(name, text); err != nil {
		return Misuse(err.Error())
	}
	return nil
}

// BadValue returns the usage error for an invalid value of a flag. name says where the value was given, such
// as "--port" or "MAYFLY_PORT"; cause is the error of parsing it.
func BadValue(f *pflag.Flag, name, value string, cause error) error {
	want := ""
	switch kind := f.Value.Type(); {
	case f.Name == "port":
		want = "a port is a number from 0 to 65535"
	case strings.HasPrefix(kind, "int"):
		want = "it must be a whole number"
	case strings.HasPrefix(kind, "float"):
		want = "it must be a number"
	case kind == "bool":
		want = "it must be true or false"
	case kind == "duration":
		want = "it must be a duration such as 90s, 5m, 14d or PT1H, or a number of seconds"
	default:
		want = cause.Error()
	}
	return Misuse(fmt.Sprintf("%s %q: %s", name, value, want))
}
