package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/queue/access"
)

// servicebusFlags are the Service Bus settings as the user gave them.
type servicebusFlags struct {
	on     bool
	ports  []servicebusPortFlag
	keys   []string
	signed []access.Key // keys, parsed
	config string
	// crossEntity allows transactions over more than one queue or topic.
	crossEntity bool
}

// servicebusPortFlag is one Service Bus port. All ports answer all of Service Bus's protocols; they differ in
// the number that clients expect.
type servicebusPortFlag struct {
	flag, usage string
	what        string // in the greeting
	secure      bool   // for clients that use only TLS
	value       string
	port        int  // the value, parsed
	off         bool // the value is "off"
	explicit    bool // the user has set the port: if it cannot be opened, the server does not start
}

func (f *servicebusFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "servicebus", false,
		"also serve Service Bus: queues and topics over AMQP, HTTP and WebSockets")
	f.ports = []servicebusPortFlag{
		{flag: "servicebus-port", value: "5672", what: "messages",
			usage: "port of Service Bus on which emulator clients send and receive"},
		{flag: "servicebus-admin-port", value: "5300", what: "management",
			usage: "port of Service Bus on which emulator clients manage entities"},
		{flag: "servicebus-tls-port", value: "5671", what: "the same, TLS", secure: true,
			usage: "port of Service Bus for clients that require TLS"},
		{flag: "servicebus-admin-tls-port", value: "5301", what: "management, TLS", secure: true,
			usage: "port of Service Bus for administration clients that require TLS"},
	}
	for i := range f.ports {
		p := &f.ports[i]
		flags.StringVar(&p.value, p.flag, p.value,
			p.usage+`; 0 is any free port, "off" is none; each port serves AMQP, HTTP and WebSockets, `+
				`with or without TLS`)
	}
	flags.StringArrayVar(&f.keys, "servicebus-key", nil,
		"key NAME:RIGHTS:KEY, where RIGHTS are Listen, Send and Manage, joined by +; may be repeated "+
			"(default the key of the Service Bus emulator, whose signatures are not verified)")
	flags.StringVar(&f.config, "servicebus-config", "",
		"Config.json of the Service Bus emulator: entities to create at the start")
	flags.BoolVar(&f.crossEntity, "servicebus-cross-entity-transactions", false,
		"allow transactions over more than one queue or topic, which Service Bus refuses")
}

// settle parses the ports and keys. sources says which of them the user has set.
func (f *servicebusFlags) settle(sources map[string]cli.SettingSource) error {
	for i := range f.ports {
		p := &f.ports[i]
		_, p.explicit = sources[p.flag]
		if p.value == "off" {
			p.off = true
			continue
		}
		port, err := strconv.ParseUint(p.value, 10, 16)
		if err != nil {
			return cli.Misuse(fmt.Sprintf("--%s %q: must be a port or off", p.flag, p.value))
		}
		p.port = int(port)
	}
	for _, text := range f.keys {
		key, err := access.ParseKey(text)
		if err != nil {
			return cli.Misuse("--servicebus-key: " + err.Error())
		}
		f.signed = append(f.signed, key)
	}
	if !f.on && (len(f.keys) > 0 || f.config != "") {
		return cli.Misuse("keys and a configuration of Service Bus have no effect without --servicebus")
	}
	if !f.on && f.crossEntity {
		return cli.Misuse("--servicebus-cross-entity-transactions has no effect without --servicebus")
	}
	return nil
}

// checkReach rejects the well-known key if other machines can reach the server.
func (f *servicebusFlags) checkReach(s *serveFlags) error {
	if !f.on || len(f.keys) > 0 || s.allowWellKnownKey || s.noAuth || loopback(s.host) {
		return nil
	}
	return cli.Misuse("--host " + s.host +
		" can be reached from other machines, and the key of Service Bus is the emulator's, which " +
		"everybody knows: " +
		"give a --servicebus-key of your own, or --allow-well-known-key where only friends can reach it")
}

// access returns the options for checking the keys. With noAuth no key is checked.
func (f *servicebusFlags) access(noAuth bool) access.TokenVerifierOptions {
	o := access.TokenVerifierOptions{Keys: f.signed, Mode: access.Emulator}
	switch {
	case noAuth:
		o.Mode = access.Off
	case len(f.signed) > 0:
		o.Mode = access.Strict
	}
	return o
}
