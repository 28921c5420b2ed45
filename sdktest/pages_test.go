package sdktest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The project's pages are README.md and all of docs. Their examples run as they stand, but for the ports:
//
//   - The first line "mayfly serve ..." in a block of sh says how the page's server is started.
//   - Blocks of bash run in their order in one shell, beside the server. What else is in sh is for readers.
//   - Programs in other languages run after them, each on its own.
//
// What is no whole program, such as one function in Go, is not run either. C# is run by the program that
// MAYFLY_CSHARP names: csharp FILE.cs compiles and runs one file, and where that has no Main its tests of
// xunit.
//
// A block of text right below an example is what the example prints; "..." stands for anything. A block of
// bash that prints must have one, so that readers see what they should get.
//
// Comments right above a block say what else is wanted of it:
//
//	<!-- file: NAME -->      it lies under this name where the page's examples run
//	<!-- not run: reason --> it is not run; nothing else is left out
//
// The commands in the last column of a table that ends in "what shows it" run as a block of bash, too.

// codeBlock is a code block of a documentation page, or a command in a table, with what the page says that
// it prints.
type codeBlock struct {
	language, code string
	line           int
	file, notRun   string
	prints         string // empty: the page does not say
	cell           bool   // in a table, which has no place for what it prints
}

var (
	directive = regexp.MustCompile(`^<!-- (file|not run): (.*) -->$`)
	showing   = regexp.MustCompile("`((?:mayfly|curl|grep) [^`]*)`")
	serveLine = regexp.MustCompile(`(?m)^(?:mayfly|go run \./cmd/mayfly) serve\b(.*)$`)
)

// readBlocks returns the code blocks of a page, and the commands in its tables.
func readBlocks(t *testing.T, page string) (list []codeBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	var next codeBlock
	inside, shows, below := false, false, false // below: a block has ended, and nothing has come since
	for i, line := range strings.Split(string(text), "\n") {
		m := directive.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```") && inside:
			if next.language == "text" && below && len(list) > 0 {
				list[len(list)-1].prints = next.code
			}
			list, next, inside, below = append(list, next), codeBlock{}, false, true
		case strings.HasPrefix(line, "```"):
			next.language, next.line, inside = strings.TrimPrefix(line, "```"), i+1, true
		case inside:
			next.code += line + "\n"
		case strings.HasPrefix(line, "|"):
			if shows = shows || strings.HasSuffix(line, "| what shows it |"); shows {
				list = append(list, shown(line, i+1)...)
			}
		case m == nil:
			if shows = false; line != "" {
				next, below = codeBlock{}, false
			}
		case m[1] == "file":
			next.file = m[2]
		default:
			next.notRun = m[2]
		}
	}
	return list
}

// shown returns the commands in the last cell of a row of a table, each as a code block.
func shown(row string, line int) (list []codeBlock) {
	cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
	for _, m := range showing.FindAllStringSubmatch(cells[len(cells)-1], -1) {
		list = append(list, codeBlock{language: "bash", code: m[1] + "\n", line: line, cell: true})
	}
	return list
}

// pages returns the paths of README.md and of all documentation pages, relative to the project's root.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md"}
	docs := filepath.Join("..", "docs")
	must(t, filepath.WalkDir(docs, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			name, err = filepath.Rel("..", name)
			list = append(list, filepath.ToSlash(name))
		}
		return err
	}))
	return list
}

// TestDocs runs all examples of all documentation pages. -run TestDocs/docs_start_go.md runs those of one
// page.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		t.Run(strings.ReplaceAll(page, "/", "_"), func(t *testing.T) {
			runPage(t, filepath.Join("..", page))
		})
	}
}

