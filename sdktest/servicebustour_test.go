package sdktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// busPage is the page about queues and topics.
const busPage = "SERVICEBUS.md"

// busTours are the programs of that page, which read the connection string from BUS.
var busTours = []tour{
	{name: "Go", language: "go", file: "main.go", says: "go got hello", command: buildGoTour},
	{
		name: "JavaScript", language: "js", file: "tour.mjs", says: "javascript got hello",
		command: func(t *testing.T, dir string) []string { // node looks for packages beside the program
			must(t, os.Symlink(absolute(t, "servicebus", "js", "node_modules"), filepath.Join(dir, "node_modules")))
			return []string{"node", "tour.mjs"}
		},
	},
	{
		name: "Python", language: "python", file: "tour.py", says: "python got hello",
		command: func(t *testing.T, _ string) []string {
			return []string{absolute(t, "servicebus", "python", ".venv", "bin", "python"), "tour.py"}
		},
	},
	{
		name: "Java", language: "java", file: "Tour.java", says: "java got hello",
		before: "import com.azure.messaging.servicebus.*;\n\nclass Tour {\n\tpublic static void main(String[] args) {\n",
		after:  "\n\t}\n}",
		command: func(t *testing.T, _ string) []string {
			return []string{"java", "-cp", absolute(t, "servicebus", "java", "target", "dependency", "*"), "Tour.java"}
		},
	},
}

// TestServiceBusPage runs the programs of the page as they stand, over the entities of its file.
func TestServiceBusPage(t *testing.T) {
	config := filepath.Join(t.TempDir(), "Config.json")
	must(t, os.WriteFile(config, []byte(blocksOf(t, busPage, "json")[0]), 0o600))
	b := startBus(t, "--memory", "--servicebus-config", config)
	connection := "Endpoint=sb://localhost;"
	there := strings.NewReplacer(connection, "Endpoint=sb://"+at(b.amqp)+";", "localhost:5672", at(b.amqp),
		"localhost:8081", fmt.Sprintf("localhost:%d", b.Port))
	t.Run("curl", func(t *testing.T) {
		script := there.Replace(strings.Join(blocksOf(t, busPage, "bash"), "echo\n"))
		out, err := exec.Command("bash", "-euo", "pipefail", "-c", script).CombinedOutput()
		must(t, err)
		for _, want := range []string{"201 Created", `"Label":"first"`, "hello", "204 No Content", "TTLExpiredException", "mortal"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %s in\n%s", want, out)
			}
		}
	})
	for _, p := range busTours {
		t.Run(p.name, func(t *testing.T) {
			code := blocksOf(t, busPage, p.language)
			if len(code) != 1 {
				t.Fatalf("the page has %d programs", len(code))
			}
			for _, s := range busSuites {
				if s.name == p.name {
					runnable(t, s)
					s.prepare(t)
				}
			}
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, p.file), []byte(p.before+code[0]+p.after), 0o600))
			argv := p.command(t, dir)
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "BUS="+b.connection())
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), p.says) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// buildGoTour builds the program with this module's versions: an overlay puts it there without a file.
func buildGoTour(t *testing.T, dir string) []string {
	t.Helper()
	overlay, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tour")
	must(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, absolute(t, "bustour", "main.go"),
		filepath.Join(dir, "main.go")), 0o600))
	command(t, ".", "go", "build", "-overlay", overlay, "-o", bin, "./bustour")
	return []string{bin}
}
