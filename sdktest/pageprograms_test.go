package sdktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docPageProgramRunner describes how the example programs of one language on the documentation's pages are
// run.
type docPageProgramRunner struct {
	suite string // whose SDKs they use; "": those that are in needs
	needs string // the variable that names the program that runs them, if this machine may lack it
	whole string // is in each program that is a whole one; "": each is
	file  func(code string) string
	bus   string // is in those that use the SDK for queues

	// argv prepares one program, for example compiles it, and returns the command that runs it. The first
	// element is the path of an executable.
	argv func(t *testing.T, dir, file, code string, bus bool) []string
}

func named(name string) func(string) string { return func(string) string { return name } }

var javaClass = regexp.MustCompile(`(?m)^(?:public )?(?:final )?class (\w+)`)

var programs = map[string]docPageProgramRunner{
	"go": {
		suite: "Go", whole: "\npackage ", file: named("main.go"), bus: "azservicebus",
		argv: func(t *testing.T, dir, file, code string, _ bool) []string {
			return buildGo(t, dir, file, code)
		},
	},
	"js": {
		suite: "JavaScript", file: named("tour.mjs"), bus: "@azure/service-bus",
		argv: func(t *testing.T, dir, file, _ string, bus bool) []string {
			packages := absolute(t, of(bus, "js"), "node_modules") // node looks for them beside the program
			must(t, os.Symlink(packages, filepath.Join(dir, "node_modules")))
			return []string{"node", file}
		},
	},
	"python": {
		suite: "Python", file: named("tour.py"), bus: "azure.servicebus",
		argv: func(t *testing.T, _, file, _ string, bus bool) []string {
			return []string{absolute(t, of(bus, "python"), ".venv", "bin", "python"), file}
		},
	},
	"java": {
		suite: "Java", whole: "static void main(", bus: "azure.messaging.servicebus",
		file: func(code string) string { return javaClass.FindStringSubmatch(code)[1] + ".java" },
		argv: func(t *testing.T, _, file, _ string, bus bool) []string {
			return []string{"java", "-cp", absolute(t, of(bus, "java"), "target", "dependency", "*"), file}
		},
	},
	"csharp": {
		needs: "MAYFLY_CSHARP", file: named("tour.cs"), bus: "Azure.Messaging.ServiceBus",
		argv: func(_ *testing.T, _, file, _ string, _ bool) []string {
			return []string{os.Getenv("MAYFLY_CSHARP"), file}
		},
	},
	"rust": {
		suite: "Rust", whole: "fn main(", file: named("main.rs"), bus: "azservicebus",
		argv: func(t *testing.T, dir, _, _ string, _ bool) []string { return buildRust(t, dir) },
	},
}

// of returns the folder of a language's scenarios: those for queues if bus is set, otherwise those for
// documents.
func of(bus bool, folder string) string {
	if bus {
		return filepath.Join("servicebus", folder)
	}
	return folder
}

// runProgram runs an example program of a page. A program that uses the Go SDK is run over HTTP and over
// HTTPS.
func (p *docPageExampleRunner) runProgram(t *testing.T, b codeBlock) {
	how := programs[b.language]
	runnable(t, scenarioProgram{needs: how.needs})
	bus, list := strings.Contains(b.code, how.bus), suites
	if bus {
		list = busSuites
	}
	for _, s := range list {
		if s.name == how.suite {
			runnable(t, s)
			s.prepare(t)
		}
	}
	schemes := []string{"http"}
	if strings.Contains(b.code, "azcosmos") {
		schemes = append(schemes, "https")
	}
	for _, scheme := range schemes {
		code := strings.ReplaceAll(p.ports.Replace(b.code), "http://localhost", scheme+"://localhost")
		dir := t.TempDir()
		file := how.file(code)
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(code), 0o600))
		must(t, os.Symlink(filepath.Join(p.dir, "mayfly.pem"), filepath.Join(dir, "mayfly.pem")))
		argv := how.argv(t, dir, file, code, bus)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, append(p.env, "SSL_CERT_FILE=mayfly.pem", "NODE_EXTRA_CA_CERTS=mayfly.pem",
			p.ports.Replace("BUS=Endpoint=sb://localhost;SharedAccessKeyName=RootManageSharedAccessKey;"+
				"SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", scheme, err, out)
		}
		b.wants(t, p, string(out))
	}
}

// buildGo builds an example program or test in Go, and returns the command that runs it. It is built as a
// part of this module, so that it uses the same versions of dependencies: an overlay makes it appear in a
// folder of the module, and copies of go.mod and go.sum receive what it needs in addition.
func buildGo(t *testing.T, dir, file, code string) []string {
	t.Helper()
	bin, place, build := filepath.Join(dir, "tour"), absolute(t, "page", "main.go"), []string{"build"}
	if strings.Contains(code, "*testing.T") {
		place, build = absolute(t, "page", "page_test.go"), []string{"test", "-c", "-vet=off"}
	}
	mod, sums := filepath.Join(dir, "go.mod"), []byte{}
	for _, from := range []string{"go.sum", filepath.Join("..", "go.sum")} {
		text, err := os.ReadFile(from)
		must(t, err)
		sums = append(sums, text...)
	}
	text, err := os.ReadFile("go.mod")
	must(t, err)
	must(t, os.WriteFile(mod, text, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	overlay := filepath.Join(dir, "overlay.json")
	replaced := fmt.Appendf(nil, `{"Replace": {%q: %q}}`, place, filepath.Join(dir, file))
	must(t, os.WriteFile(overlay, replaced, 0o600))
	command(t, ".", "go", append(build, "-mod=mod", "-modfile", mod, "-overlay", overlay, "-o", bin,
		"./page")...)
	if build[0] == "test" {
		return []string{bin, "-test.v"}
	}
	return []string{bin}
}

// buildRust compiles the Rust program in a folder, and returns the command that runs it. The program has
// the same dependencies as the Rust scenarios, so that these need not be compiled again.
func buildRust(t *testing.T, dir string) []string {
	t.Helper()
	for _, file := range []string{"Cargo.toml", "Cargo.lock"} {
		text, err := os.ReadFile(filepath.Join("rust", file))
		must(t, err)
		renamed := strings.Replace(string(text), `name = "scenarios"`, `name = "page"`, 1)
		if file == "Cargo.toml" {
			renamed += "\n[[bin]]\nname = \"page\"\npath = \"main.rs\"\n"
		}
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(renamed), 0o600))
	}
	target := rustTarget(t)
	command(t, dir, "cargo", "build", "--locked", "--quiet", "--target-dir", target)
	return []string{filepath.Join(target, "debug", "page")}
}

// rustTarget returns the folder for what cargo builds. It is in the user's cache, as Go's own build cache is,
// so that a new clone does not build the SDK again.
func rustTarget(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	return filepath.Join(cache, "mayfly-sdktest", "rust")
}

// absolute returns the absolute path of a file in this package's folder.
func absolute(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(parts...))
	must(t, err)
	return path
}