func runPage(t *testing.T, page string) {
	p := docPageExampleRunner{dir: t.TempDir()}
	var shell, rest []codeBlock
	for _, b := range readBlocks(t, page) {
		flags := serveLine.FindStringSubmatch(b.code)
		if b.file != "" {
			must(t, os.WriteFile(filepath.Join(p.dir, b.file), []byte(b.code), 0o600))
		}
		how, program := programs[b.language]
		program = program && (how.whole == "" || strings.Contains("\n"+b.code, how.whole))
		switch {
		case b.language == "sh" && flags != nil && p.flags == nil:
			p.flags = strings.Fields(flags[1])
		case b.notRun != "" || b.file != "" && !program:
		case b.language == "bash":
			shell = append(shell, b)
		case program:
			rest = append(rest, b)
		}
	}
	if len(shell)+len(rest) == 0 {
		return
	}
	p.start(t)
	if len(shell) > 0 {
		p.runShell(t, shell)
	}
	for _, b := range rest {
		t.Run(fmt.Sprintf("%s-%d", b.language, b.line), func(t *testing.T) { p.runProgram(t, b) })
	}
}

// docPageExampleRunner is the folder, the server and the environment variables with which the examples of one
// page run.
type docPageExampleRunner struct {
	dir   string
	flags []string // of the page's server
	env   []string
	ports *strings.Replacer
}

// start starts the server of the page. It uses free ports, which replace the page's ports in the examples.
func (p *docPageExampleRunner) start(t *testing.T) {
	t.Helper()
	args := slices.Clone(p.flags)
	if !slices.Contains(args, "--memory") && !slices.Contains(args, "--data") {
		args = append(args, "--data", filepath.Join(p.dir, "data"))
	}
	for i, arg := range args {
		if i > 0 && slices.Contains([]string{"--data", "--seed", "--servicebus-config"}, args[i-1]) {
			args[i] = filepath.Join(p.dir, filepath.Base(arg))
		}
	}
	moved := []string{}
	var s *Server
	if slices.Contains(args, "--servicebus") {
		b := startBus(t, slices.DeleteFunc(args, func(a string) bool { // which it gives itself
			return a == "--virtual-clock" || a == "--servicebus"
		})...)
		moved = append(moved, "Endpoint=sb://localhost;", "Endpoint=sb://"+at(b.amqp)+";",
			"localhost:5672", at(b.amqp), "localhost:5301", at(b.admin))
		s = b.Server
	} else {
		s = start(t, args...)
	}
	here := "localhost:" + strconv.Itoa(s.Port)
	p.ports = strings.NewReplacer(append(moved, "localhost:8081", here)...)
	// In a new data folder the certificate is new: programs know it by the name that the pages give it.
	cert := filepath.Join(p.dir, "mayfly.pem")
	must(t, os.WriteFile(cert, get(t, s.URL("http")+"_mayfly/cert.pem"), 0o600))
	p.env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"MAYFLY_URL=http://"+here)
}

// wants fails the test unless the output out of a block contains the text that the page says it prints.
// "..." in that text stands for any text.
func (b codeBlock) wants(t *testing.T, p *docPageExampleRunner, out string) {
	t.Helper()
	parts := strings.Split(strings.TrimSpace(p.ports.Replace(b.prints)), "...")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	plain := strings.ReplaceAll(out, "\r\n", "\n") // heads of HTTP
	if !regexp.MustCompile("(?s)" + strings.Join(parts, ".*?")).MatchString(plain) {
		t.Errorf("line %d does not print\n%s\nbut\n%s", b.line, b.prints, out)
	}
}

// runShell runs the bash blocks of a page in one shell, and compares the output of each with the page.
func (p *docPageExampleRunner) runShell(t *testing.T, blocks []codeBlock) {
	t.Helper()
	const end = "\n== end of the block ==\n"
	var script strings.Builder
	for _, b := range blocks {
		script.WriteString(p.ports.Replace(b.code) + "printf '%s' '" + end + "'\n")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script.String())
	cmd.Dir, cmd.Env = p.dir, p.env
	text, err := cmd.CombinedOutput()
	outputs := strings.Split(string(text), end)
	if err != nil {
		failed := blocks[min(len(outputs), len(blocks))-1]
		t.Fatalf("the block on line %d: %v\n%s", failed.line, err, outputs[len(outputs)-1])
	}
	for i, b := range blocks {
		if b.prints == "" && !b.cell && strings.TrimSpace(outputs[i]) != "" {
			t.Errorf("the page does not show what the block on line %d prints:\n%s", b.line, outputs[i])
		}
		b.wants(t, p, outputs[i])
	}
}
