package main

import (
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

func serversCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the running servers that share their data",
		Args:  cobra.NoArgs,
		Long: "List the running servers that have the same PostgreSQL database open: the name of the\n" +
			"machine, the address, the version, when the server was started and when it was last seen,\n" +
			"and the work that it does for all of them. A server that keeps its data in a folder is alone.",
	}
	c.RegisterServer(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		req, err := c.Call(cmd.Context(), http.MethodGet, "_mayfly/servers", nil)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, printServers)
	})
	return cmd
}

func printServers(out io.Writer, answer laboratory.ServerList) error {
	var t textTable
	t.add("name", "address", "version", "started", "last seen", "leases")
	for _, s := range answer.Servers {
		t.add(plain(s.Name), plain(s.Address), plain(s.Version), s.Started, s.LastSeen,
			strings.Join(s.Leases, ", "))
	}
	return t.print(out)
}
