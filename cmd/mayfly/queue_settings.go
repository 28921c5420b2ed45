package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/ttl"
)

// entityPropertyFlags holds the flags for the properties of a queue, topic or subscription, and for each flag
// the name of its property in the server's API.
type entityPropertyFlags struct {
	flags *pflag.FlagSet
	names map[string]string // by flag
}

func newEntitySettings(flags *pflag.FlagSet) *entityPropertyFlags {
	s := &entityPropertyFlags{flags, map[string]string{}}
	s.duration("lock-duration", "lockDuration",
		"how long a receiver holds the lock of a message (default 1m)")
	s.duration("ttl", "defaultTimeToLive", "default and maximum time to live of messages (default none)")
	flags.Int("max-delivery-count", 0,
		"failed deliveries after which a message is dead-lettered (default 10)")
	flags.Bool("dead-letter-on-expiration", false, "dead-letter expired messages instead of deleting them")
	flags.String("forward-to", "", "queue or topic to which messages are forwarded")
	flags.String("forward-dead-letters-to", "", "queue or topic to which dead letters are forwarded")
	s.duration("auto-delete-on-idle", "autoDeleteOnIdle",
		"delete the entity when it has been unused for this long (default never)")
	s.names["max-delivery-count"], s.names["dead-letter-on-expiration"] = "maxDeliveryCount",
		"deadLetterOnExpiration"
	s.names["forward-to"], s.names["forward-dead-letters-to"] = "forwardTo", "forwardDeadLettersTo"
	return s
}

func (s *entityPropertyFlags) duration(flag, name, usage string) {
	cli.DurationFlag(s.flags, new(time.Duration), flag, 0, usage)
	s.names[flag] = name
}

// addTo adds the flags that the user gave to a request body. An empty value becomes null, which stands for
// the default.
func (s *entityPropertyFlags) addTo(question map[string]any) {
	s.flags.Visit(func(f *pflag.Flag) {
		name, ok := s.names[f.Name]
		if !ok {
			return
		}
		var value any
		switch f.Value.Type() {
		case "duration":
			if d, _ := ttl.ParseDuration(f.Value.String()); d != 0 {
				value = entity.FormatDuration(d)
			}
		case "int":
			if n, _ := s.flags.GetInt(f.Name); n != 0 {
				value = n
			}
		case "bool":
			value, _ = s.flags.GetBool(f.Name)
		default:
			if text := f.Value.String(); text != "" {
				value = text
			}
		}
		question[name] = value
	})
}

func queueCreateCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var topic, sessions, duplicates bool
	var settings *entityPropertyFlags
	cmd := queueCall(&c, "create PATH", "Create a queue, a topic or a subscription",
		func(cmd *cobra.Command, args []string) error {
			question := map[string]any{}
			settings.addTo(question)
			for name, value := range question {
				if value == nil {
					delete(question, name)
				}
			}
			question["path"], question["topic"] = args[0], topic
			question["requiresSession"], question["detectsDuplicates"] = sessions, duplicates
			return sendAndPrint(cmd, &c, http.MethodPost, entitiesPath, question,
				func(out io.Writer, e laboratory.MessagingEntity) error {
					_, err := fmt.Fprintln(out, "created", e.Kind, e.Path)
					return err
				})
		})
	flags := cmd.Flags()
	flags.BoolVar(&topic, "topic", false, "create a topic instead of a queue")
	settings = newEntitySettings(flags)
	flags.BoolVar(&sessions, "sessions", false, "require sessions")
	flags.BoolVar(&duplicates, "duplicates", false, "detect duplicates: discard a message whose id was "+
		"used before")
	return cmd
}

func queueSetCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var settings *entityPropertyFlags
	cmd := queueCall(&c, "set PATH", "Change settings of a queue, a topic or a subscription",
		func(cmd *cobra.Command, _ []string) error {
			question := map[string]any{}
			settings.addTo(question)
			if len(question) == 0 {
				return cli.Misuse("nothing is to be set: --help names what can be")
			}
			return sendAndPrint(cmd, &c, http.MethodPatch, entityPath, question,
				func(out io.Writer, e laboratory.MessagingEntity) error {
					_, err := fmt.Fprintln(out, "changed", e.Kind, e.Path)
					return err
				})
		})
	cmd.Long = "Change the given settings of a queue, a topic or a subscription. 0 or an empty text " +
		"resets a\n" +
		"setting to its default. Receivers lose the locks that they hold on messages of the entity. " +
		"Sessions\n" +
		"and duplicate detection can only be chosen when an entity is created."
	flags := cmd.Flags()
	settings = newEntitySettings(flags)
	flags.String("status", "", "Active, Disabled, SendDisabled or ReceiveDisabled")
	settings.duration("duplicates-within", "duplicatesWithin",
		"time window of duplicate detection (default 10m)")
	settings.names["status"] = "status"
	return cmd
}
