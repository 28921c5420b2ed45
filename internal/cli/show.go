package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RegisterJSON adds the flag that prints an answer as the server gives it.
func (c *ServerCall) RegisterJSON(flags *pflag.FlagSet) {
	flags.BoolVar(&c.Json, "json", false, "print the server's answer as JSON, for programs")
}

// RegisterJSONAnyway adds the flag to a command that prints JSON without it: a program may give it to every
// command.
func (c *ServerCall) RegisterJSONAnyway(flags *pflag.FlagSet) {
	flags.BoolVar(&c.Json, "json", false, "print JSON, as without it")
}

// RegisterResultJSON adds the flag that prints what a command has found by itself as JSON.
func RegisterResultJSON(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print the result as JSON, for programs")
}

// PrintResult prints what a command has found by itself: for people as a line, or as JSON.
func PrintResult(out io.Writer, asJSON bool, line string, result any) error {
	if !asJSON {
		_, err := fmt.Fprintln(out, line)
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return PrintJSON(out, text)
}

// Show asks, and prints the answer: for people by print, or with --json as it is.
func Show[T any](cmd *cobra.Command, c *ServerCall, req *http.Request,
	print func(out io.Writer, answer T) error) error {
	raw, err := Ask[json.RawMessage](req)
	if err != nil {
		return err
	}
	if c.Json {
		return PrintJSON(cmd.OutOrStdout(), raw)
	}
	var answer T
	if len(raw) == 0 {
		return print(cmd.OutOrStdout(), answer)
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return &StrangeAnswer{URL: req.URL, Err: err}
	}
	return print(cmd.OutOrStdout(), answer)
}

// PrintJSON prints a JSON value over several lines; nothing for no value.
func PrintJSON(out io.Writer, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, raw, "", "  "); err != nil {
		return err
	}
	text.WriteByte('\n')
	_, err := out.Write(text.Bytes())
	return err
}
