package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// healthTimeout is the time limit of `mayfly health`: a server that does not answer within it counts as
// not ready.
const healthTimeout = 5 * time.Second

func healthCommand() *cobra.Command {
	var url, host string
	var port int
	var asJSON, emulators bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether a server is ready: exit code 0 or 1, for container health checks",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&url, "url", "", "base URL of the server; else it is made from the host and port")
	cmd.Flags().StringVar(&host, "host", defaultHost, "host that the server listens on")
	cmd.Flags().IntVar(&port, "port", cli.DefaultPort, "port that the server listens on")
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	registerEmulatorVariables(cmd.Flags(), &emulators)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		if url == "" {
			url = "http://" + net.JoinHostPort(reachable(host), strconv.Itoa(port))
		}
		if _, err := cli.ServerAddress(url); err != nil {
			return err
		}
		err := askReady(cmd.Context(), strings.TrimSuffix(url, "/")+"/_mayfly/readyz")
		if err == nil {
			return cli.PrintResult(cmd.OutOrStdout(), asJSON, "ready", map[string]bool{"ready": true})
		}
		if asJSON {
			result := map[string]any{"ready": false, "reason": err.Error()}
			err = errors.Join(err, cli.PrintResult(cmd.OutOrStdout(), true, "", result))
		}
		return err
	})
	return cmd
}

// reachable returns an address at which a server that listens on host can be reached from the machine it
// runs on.
func reachable(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return "localhost"
	}
	if host == "" {
		return "localhost"
	}
	return host
}

// askReady requests a URL and returns an error for every status except 200.
func askReady(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return cli.Misuse("invalid --url: " + err.Error())
	}
	client := http.Client{Timeout: healthTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", cli.Unreachable(req.URL, err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		// only the status matters; the text is for the user
		body, _ := io.ReadAll(io.LimitReader(res.Body, 512))
		return fmt.Errorf("not ready: %s answers %s: %s", url, res.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
