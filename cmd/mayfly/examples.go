package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// commandExample shows how a command is used: lines that can be pasted. long is the long help text of the
// command, for commands that do not set one themselves.
type commandExample struct {
	command string
	long    string
	lines   []string
}

// examples contains the examples of all commands. A test runs them in this order, so each example depends
// only on earlier ones.
var examples = []commandExample{
	{"serve", "", []string{
		"mayfly serve",
		"mayfly serve --memory --virtual-clock --seed shop.yaml",
		"mayfly serve --data ./data --host 0.0.0.0 --key-file key.txt"}},
	{"health", "The command requests /_mayfly/readyz, which needs no key.", []string{"mayfly health --port " +
		"8081"}},
	{"version", "The command prints the version, the Go version, the system and the revision.",
		[]string{"mayfly version", "mayfly version --json"}},
	{"doctor", "", []string{"mayfly doctor", "mayfly doctor --url https://localhost:8081"}},
	{
		"cert show",
		"The certificate is made at the first start and kept in the data folder. Its names are those of " +
			"the\n" +
			"machine, and those of `mayfly serve --san`.",
		[]string{"mayfly cert show"},
	},
	{
		"cert export",
		"The key of the certificate never leaves the server.",
		[]string{"mayfly cert export --to mayfly.pem"},
	},
	{
		"cert trust",
		"Without an argument all are printed. The file is the output of `mayfly cert export`.",
		[]string{"mayfly cert trust javascript", "mayfly cert trust debian --file mayfly.pem"},
	},
	{
		"bench",
		"",
		[]string{
			"mayfly bench --only read,create --docs 100000",
			"mayfly bench --only query --docs 10000,200000",
			"mayfly bench --engine postgres://mayfly@localhost/shop --docs 10000",
		},
	},
	{"man", "", []string{"mayfly man man1"}},
	{"seed schema", "Editors use it to complete and check seeds.", []string{"mayfly seed schema"}},
	{"seed check", "", []string{"mayfly seed check shop.yaml"}},

	{"databases create", "With --throughput its containers share that throughput; otherwise each has its " +
		"own.",
		[]string{"mayfly databases create shop", "mayfly databases create shared --throughput 1000"}},
	{"servers", "", []string{"mayfly servers"}},
	{"databases list", "", []string{"mayfly databases list"}},
	{
		"containers create",
		"",
		[]string{
			"mayfly containers create carts --db shop --partition-key /user --ttl 3600",
			"mayfly containers create visits --db shop --partition-key /tenant --partition-key /user " +
				"--ttl never",
		},
	},
	{"containers list", "Each line has the partition key and the default time to live.",
		[]string{"mayfly containers list --db shop"}},
	{"put", "", []string{
		`mayfly put --db shop --container carts '{"id": "1", "user": "ada", "ttl": 7200}'`,
		`mayfly put --create --db shop --container carts '{"id": "2", "user": "bob"}'`}},
	{"get", "The exit code is 1 if there is no such item, or if it has expired.",
		[]string{`mayfly get 1 --db shop --container carts --partition-key '["ada"]'`}},
	{
		"query",
		"",
		[]string{
			`mayfly query --db shop --container carts "SELECT * FROM c WHERE c.user = @user" --param user=ada`,
			`mayfly query --db shop --container carts "SELECT c.user, COUNT(1) AS n FROM c GROUP BY c.user" --ndjson`,
		},
	},
	{"queries save", "", []string{
		`mayfly queries save by-user "SELECT * FROM c WHERE c.user = @user" --param user=ada --db shop --container carts`}},
	{"queries list", "", []string{"mayfly queries list --db shop --container carts"}},
	{"queries run", "", []string{"mayfly queries run by-user --param user=bob --db shop --container carts"}},
	{"queries delete", "", []string{"mayfly queries delete by-user --db shop --container carts"}},
	{
		"explain",
		"",
		[]string{`mayfly explain --db shop --container carts "SELECT * FROM c WHERE c.user = 'ada'"`},
	},
	{"shell", "", []string{"mayfly shell --db shop --container carts"}},
	{"split", "", []string{"mayfly split 0 --db shop --container visits"}},

	{"expiry", "The command also shows the source of the time to live, and what delays the purge.",
		[]string{`mayfly expiry 1 --db shop --container carts --partition-key '["ada"]'`}},
	{"lease", "", []string{
		`mayfly lease 1 --db shop --container carts --partition-key '["ada"]' --for 10m`,
		`mayfly lease 1 --db shop --container carts --partition-key '["ada"]' --release`}},
	{"forecast", "", []string{"mayfly forecast --db shop --container carts --by hour", "mayfly forecast"}},
	{
		"dry-run",
		"",
		[]string{
			"mayfly dry-run 60 --db shop --container carts",
			"mayfly dry-run off --db shop --container carts",
		},
	},
	{"lint", "", []string{"mayfly lint --db shop --container carts"}},
	{"settings", "", []string{
		"mayfly settings --db shop --container carts",
		`mayfly settings --db shop --container carts '{"expiryEvents": {"retention": 3600}}'`}},
	{
		"snapshot create",
		"A snapshot copies no data, since it shares files with the store. It includes messages. Names " +
			"consist\n" +
			"of lower-case letters, digits, '-', '_' and '.'.",
		[]string{"mayfly snapshot create clean"},
	},
	{"snapshot list", "", []string{"mayfly snapshot list"}},
	{
		"clock",
		"",
		[]string{"mayfly clock --advance 61m --settle", "mayfly clock --freeze", "mayfly clock --resume"},
	},
	{"wait", "", []string{
		`mayfly wait expired 2 --db shop --container carts --partition-key '["bob"]'`,
		"mayfly wait quiet --db shop --container carts"}},
	{"events", "", []string{"mayfly events --db shop --container carts"}},
	{
		"reaper",
		"",
		[]string{
			"mayfly reaper --db shop --container carts",
			"mayfly reaper pause",
			"mayfly reaper run",
			"mayfly reaper resume",
			`mayfly reaper set '{"delay": {"seconds": 30}}' --db shop --container carts`,
		},
	},
	{
		"snapshot restore",
		"Virtual clocks are restored, too: all of them with the whole store, and a database's own clock " +
			"with the\ndatabase. A restore of one container changes no clock.",
		[]string{"mayfly snapshot restore clean", "mayfly snapshot restore clean --db shop"},
	},
	{"snapshot fork", "", []string{"mayfly snapshot fork clean --db shop --as shop-copy"}},
	{
		"snapshot delete",
		"Space that only the snapshot used becomes free.",
		[]string{"mayfly snapshot delete clean"},
	},

	{"queue create", "A path of the form topic/Subscriptions/name creates a subscription.", []string{
		"mayfly queue create orders --ttl 1h --dead-letter-on-expiration --max-delivery-count 5",
		"mayfly queue create news --topic", "mayfly queue create news/Subscriptions/all"}},
	{"queue list", "", []string{"mayfly queue list"}},
	{
		"queue set",
		"",
		[]string{
			"mayfly queue set orders --ttl 2h --lock-duration 30s",
			"mayfly queue set orders --status ReceiveDisabled",
			"mayfly queue set orders --status Active",
		},
	},
	{"queue show", "The command prints its settings and its number of messages.", []string{"mayfly queue " +
		"show orders"}},
	{
		"queue send",
		"TEXT is the body; if it is -, the body is read from the standard input. A topic copies the " +
			"message\n" +
			"to all subscriptions whose rules match.",
		[]string{
			"mayfly queue send orders 'two lamps' --ttl 90s --property priority=5",
			"mayfly queue send orders 'a chair' --delay 10m --id chair-1"},
	},
	{"queue peek", "Active, scheduled and deferred messages are printed by sequence number, with their " +
		"expiry.",
		[]string{"mayfly queue peek orders --count 10"}},
	{
		"queue query",
		"Messages are documents with the members id, body, properties, _state and others. They are not " +
			"changed.",
		[]string{
			`mayfly queue query orders "SELECT c.id, c.properties.priority FROM c WHERE c._state = 'active'"`,
		},
	},
	{"queue explain", "NUMBER is its sequence number, as `mayfly queue peek` shows it.",
		[]string{"mayfly queue explain orders 1"}},
	{"queue forecast", "", []string{"mayfly queue forecast orders --by hour"}},
	{"queue wait", "The exit code is 1 if the time limit ends first.",
		[]string{"mayfly queue wait orders --until messages --count 1"}},
	{"queue receive", "The messages are deleted. With --wait the command waits for the first one.",
		[]string{"mayfly queue receive orders --count 10 --wait 1s"}},
	{
		"queue dead-letters",
		"Each message has a reason and a description of why it was dead-lettered.",
		[]string{"mayfly queue dead-letters orders"},
	},
	{"queue resubmit", "Messages of a subscription go to its topic. Each message is moved in one " +
		"transaction.",
		[]string{"mayfly queue resubmit orders"}},
	{
		"queue purge",
		"It requires --yes, because the messages are deleted.",
		[]string{"mayfly queue purge orders --yes"},
	},
	{
		"queue delete",
		"It requires --yes, because its messages are deleted, too.",
		[]string{"mayfly queue delete orders --yes"},
	},

	{"faults add", "", []string{
		"mayfly faults add 429 --operation createItem --db shop --count 3",
		"mayfly faults add latency --latency 200ms --share 0.1 --random-seed 7"}},
	{"faults list", "Each line shows how many operations the fault has seen and " +
		"hit.", []string{"mayfly faults list"}},
	{"faults delete", "`mayfly faults list` shows the IDs.", []string{"mayfly faults delete f1"}},
	{"requests", "", []string{
		"mayfly requests --status 429", "mayfly requests --follow --container carts",
		"mayfly requests --har requests.har"}},
	{"faults clear", "`mayfly reset` removes them, too.", []string{"mayfly faults clear"}},
	{
		"containers delete",
		"It requires --yes, because its documents are deleted, too.",
		[]string{"mayfly containers delete visits --db shop --yes"},
	},
	{
		"databases delete",
		"It requires --yes, because its containers are deleted, too.",
		[]string{"mayfly databases delete shop-copy --yes"},
	},
	{"check", "", []string{"mayfly check ./data"}},
	{"migrate", "", []string{
		"mayfly migrate --from ./data --to postgres://mayfly@db1/mayfly",
		"mayfly migrate --from postgres://mayfly@db1/mayfly --to ./data"}},
	{"reset", "", []string{"mayfly reset"}},
}

// addExamples adds the lines and texts of the list examples to the help of the commands below root.
func addExamples(root *cobra.Command) {
	for _, e := range examples {
		cmd, _, err := root.Find(strings.Fields(e.command))
		if err != nil {
			continue // a test reports examples of commands that do not exist
		}
		cmd.Example = "  " + strings.Join(e.lines, "\n  ")
		if e.long != "" {
			cmd.Long = cmd.Short + ".\n\n" + e.long
		}
	}
}
