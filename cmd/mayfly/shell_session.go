package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/peterh/liner"
	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/ttl"
)

// shellSession is one session of `mayfly shell`.
type shellSession struct {
	cli.ClientCommandFlags
	out, errs       io.Writer
	file            *os.File // output file set by \o; nil: output goes to out
	lines           shellLineReader
	interactive     bool // a user types at a terminal
	continueOnError bool // a script continues after a failure

	json, timing bool
	params       []string        // name=value
	more         *resumableQuery // the query of which \more reads the next page; nil: there is none
	names        completionPathCache
	failed       error // the first failure of a script
	depth        int   // nesting depth of \i
}

// shellPage is how many rows a shell shows at a time.
const shellPage = 50

func shellCommand() *cobra.Command {
	s := &shellSession{}
	cmd := &cobra.Command{
		Use:   "shell",
		Short: "Run queries and commands interactively, with history and completion",
		Args:  cobra.NoArgs,
		Long: "Run queries and commands interactively. A query ends with a semicolon or an empty line; " +
			"its rows\n" +
			"are printed page by page. A line that begins with a backslash is a command: \\? lists " +
			"them. All\n" +
			"commands of mayfly are available; they use the server, database and container of the " +
			"shell.\n\n" +
			"Ctrl-C discards a line or stops a running query; Ctrl-D ends the shell. Without a " +
			"terminal, statements\n" +
			"are read from the standard input, and the first failure ends the shell with its exit code.",
	}
	s.Register(cmd.Flags())
	cmd.Flags().BoolVar(&s.json, "json", false, "print rows as JSON, one per line, like \\json")
	cmd.Flags().BoolVar(&s.continueOnError, "continue", false, "continue after a failed statement")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) (err error) {
		s.out, s.errs = cmd.OutOrStdout(), cmd.ErrOrStderr()
		ctx := cmd.Context()
		if cmd.InOrStdin() == os.Stdin && liner.TerminalSupported() && isTerminal(os.Stdin) &&
			isTerminal(os.Stdout) {
			s.interactive = true
			s.lines = newTerminalReader(s)
			ctx = withoutSignals(ctx)
			stray := make(chan os.Signal, 1) // Ctrl-C between two statements is ignored
			signal.Notify(stray, os.Interrupt)
			defer signal.Stop(stray)
			fmt.Fprintln(s.out, `mayfly shell: \? lists the commands, \q ends it`)
		} else {
			in := cli.Interruptible(ctx, cmd.InOrStdin())
			defer in.Close()
			s.lines = &pipedLineReader{bufio.NewReader(in)}
		}
		defer func() { err = errors.Join(err, s.lines.close(), s.closeFile()) }()
		return s.run(ctx)
	})
	return cmd
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// errQuit is the error by which the command \q ends the shell. It is not a failure.
var errQuit = errors.New("\\q")

// run reads and runs statements until the input ends.
func (s *shellSession) run(ctx context.Context) error {
	for {
		text, err := statement(s.lines, s.prompt())
		switch {
		case err == io.EOF:
			if s.interactive && s.depth == 0 {
				fmt.Fprintln(s.out)
			}
			return s.ending()
		case err == errCleared:
			continue
		case err != nil:
			return err
		}
		s.lines.add(text)
		switch err := s.statement(ctx, text); {
		case err == errQuit:
			return s.ending()
		case err != nil:
			s.printError(text, err)
			if s.interactive {
				continue
			}
			if s.failed == nil {
				s.failed = err
			}
			if !s.continueOnError {
				return s.ending()
			}
		}
	}
}

// ending returns the error of the first statement of a script that has failed, as an alreadyPrintedError
// because it has been printed already, or nil.
func (s *shellSession) ending() error {
	if s.failed == nil {
		return nil
	}
	return &alreadyPrintedError{s.failed}
}

// alreadyPrintedError wraps an error that has been printed already.
type alreadyPrintedError struct{ error }

func (t *alreadyPrintedError) Unwrap() error { return t.error }

