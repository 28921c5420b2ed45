package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

const (
	entitiesPath = "_mayfly/entities"
	entityPath   = entitiesPath + "/{id}"
)

func queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Manage queues, topics and subscriptions, and send and receive messages",
		Long: "Manage queues, topics and subscriptions of a running server, and send and receive " +
			"messages.\n" +
			"The path of a subscription is topic/Subscriptions/name.",
	}
	return cli.ParentCommand(cmd, queueListCommand(), queueCreateCommand(), queueSetCommand(),
		queueShowCommand(),
		queueDeleteCommand(),
		queueSendCommand(),
		queueReceiveCommand(), queuePeekCommand("peek", "Print messages without receiving them", false),
		queuePeekCommand("dead-letters", "Print the dead letters of an entity, with their reasons", true),
		queueMoveCommand("resubmit", "Send dead letters again, to their queue or topic", "resubmit",
			"sent again"),
		queueMoveCommand("purge", "Delete all messages that are not locked", "purge", "deleted"),
		queueExplainCommand(), queueForecastCommand(), queueWaitCommand(),
		queueQueryCommand())
}

// queueCall returns a command with the given usage and short help, whose first argument is the path of a
// queue, topic or subscription. It has the flags for the server and --json, and runs do.
func queueCall(c *cli.ClientCommandFlags, use, short string,
	do func(cmd *cobra.Command, args []string) error) *cobra.Command {
	words := strings.Count(use, " ")
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(words)}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.RegisterServer(flags)
	c.RegisterJSON(flags)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		c.Item = args[0]
		return do(cmd, args)
	})
	return cmd
}

// sendAndPrint sends a request with the body question (nil: none) to the server and prints the response:
// with print, or as JSON if --json is set.
func sendAndPrint[T any](cmd *cobra.Command, c *cli.ClientCommandFlags, method, path string, question any,
	print func(out io.Writer, answer T) error) error {
	req, err := c.Call(cmd.Context(), method, path, question)
	if err != nil {
		return err
	}
	return cli.Show(cmd, c, req, print)
}

func queueListCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{Use: "list", Short: "List all entities with their numbers of messages",
		Args: cobra.NoArgs}
	c.RegisterServer(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		return sendAndPrint(cmd, &c, http.MethodGet, entitiesPath, nil,
			func(out io.Writer, list laboratory.Entities) error {
				w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "entity\tkind\tactive\tscheduled\tdead letters\tbytes")
				for _, e := range list.Entities {
					fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", e.Path, e.Kind, e.Active, e.Scheduled,
						e.DeadLetters, e.Bytes)
				}
				return w.Flush()
			})
	})
	return cmd
}

func queueShowCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	return queueCall(&c, "show PATH", "Show an entity with its properties",
		func(cmd *cobra.Command, _ []string) error {
			return sendAndPrint(cmd, &c, http.MethodGet, entityPath, nil,
				func(out io.Writer, answer json.RawMessage) error {
					return cli.PrintJSON(out, answer)
				})
		})
}

func queueDeleteCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var yes bool
	cmd := queueCall(&c, "delete PATH", "Delete an entity and its messages",
		func(cmd *cobra.Command, args []string) error {
			return c.Delete(cmd, entityPath, yes, args[0])
		})
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	return cmd
}

func queueSendCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var life, delay time.Duration
	texts := map[string]*string{}
	var properties []string
	cmd := queueCall(&c, "send PATH TEXT", "Send a message", func(cmd *cobra.Command, args []string) error {
		text, err := argumentOrInput(args[1], cmd.InOrStdin())
		if err != nil {
			return err
		}
		question := map[string]any{"text": text}
		for name, text := range texts {
			if *text != "" {
				question[name] = *text
			}
		}
		if life != 0 {
			question["ttl"] = life.Seconds()
		}
		if delay != 0 {
			question["delay"] = delay.Seconds()
		}
		own := map[string]any{}
		for _, p := range properties {
			name, value, ok := strings.Cut(p, "=")
			if !ok {
				return cli.Misuse("--property must be NAME=VALUE, not " + p)
			}
			var v any
			if json.Unmarshal([]byte(value), &v) != nil {
				v = value // not JSON: a plain word
			}
			own[name] = v
		}
		question["properties"] = own
		return sendAndPrint(cmd, &c, http.MethodPost, entityPath+"/send", question,
			func(out io.Writer, _ laboratory.SendMessagesResult) error {
				_, err := fmt.Fprintln(out, "sent to", args[0])
				return err
			})
	})
	flags := cmd.Flags()
	cli.DurationFlag(flags, &life, "ttl", 0, "time to live (default the entity's)")
	cli.DurationFlag(flags, &delay, "delay", 0, "time until the message is enqueued")
	for _, f := range []struct {
		flag, name,
		usage string
	}{{"id", "id", "message id, by which duplicates are detected"},
		{"session", "session", "session id"}, {"subject", "subject", "subject"},
		{"correlation-id", "correlationId", "correlation id"}, {"content-type", "contentType",
			"content type of the body"}, {"to", "to", "address To"}, {"reply-to", "replyTo",
			"address for replies"},
		{"reply-to-session", "replyToSession", "session for replies"},
		{"partition-key", "partitionKey", "partition key"}} {
		texts[f.name] = flags.String(f.flag, "", f.usage)
	}
	flags.StringArrayVar(&properties, "property", nil,
		"application property NAME=VALUE; VALUE is JSON, or else text; may be repeated")
	return cmd
}

func queueReceiveCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var count int
	var wait time.Duration
	var session string
	var dead bool
	cmd := queueCall(&c, "receive PATH", "Receive and delete messages of an entity",
		func(cmd *cobra.Command, _ []string) error {
			question := map[string]any{"count": count, "deadLetters": dead, "seconds": wait.Seconds()}
			if session != "" {
				question["session"] = session
			}
			return sendAndPrint(cmd, &c, http.MethodPost, entityPath+"/receive", question, printMessages)
		})
	flags := cmd.Flags()
	flags.IntVar(&count, "count", 1, "how many at most")
	cli.DurationFlag(flags, &wait, "wait", 0, "how long to wait for the first one")
	flags.StringVar(&session, "session", "", "receive from this session")
	flags.BoolVar(&dead, "dead-letters", false, "receive from the dead-letter queue")
	return cmd
}

func queuePeekCommand(name, short string, dead bool) *cobra.Command {
	var c cli.ClientCommandFlags
	var count int
	var from int64
	cmd := queueCall(&c, name+" PATH", short, func(cmd *cobra.Command, _ []string) error {
		question := map[string]any{"count": count, "from": from, "deadLetters": dead}
		return sendAndPrint(cmd, &c, http.MethodPost, entityPath+"/peek", question, printMessages)
	})
	cmd.Flags().IntVar(&count, "count", 100, "how many at most")
	cmd.Flags().Int64Var(&from, "from", 0, "the first sequence number")
	return cmd
}

// printMessages prints the messages of a response, one per line.
func printMessages(out io.Writer, list laboratory.Messages) error {
	var w textTable
	w.add("number", "id", "state", "deliveries", "expires", "body", "properties")
	for _, m := range list.Messages {
		expires := "-"
		if m.Life.Expires != nil {
			expires = m.Life.Expires.Format(time.RFC3339)
		}
		body := m.Text
		if m.Base64 != "" {
			body = "(" + m.Base64 + ")"
		}
		properties := ""
		if len(m.Properties) > 0 {
			text, err := json.Marshal(m.Properties)
			if err != nil {
				return err
			}
			properties = string(text)
		}
		w.add(fmt.Sprint(m.Number), plain(m.ID), m.State, fmt.Sprint(m.DeliveryCount), expires,
			plain(strings.Join(strings.Fields(body), " ")), escaped(properties))
	}
	return w.print(out)
}

