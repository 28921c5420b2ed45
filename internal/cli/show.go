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

// RegisterJSON adds the flag that prints the server's answer as JSON.
func (c *ClientCommandFlags) RegisterJSON(flags *pflag.FlagSet) {
	flags.BoolVar(&c.JSON, "json", false, "print the server's response as JSON, for programs")
}

// RegisterJSONAnyway adds the flag --json without an effect to a command that always prints JSON, so that
// scripts can pass it to every command.
func (c *ClientCommandFlags) RegisterJSONAnyway(flags *pflag.FlagSet) {
	flags.BoolVar(&c.JSON, "json", false, "has no effect: the output is JSON anyway")
}

// RegisterResultJSON adds the flag that prints the command's own result as JSON.
func RegisterResultJSON(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print the result as JSON, for programs")
}

// PrintResult prints the command's own result: result as JSON if asJSON is set, otherwise line.
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

// Show sends a request and prints the response: with print, or unchanged if --json is given.
func Show[T any](cmd *cobra.Command, c *ClientCommandFlags, req *http.Request,
	print func(out io.Writer, answer T) error) error {
	raw, err := Ask[json.RawMessage](req)
	if err != nil {
		return err
	}
	if c.JSON {
		return PrintJSON(cmd.OutOrStdout(), raw)
	}
	var answer T
	if len(raw) == 0 {
		return print(cmd.OutOrStdout(), answer)
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return &UnexpectedResponseError{URL: req.URL, Err: err}
	}
	return print(cmd.OutOrStdout(), answer)
}

// PrintJSON prints a JSON value over several lines. It prints nothing if there is no value.
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
