package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// shellBuiltin is a built-in command of the shell.
type shellBuiltin struct {
	name, args, short string
	whole             bool // the rest of the line is a single argument, passed unchanged
	run               func(s *shellSession, ctx context.Context, args []string) error
}

// shellVerbs returns the built-in commands of `mayfly shell`. All other commands of the shell are commands
// of the program mayfly.
func shellVerbs() []shellBuiltin {
	return []shellBuiltin{
		{"?", "", "list the commands", false, (*shellSession).help},
		{"q", "", "end the shell", false,
			func(*shellSession, context.Context, []string) error { return errQuit }},
		{"use", "DB[/CONTAINER]", "go to a database, or to a container", true, (*shellSession).use},
		{"dbs", "", "list the databases", false,
			func(s *shellSession, ctx context.Context, _ []string) error {
				return s.command(ctx, []string{"databases", "list"})
			}},
		{"d", "[CONTAINER]", "list the containers, or show one's definition", true, (*shellSession).describe},
		{"get", "ID [KEY]", "show an item; the partition key is text or a JSON array", false,
			(*shellSession).get},
		{"put", "ITEM", "store an item, which is JSON", true, (*shellSession).put},
		{"delete", "ID [KEY]", "delete an item", false, (*shellSession).remove},
		{"why", "ID [KEY]", "tell when an item expires, and why", false, (*shellSession).why},
		{"explain", "QUERY", "show how a query is answered", true,
			func(s *shellSession, ctx context.Context, args []string) error {
				return s.command(ctx, []string{"explain", strings.TrimRight(args[0], "; ")})
			}},
		{"more", "", "show the next rows of the query before", false,
			func(s *shellSession, ctx context.Context, _ []string) error {
				if s.more == nil {
					return cli.Misuse("there are no more rows")
				}
				return s.pages(ctx, s.more)
			}},
		{"param", "[@NAME = VALUE]", "set a parameter for queries, or list them; without a value: unset it",
			true, (*shellSession).param},
		{"table", "", "print rows as a table", false,
			func(s *shellSession, _ context.Context, _ []string) error {
				s.json = false
				return nil
			}},
		{"json", "", "print rows as JSON, a line each", false,
			func(s *shellSession, _ context.Context, _ []string) error {
				s.json = true
				return nil
			}},
		{"timing", "", "tell how long each statement takes, or stop that", false,
			(*shellSession).toggleTiming},
		{"o", "[FILE]", "write results to a file, or to the terminal again", true, (*shellSession).redirect},
		{"i", "FILE", "run the statements of a file", true, (*shellSession).include},
	}
}

// notInShell are commands of mayfly that are not useful in a shell.
var notInShell = []string{"shell", "serve", "completion", "help"}

// serverCommands are commands in which --db has a special meaning, so the shell does not add it.
var serverCommands = []string{"clock", "faults"}