func queueMoveCommand(name, short, verb, done string) *cobra.Command {
	var c cli.ClientCommandFlags
	var yes, dead bool
	cmd := queueCall(&c, name+" PATH", short, func(cmd *cobra.Command, args []string) error {
		question := map[string]any{}
		if name == "purge" {
			if !yes {
				return cli.Misuse("this deletes the messages of " + args[0] + ": add --yes if that is meant")
			}
			question["deadLetters"] = dead
		}
		return sendAndPrint(cmd, &c, http.MethodPost, entityPath+"/"+verb, question,
			func(out io.Writer, m laboratory.ProcessedMessagesResult) error {
				_, err := fmt.Fprintf(out, "%d %s\n", m.Messages, done)
				return err
			})
	})
	if name == "purge" {
		cmd.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
		cmd.Flags().BoolVar(&dead, "dead-letters", false, "delete dead letters instead")
	}
	return cmd
}

func queueExplainCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var dead bool
	cmd := queueCall(&c, "explain PATH NUMBER", "Show when a message expires, and why",
		func(cmd *cobra.Command, args []string) error {
			var from int64
			if _, err := fmt.Sscan(args[1], &from); err != nil || from < 1 {
				return cli.Misuse("a sequence number is a number above 0, not " + args[1])
			}
			question := map[string]any{"from": from, "count": 1, "deadLetters": dead}
			return sendAndPrint(cmd, &c, http.MethodPost, entityPath+"/peek", question,
				func(out io.Writer, list laboratory.Messages) error {
					if len(list.Messages) == 0 || list.Messages[0].Number != from {
						return fmt.Errorf("%s has no message of the number %d", args[0], from)
					}
					life := list.Messages[0].Life
					if life.Expires != nil {
						fmt.Fprintln(out, "expires", life.Expires.Format(time.RFC3339Nano))
					} else {
						fmt.Fprintln(out, "does not expire as it is")
					}
					_, err := fmt.Fprintln(out, life.Why)
					return err
				})
		})
	cmd.Flags().BoolVar(&dead, "dead-letters", false, "the message is in the dead-letter queue")
	return cmd
}

func queueForecastCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var by string
	cmd := queueCall(&c, "forecast PATH", "Show how many messages of an entity will expire when",
		func(cmd *cobra.Command, _ []string) error {
			return sendAndPrint(cmd, &c, http.MethodGet, entityPath+"/forecast", nil,
				func(out io.Writer, f laboratory.MessageForecast) error {
					steps, ok := f.By[by]
					if !ok {
						return cli.Misuse("--by must be second, minute, hour, day or month, not " + by)
					}
					w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
					fmt.Fprintf(w, "now\t%s\noverdue\t%d\ncoming\t%d\nnever\t%d\n",
						f.Now.Format(time.RFC3339),
						f.Overdue, f.Coming, f.Never)
					if f.NextIn > 0 {
						fmt.Fprintf(w, "next\tin %v\n", time.Duration(f.NextIn*float64(time.Second)))
					}
					if len(steps) > 0 {
						fmt.Fprintf(w, "\nseconds from now\tmessages\n")
					}
					for _, s := range steps {
						fmt.Fprintf(w, "%d - %d\t%d\n", s.From, s.To, s.Count)
					}
					return w.Flush()
				})
		})
	cmd.Flags().StringVar(&by, "by", "minute",
		"length of the counted periods: second, minute, hour, day or month")
	return cmd
}

func queueWaitCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var until string
	var count int64
	var timeout time.Duration
	var dead bool
	cmd := queueCall(&c, "wait PATH", "Wait until an entity is empty, or has messages",
		func(cmd *cobra.Command, args []string) error {
			question := map[string]any{"until": until, "count": count, "timeout": int64(timeout.Seconds()),
				"deadLetters": dead}
			return sendAndPrint(cmd, &c, http.MethodPost, entityPath+"/wait", question,
				func(out io.Writer, e laboratory.MessagingEntity) error {
					_, err := fmt.Fprintf(out, "%s: %d active, %d scheduled, %d dead letters\n", e.Path,
						e.Active, e.Scheduled,
						e.DeadLetters)
					return err
				})
		})
	flags := cmd.Flags()
	flags.StringVar(&until, "until", "messages", "empty or messages")
	flags.Int64Var(&count, "count", 1, "number of messages to wait for")
	cli.DurationFlag(flags, &timeout, "timeout", 30*time.Second, "how long to wait")
	flags.BoolVar(&dead, "dead-letters", false, "wait for the number of dead letters instead")
	return cmd
}
