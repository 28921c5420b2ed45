package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// expiryEventsAnswer is the response of a server with one page of the expiry events of a container, one
// event for each item that has expired.
type expiryEventsAnswer struct {
	Events   []json.RawMessage `json:"events"`
	Position string            `json:"position"`
	Lost     bool              `json:"lost"`
}

// eventsPoll is how long one request waits for events, in seconds. It is short because the server may be
// stopped during the wait.
const eventsPoll = 30

func eventsCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var after string
	var follow bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the expired items of a container, one JSON object per line",
		Args:  cobra.NoArgs,
		Long: "Print the expired items of a container, one JSON object per line. The container must " +
			"have the\n" +
			"setting expiryEvents, which makes it log expiries. At the end, the position for --after is " +
			"printed\n" +
			"to the standard error output.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSONAnyway(flags)
	flags.StringVar(&after, "after", "",
		`position to begin after: one that an earlier run has printed, or "now" (default the beginning)`)
	flags.BoolVar(&follow, "follow", false, "continue with new expiries until interrupted")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		for {
			page, err := fetchEvents(cmd.Context(), &c, after, follow)
			if err != nil && follow && errors.Is(err, context.Canceled) {
				return nil // an interruption by the user is not an error
			}
			if err != nil {
				return err
			}
			if page.Lost {
				fmt.Fprintln(cmd.ErrOrStderr(), "some expiries behind the position are not kept any more")
			}
			for _, e := range page.Events {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), string(e)); err != nil {
					return err
				}
			}
			after = page.Position
			if len(page.Events) == 0 && !page.Lost && !follow {
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), "position", after)
				return err
			}
		}
	})
	return cmd
}

// fetchEvents returns the page of expiry events that follows after, a position in the log of events ("":
// the beginning). If wait is set and there are no events, the server waits for one.
func fetchEvents(ctx context.Context, c *cli.ClientCommandFlags, after string,
	wait bool) (expiryEventsAnswer, error) {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	if wait {
		query.Set("wait", fmt.Sprint(eventsPoll))
	}
	path := "_mayfly/dbs/{db}/colls/{coll}/events"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	req, err := c.Call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return expiryEventsAnswer{}, err
	}
	return cli.Ask[expiryEventsAnswer](req)
}
