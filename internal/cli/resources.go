package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"
)

// List requests all pages of a list at path and prints the rows with print, or as one JSON array with
// --json. list is the name of the response's member with the rows.
func (c *ClientCommandFlags) List(cmd *cobra.Command, path, list string,
	print func(out io.Writer, rows []json.RawMessage) error) error {
	all := []json.RawMessage{}
	err := EachPage("", func() (*http.Request, error) {
		return c.Call(cmd.Context(), http.MethodGet, path,
			nil)
	}, list,
		func(rows []json.RawMessage, _ PageHeaders) error {
			all = append(all, rows...)
			return nil
		})
	if err != nil {
		return err
	}
	if !c.JSON {
		return print(cmd.OutOrStdout(), all)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return PrintJSON(cmd.OutOrStdout(), text)
}

// Create creates a database or container by a POST of definition to path, and prints a confirmation that
// names it as what. headers are additional headers of the request; those with the value 0 are not sent.
func (c *ClientCommandFlags) Create(cmd *cobra.Command, path string, definition map[string]any,
	headers map[string]int, what string) error {
	req, err := c.Call(cmd.Context(), http.MethodPost, path, definition)
	if err != nil {
		return err
	}
	for name, value := range headers {
		if value != 0 {
			req.Header.Set(name, strconv.Itoa(value))
		}
	}
	return Show(cmd, c, req, func(out io.Writer, _ json.RawMessage) error {
		_, err := fmt.Fprintln(out, "created", what)
		return err
	})
}

// Delete deletes a database or container, if the user has confirmed it with the flag yes.
func (c *ClientCommandFlags) Delete(cmd *cobra.Command, path string, yes bool, what string) error {
	if !yes {
		return Misuse("this deletes " + what + " and all that it holds: add --yes if that is meant")
	}
	req, err := c.Call(cmd.Context(), http.MethodDelete, path, nil)
	if err != nil {
		return err
	}
	if _, err = Ask[json.RawMessage](req); err != nil {
		return err
	}
	return PrintResult(cmd.OutOrStdout(), c.JSON, "deleted "+what, map[string]string{"deleted": what})
}