// dispatch runs one statement: a built-in command, a command of mayfly, or a query.
func (s *shellSession) dispatch(ctx context.Context, text string) error {
	if !strings.HasPrefix(text, `\`) {
		return s.query(ctx, text)
	}
	name, rest, _ := strings.Cut(strings.TrimRight(text[1:], " \t;"), " ")
	rest = strings.TrimSpace(rest)
	for _, w := range shellVerbs() {
		if w.name != name {
			continue
		}
		args, err := splitWords(rest)
		if w.whole {
			args, err = []string{rest}, nil
		}
		if err != nil {
			return err
		}
		most := len(strings.Fields(w.args))
		missing := rest == "" && most > 0 && !strings.HasPrefix(w.args, "[")
		if missing || !w.whole && len(args) > most {
			return cli.Misuse(fmt.Sprintf(`it is called as \%s %s`, w.name, w.args))
		}
		return w.run(s, ctx, args)
	}
	args, err := splitWords(rest)
	if err != nil {
		return err
	}
	return s.command(ctx, append([]string{name}, args...))
}

// command runs a command of mayfly. It adds flags for the shell's server, database and container, if the
// command has these flags and the user has not given them.
func (s *shellSession) command(ctx context.Context, args []string) error {
	root := rootCommand()
	cmd, _, err := root.Find(args)
	top := cmd
	for top != nil && top.HasParent() && top.Parent() != root {
		top = top.Parent()
	}
	if err != nil || top == root || slices.Contains(notInShell, top.Name()) {
		return s.unknown(args[0])
	}
	inherited := map[string]string{"url": s.URL, "key": s.Key, "db": s.Database, "container": s.Container}
	for _, name := range []string{"url", "key", "db", "container"} {
		ours := name == "url" || name == "key" || !slices.Contains(serverCommands, top.Name())
		if cmd.Flags().Lookup(name) != nil && inherited[name] != "" && ours && !hasFlag(args, name) {
			args = append(args, "--"+name+"="+inherited[name])
		}
	}
	root.SetArgs(args)
	root.SetOut(s.output())
	root.SetErr(s.errs)
	root.SetIn(strings.NewReader(""))
	err = root.ExecuteContext(ctx)
	s.names.forget()
	return err
}

// foreign maps commands that the shells of other databases have to the corresponding commands of this shell.
var foreign = map[string]string{"plan": "explain", "l": "dbs", "c": "use", "dt": "d", "quit": "q", "exit": "q",
	"h": "?", "help": "?", "x": "table", "set": "param", "del": "delete", "upsert": "put", "insert": "put"}

// unknown returns the error for a command that does not exist, with the command that was probably meant.
func (s *shellSession) unknown(name string) error {
	near := foreign[name]
	if near == "" {
		var names []string
		for _, w := range shellVerbs() {
			if len(w.name) > 1 {
				names = append(names, w.name)
			}
		}
		for _, cmd := range s.commands() {
			names = append(names, cmd.Name())
		}
		near = cli.Nearest(name, names)
	}
	hint := `\? lists them`
	if near != "" {
		hint = `did you mean \` + near + "?"
	}
	return cli.Misuse(fmt.Sprintf(`there is no command \%s: %s`, name, hint))
}

// hasFlag reports whether a flag is in args.
func hasFlag(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=")
	})
}

func (s *shellSession) help(context.Context, []string) error {
	w := tabwriter.NewWriter(s.output(), 0, 0, 2, ' ', 0)
	for _, one := range shellVerbs() {
		fmt.Fprintf(w, "  \\%s %s\t%s\n", one.name, one.args, one.short)
	}
	fmt.Fprintln(w, "\nand the commands of mayfly, with their flags (\\NAME --help):")
	for _, cmd := range s.commands() {
		fmt.Fprintf(w, "  \\%s\t%s\n", cmd.Name(), cmd.Short)
	}
	return w.Flush()
}

// commands returns the commands of mayfly that the shell offers: all except those that it has as built-in
// commands or that are of no use in it.
func (s *shellSession) commands() (list []*cobra.Command) {
	for _, cmd := range rootCommand().Commands() {
		own := slices.ContainsFunc(shellVerbs(), func(w shellBuiltin) bool { return w.name == cmd.Name() })
		if !own && !slices.Contains(notInShell, cmd.Name()) {
			list = append(list, cmd)
		}
	}
	return list
}

// use switches to an existing database or container.
func (s *shellSession) use(ctx context.Context, args []string) error {
	there := s.ClientCommandFlags
	there.Database, there.Container, _ = strings.Cut(args[0], "/")
	path := cli.DatabasePath
	if there.Container != "" {
		path = cli.ContainerPath
	}
	req, err := there.Call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if _, err := cli.Ask[json.RawMessage](req); err != nil {
		return err
	}
	s.Database, s.Container, s.more = there.Database, there.Container, nil
	return nil
}

func (s *shellSession) describe(ctx context.Context, args []string) error {
	if args[0] == "" {
		return s.command(ctx, []string{"containers", "list"})
	}
	one := s.ClientCommandFlags
	one.Container = args[0]
	req, err := one.Call(ctx, http.MethodGet, cli.ContainerPath, nil)
	if err != nil {
		return err
	}
	raw, err := cli.Ask[json.RawMessage](req)
	if err != nil {
		return err
	}
	return cli.PrintJSON(s.output(), raw)
}

// itemArgs returns the arguments of a command about an item: its id, and its partition key, if given, as text
// or as a JSON array.
func (s *shellSession) itemArgs(args []string) []string {
	list := args[:1:1]
	if len(args) > 1 {
		key := args[1]
		if !strings.HasPrefix(key, "[") {
			text, err := json.Marshal([]string{key})
			if err != nil {
				return list
			}
			key = string(text)
		}
		list = append(list, "--partition-key="+key)
	}
	return list
}

func (s *shellSession) get(ctx context.Context, args []string) error {
	return s.command(ctx, append([]string{"get"}, s.itemArgs(args)...))
}

func (s *shellSession) why(ctx context.Context, args []string) error {
	return s.command(ctx, append([]string{"expiry"}, s.itemArgs(args)...))
}

func (s *shellSession) remove(ctx context.Context, args []string) error {
	i := itemExpiryFlags{ClientCommandFlags: s.ClientCommandFlags}
	i.Item = args[0]
	if rest := s.itemArgs(args)[1:]; len(rest) > 0 {
		i.partitionKey = strings.TrimPrefix(rest[0], "--partition-key=")
	}
	key, err := i.itemKey(ctx)
	if err != nil {
		return err
	}
	req, err := i.Call(ctx, http.MethodDelete, cli.ItemPath, nil)
	if err != nil {
		return err
	}
	cli.SetPartitionKey(req, key)
	_, err = cli.Ask[json.RawMessage](req)
	return err
}

// put stores an item: it creates the item, or replaces the one with the same id.
func (s *shellSession) put(ctx context.Context, args []string) error {
	if !json.Valid([]byte(args[0])) {
		return cli.Misuse("the item is not JSON")
	}
	definition, err := s.Definition(ctx)
	if err != nil {
		return err
	}
	key, err := definition.PartitionKeyOf(json.RawMessage(args[0]))
	if err != nil {
		return err
	}
	req, err := s.Request(ctx, cli.ItemsPath, json.RawMessage(args[0]))
	if err != nil {
		return err
	}
	req.Header.Set("X-Ms-Documentdb-Is-Upsert", "true")
	cli.SetPartitionKey(req, key)
	if _, err = cli.Ask[json.RawMessage](req); err != nil {
		return err
	}
	hintMissing(s.errs, definition, json.RawMessage(args[0]))
	return nil
}

// param sets, removes or lists the parameters of later queries in the shell.
func (s *shellSession) param(_ context.Context, args []string) error {
	if args[0] == "" {
		for _, p := range s.params {
			fmt.Fprintln(s.output(), "@"+p)
		}
		return nil
	}
	name, value, set := strings.Cut(args[0], "=")
	name = strings.TrimPrefix(strings.TrimSpace(name), "@")
	s.params = slices.DeleteFunc(s.params, func(p string) bool { return strings.HasPrefix(p, name+"=") })
	if value = strings.TrimSpace(value); set && value != "" {
		s.params = append(s.params, name+"="+value)
	}
	return nil
}

func (s *shellSession) toggleTiming(context.Context, []string) error {
	s.timing = !s.timing
	fmt.Fprintln(s.output(), "timing is", map[bool]string{true: "on", false: "off"}[s.timing])
	return nil
}

// redirect sends the results of later statements to the file that args names, or to the standard output again
// if the name is "".
func (s *shellSession) redirect(_ context.Context, args []string) (err error) {
	if err := s.closeFile(); err != nil || args[0] == "" {
		return err
	}
	s.file, err = os.Create(args[0])
	return err
}

// maxIncluded is the maximum depth of files that include each other with \i.
const maxIncluded = 16

// include runs the statements of a file, up to the first failure.
func (s *shellSession) include(ctx context.Context, args []string) error {
	if s.depth >= maxIncluded {
		return cli.Misuse("files include each other too deeply")
	}
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	lines := &pipedLineReader{bufio.NewReader(file)}
	s.depth++
	defer func() { s.depth-- }()
	for {
		text, err := statement(lines, "")
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.statement(ctx, text)
		}
		if err != nil {
			return err
		}
	}
}
