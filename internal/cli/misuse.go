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

// Family makes cmd a command that does nothing without one of its subcommands: it says which there are, and
// which was probably meant.
func Family(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
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
			near = begun // one that was not typed to its end is closer than one with other letters
		}
		if len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return Misuse(fmt.Sprintf("there is no command %q in %s: %s", args[0], cmd.CommandPath(), hint))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// FlagError says what is wrong with a flag in the words of who uses it.
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

// HowMany is n with the word for what is counted.
func HowMany[N int | int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// TellArguments lets cmd and all below it say in plain words which argument is missing or too much.
func TellArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		TellArguments(sub)
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

// CheckJSON refuses a text that is not one JSON value, with the place where it ceases to be one.
func CheckJSON(name string, text []byte) error {
	if err := tree.CheckJSON(name, text); err != nil {
		return Misuse(err.Error())
	}
	return nil
}

// BadValue is the error for a value that a flag cannot have; name is how it was given.
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
		want = "it must be a duration such as 90s, 5m or 14d"
	default:
		want = cause.Error()
	}
	return Misuse(fmt.Sprintf("%s %q: %s", name, value, want))
}