// prompt returns the prompt, which shows the current database and container.
func (s *shellSession) prompt() string {
	at := s.Database
	if s.Container != "" {
		at += "/" + s.Container
	}
	if at == "" {
		at = "mayfly"
	}
	return at + "> "
}

// statement runs one statement. At a terminal, Ctrl-C cancels the statement but does not end the shell.
func (s *shellSession) statement(ctx context.Context, text string) error {
	if strings.HasPrefix(text, "--") {
		return nil // a comment
	}
	if s.interactive {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
	}
	began := ttl.SystemClock{}.Now()
	err := s.dispatch(ctx, text)
	if s.timing && err != errQuit {
		fmt.Fprintf(s.output(), "time: %.3f ms\n",
			float64(ttl.SystemClock{}.Now().Sub(began))/float64(time.Millisecond))
	}
	if errors.Is(err, context.Canceled) && s.interactive {
		return errStopped
	}
	return err
}

var errStopped = errors.New("stopped")

// printError prints an error, with its position in the query.
func (s *shellSession) printError(text string, err error) {
	fmt.Fprintln(s.errs, "mayfly:", strings.ReplaceAll(err.Error(), "\n", "; "))
	var r *cli.ResponseError
	if !errors.As(err, &r) || r.At < 0 || strings.HasPrefix(text, `\`) {
		return
	}
	runes, at := []rune(text), r.At
	if at > len(runes) {
		return
	}
	from, to := at, at
	for from > 0 && runes[from-1] != '\n' {
		from--
	}
	for to < len(runes) && runes[to] != '\n' {
		to++
	}
	fmt.Fprintf(s.errs, "  %s\n  %s^\n", string(runes[from:to]), strings.Repeat(" ", at-from))
}

// output returns the writer for the results of statements: the file chosen with \o, or the standard
// output.
func (s *shellSession) output() io.Writer {
	if s.file != nil {
		return s.file
	}
	return s.out
}

func (s *shellSession) closeFile() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// resumableQuery is a query of the shell of which further pages can be shown: its request, its
// continuation token and the writer of its rows.
type resumableQuery struct {
	call         queryFlags
	text         string
	continuation string
	w            *tableWriter
}

// query runs a query. It shows one page at a terminal, and all pages otherwise.
func (s *shellSession) query(ctx context.Context, text string) error {
	s.more = nil
	if s.Database == "" || s.Container == "" {
		return cli.Misuse(`no container is chosen: \use DB/CONTAINER goes to one; \dbs and \d list what there is`)
	}
	a := &resumableQuery{call: queryFlags{ClientCommandFlags: s.ClientCommandFlags, params: s.params},
		text: text}
	return s.pages(ctx, a)
}

// pages runs a query and shows its rows: all of them or, at a terminal, the next shellPage rows, after which
// the command \more continues. The server may return pages with few rows, for example one page for each
// partition range; pages then reads several of them.
func (s *shellSession) pages(ctx context.Context, a *resumableQuery) error {
	var w rowWriter = &jsonLinesRowWriter{out: s.output()}
	if !s.json {
		if a.w == nil {
			a.w = newTableWriter(a.text, nil)
		}
		a.w.out = s.output()
		w = a.w
	}
	most := 0
	if s.interactive && s.file == nil {
		most = shellPage
	}
	var held []json.RawMessage
	var charge float64
	last, err := a.call.pages(ctx, a.text, a.continuation, most,
		func(rows []json.RawMessage, page cli.PageHeaders) (bool, error) {
			if most == 0 {
				return true, w.page(rows, page.Charge)
			}
			held, charge = append(held, rows...), charge+page.Charge
			return len(held) < most, nil
		})
	if most > 0 && (err == nil || len(held) > 0) {
		err = errors.Join(err, w.page(held, charge))
	}
	if err != nil {
		return err
	}
	if last == "" {
		s.more = nil
		return w.end()
	}
	a.continuation, s.more = last, a
	_, err = fmt.Fprintln(s.out, `\more shows more`)
	return err
}
