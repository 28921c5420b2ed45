package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/peterh/liner"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
)

// terminalReader reads lines from a user at a terminal, with a history and completion.
type terminalReader struct {
	state   *liner.State
	history string // history file; empty: the history is not stored
}

func newTerminalReader(s *shellSession) *terminalReader {
	t := &terminalReader{state: liner.NewLiner(), history: historyFile()}
	t.state.SetCtrlCAborts(true)
	t.state.SetMultiLineMode(true)
	t.state.SetTabCompletionStyle(liner.TabPrints)
	t.state.SetWordCompleter(s.complete)
	if file, err := os.Open(t.history); err == nil {
		_, _ = t.state.ReadHistory(file) // a history that cannot be read is treated as empty
		_ = file.Close()
	}
	return t
}

// historyFile returns the path of the file in which `mayfly shell` keeps the lines that the user has entered:
// mayfly/shell_history in XDG_STATE_HOME (default ~/.local/state). It returns "" if there is no home folder.
func historyFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "mayfly", "shell_history")
}

func (t *terminalReader) line(prompt string) (string, error) {
	text, err := t.state.Prompt(prompt)
	if err == liner.ErrPromptAborted {
		err = errCleared
	}
	return text, err
}

func (t *terminalReader) add(statement string) {
	t.state.AppendHistory(strings.Join(strings.Fields(statement), " "))
}

// close restores the terminal and stores the history. It is not an error if the history cannot be stored.
func (t *terminalReader) close() error {
	if t.history != "" && os.MkdirAll(filepath.Dir(t.history), 0o700) == nil {
		if file, err := os.OpenFile(t.history, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
			_, _ = t.state.WriteHistory(file)
			_ = file.Close()
		}
	}
	return t.state.Close()
}

// complete is called when the user presses Tab. It returns the words by which the incomplete word at pos can
// be replaced, and the text before and after that word.
func (s *shellSession) complete(line string, pos int) (head string, words []string, tail string) {
	runes := []rune(line)
	from := pos
	between := "(,=<>+-*/"
	if strings.HasPrefix(line, `\`) && !strings.HasPrefix(line, `\explain`) {
		between = ""
	}
	for from > 0 && !unicode.IsSpace(runes[from-1]) && !strings.ContainsRune(between, runes[from-1]) {
		from--
	}
	head, tail = string(runes[:from]), string(runes[pos:])
	begun := string(runes[from:pos])
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	for _, word := range s.proposals(ctx, head, begun) {
		if len(word) >= len(begun) && strings.EqualFold(word[:len(begun)], begun) {
			words = append(words, word)
		}
	}
	return head, words, tail
}

// proposals returns the words that can follow the text head and begin with begun.
func (s *shellSession) proposals(ctx context.Context, head, begun string) (list []string) {
	command, _, _ := strings.Cut(strings.TrimSpace(head), " ")
	switch {
	case command == "" && strings.HasPrefix(begun, `\`):
		for _, w := range shellVerbs() {
			list = append(list, `\`+w.name)
		}
		for _, cmd := range s.commands() {
			list = append(list, `\`+cmd.Name())
		}
		slices.Sort(list)
		return list
	case command == `\use`:
		return s.places(ctx, begun)
	case command == `\d`:
		return s.named(ctx, cli.ContainersPath, "DocumentCollections")
	case strings.HasPrefix(command, `\`) && command != `\explain`:
		return s.flagsOf(command[1:])
	}
	return slices.Concat(s.paths(ctx), clauseWords(), query.Functions())
}

// clauseWords returns the keywords of queries, such as SELECT and BETWEEN, that the shell completes.
func clauseWords() []string {
	return strings.Fields(`SELECT TOP DISTINCT VALUE AS FROM JOIN IN WHERE AND OR NOT BETWEEN LIKE
		ESCAPE EXISTS ARRAY GROUP ORDER BY RANK ASC DESC OFFSET LIMIT true false null undefined`)
}

// places returns completions for the argument of \use: databases or, after a database and a slash,
// containers of it.
func (s *shellSession) places(ctx context.Context, begun string) (list []string) {
	db, _, inside := strings.Cut(begun, "/")
	if !inside {
		return s.named(ctx, cli.DatabasesPath, "Databases")
	}
	there := *s
	there.Database = db
	for _, name := range there.named(ctx, cli.ContainersPath, "DocumentCollections") {
		list = append(list, db+"/"+name)
	}
	return list
}

// named returns the ids or names of the objects that the server returns for path, for completion. list is
// the member of the response that contains the objects.
func (s *shellSession) named(ctx context.Context, path, list string) []string {
	req, err := s.Call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil
	}
	answer, err := cli.Ask[map[string]any](req)
	if err != nil {
		return nil
	}
	return namesIn(answer[list], "")
}

// flagsOf returns the flags of a command of mayfly.
func (s *shellSession) flagsOf(name string) (list []string) {
	cmd, _, err := rootCommand().Find([]string{name})
	if err != nil {
		return nil
	}
	for _, sub := range cmd.Commands() {
		list = append(list, sub.Name())
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { list = append(list, "--"+f.Name) })
	return list
}

// completionPathCache caches the paths in the items of one container for completion, since users press Tab
// repeatedly.
type completionPathCache struct {
	of    string
	paths []string
}

func (n *completionPathCache) forget() { n.of = "" }

// sampleSize is the number of items that are read to find paths, and maxDepth the maximum number of steps of
// a path.
const (
	sampleSize = 20
	maxDepth   = 4
)

// paths returns, for completion, the paths of the properties that a sample of the container's items has, as
// they are written in a query: c.a.b.
func (s *shellSession) paths(ctx context.Context) []string {
	at := s.URL + " " + s.Database + "/" + s.Container
	if s.Container == "" || s.names.of == at {
		return s.names.paths
	}
	found := map[string]bool{}
	q := queryFlags{ClientCommandFlags: s.ClientCommandFlags}
	_, err := q.pages(ctx, "SELECT * FROM c", "", sampleSize, func(rows []json.RawMessage,
		_ cli.PageHeaders) (bool,
		error) {
		for _, row := range rows {
			collectPaths(found, "c", jsondoc.Of(row), maxDepth)
		}
		return false, nil
	})
	if err != nil {
		return nil
	}
	s.names = completionPathCache{at, slices.Sorted(maps.Keys(found))}
	return s.names.paths
}

func collectPaths(found map[string]bool, at string, v jsondoc.Value, depth int) {
	if v.Kind() != jsondoc.Object || depth == 0 {
		return
	}
	v.Each(func(name string, member jsondoc.Value) bool {
		path := at + "." + strings.Clone(name)
		if strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			text, err := json.Marshal(name)
			if err != nil {
				return true
			}
			path = at + "[" + string(text) + "]"
		}
		found[path] = true
		collectPaths(found, path, member, depth-1)
		return true
	})
}
