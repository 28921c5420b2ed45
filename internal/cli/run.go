package cli

import (
	"os"

	"github.com/spf13/cobra"
)

// CommandError wraps an error of a command whose arguments cobra has accepted.
type CommandError struct{ Err error }

func (f *CommandError) Error() string { return f.Err.Error() }
func (f *CommandError) Unwrap() error { return f.Err }

// Run makes a cobra handler from f. It wraps errors of f in a CommandError.
func Run(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd, args); err != nil {
			return &CommandError{Err: err}
		}
		return nil
	}
}

// RunWithVariables makes a cobra handler from f, like Run, for a command whose flags may also be set by
// environment variables.
func RunWithVariables(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return Run(func(cmd *cobra.Command, args []string) error {
		if _, err := ApplyVariables(cmd.Flags(), os.LookupEnv); err != nil {
			return err
		}
		return f(cmd, args)
	})
}

// UsageError reports an invalid value of a flag, a variable or an argument.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return e.message }

// Misuse returns a UsageError with the given message.
func Misuse(message string) *UsageError { return &UsageError{message} }
