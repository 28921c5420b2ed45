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

// blocks returns the code blocks of the project's README in one language.
func blocks(t *testing.T, language string) (code []string) {
	t.Helper()
	return blocksOf(t, "README.md", language)
}

// blocksOf returns those of one of the project's pages.
func blocksOf(t *testing.T, page, language string) (code []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	must(t, err)
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		code = append(code, m[1])
	}
	return code
}

// TestReadmeCurl runs the README's tour as it stands, but for the port.
func TestReadmeCurl(t *testing.T) {
	s := start(t, "--memory", "--virtual-clock")
	script := here(strings.Join(blocks(t, "bash"), "echo\n"), s)
	out, err := exec.Command("bash", "-euo", "pipefail", "-c", script).CombinedOutput()
	must(t, err)
	for _, want := range []string{`{"id":"shop",`, `"defaultTtl":3600`, `"ttl":60,`, `"virtual":true}`, "404\n", `"_count":1}`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// TestReadmeGo runs the README's program for the Go SDK, with this module's version of it, as it stands and
// with https.
func TestReadmeGo(t *testing.T) {
	s := start(t, "--memory")
	for _, scheme := range []string{"http", "https"} {
		var program string
		for _, b := range blocks(t, "go") {
			if strings.Contains(b, "azcosmos") {
				program = strings.ReplaceAll(here(b, s), "http://localhost", scheme+"://localhost")
			}
		}
		// An overlay puts the program into this module without writing into its folder.
		dir := t.TempDir()
		source, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "tour")
		must(t, os.WriteFile(source, []byte(program), 0o600))
		overlay := filepath.Join(dir, "overlay.json")
		must(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, absolute(t, "readme", "main.go"), source), 0o600))
		command(t, ".", "go", "build", "-overlay", overlay, "-o", bin, "./readme")
		cmd := exec.CommandContext(t.Context(), bin)
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+certificate(t, s, dir))
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), `"user":"ada"`) != 3 {
			t.Errorf("%s: %v\n%s", scheme, err, out)
		}
	}
}

// tour is a program of the README: what it is put between to be a whole one, and how that is run.
type tour struct {
	name, language, file, says string
	before, after              string
	environment                func(cert string) []string
	command                    func(t *testing.T, dir string) []string // which begins with the path of a program
}

var tours = []tour{
	{
		name: "JavaScript", language: "js", file: "tour.mjs", says: "javascript sees tour",
		environment: func(cert string) []string { return []string{"NODE_EXTRA_CA_CERTS=" + cert} },
		command: func(t *testing.T, dir string) []string { // node looks for packages beside the program
			must(t, os.Symlink(absolute(t, "js", "node_modules"), filepath.Join(dir, "node_modules")))
			return []string{"node", "tour.mjs"}
		},
	},
	{
		name: "Python", language: "python", file: "tour.py", says: "python sees tour",
		command: func(t *testing.T, _ string) []string {
			return []string{absolute(t, "python", ".venv", "bin", "python"), "tour.py"}
		},
	},
	{
		name: "Java", language: "java", file: "Tour.java", says: "java sees java-tour",
		before: "import com.azure.cosmos.CosmosClientBuilder;\n\nclass Tour {\n\tpublic static void main(String[] args) {\n",
		after: `
		System.out.println("java sees " + client.createDatabaseIfNotExists("java-tour").getProperties().getId());
		client.close();
	}
}`,
		command: func(t *testing.T, _ string) []string {
			return []string{"java", "-cp", absolute(t, "java", "target", "dependency", "*"), "Tour.java"}
		},
	},
	{
		name: "Rust", language: "rust", file: "main.rs", says: `rust sees Some("rust-tour")`,
		before: `fn main() -> Result<(), Box<dyn std::error::Error>> {
	tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(tour(std::env::var("KEY")?))
}

async fn tour(key: String) -> Result<(), Box<dyn std::error::Error>> {
`,
		after: `
	client.create_database("rust-tour", None).await?;
	println!("rust sees {:?}", client.database_client("rust-tour").read(None).await?.into_model()?.id);
	Ok(())
}`,
		environment: func(cert string) []string { return []string{"SSL_CERT_FILE=" + cert} },
		command:     buildRust,
	},
}

// TestReadmeSDKs runs the README's programs for other SDKs over HTTPS, with the certificate that the server
// gives out, but for that in C#: nothing here compiles it.
func TestReadmeSDKs(t *testing.T) {
	s := start(t, "--memory")
	for _, p := range tours {
		t.Run(p.name, func(t *testing.T) {
			code := blocks(t, p.language)
			if len(code) != 1 {
				t.Fatalf("the README has %d programs", len(code))
			}
			prepared(t, p.name)
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, p.file), []byte(p.before+here(code[0], s)+p.after), 0o600))
			cert := certificate(t, s, dir)
			argv := p.command(t, dir)
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "KEY="+EmulatorKey)
			if p.environment != nil {
				cmd.Env = append(cmd.Env, p.environment(cert)...)
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), p.says) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// buildRust compiles the program in a folder as a package that needs what the scenarios need, so that nothing
// else is compiled anew.
func buildRust(t *testing.T, dir string) []string {
	t.Helper()
	for _, file := range []string{"Cargo.toml", "Cargo.lock"} {
		text, err := os.ReadFile(filepath.Join("rust", file))
		must(t, err)
		renamed := strings.Replace(string(text), `name = "scenarios"`, `name = "readme"`, 1)
		if file == "Cargo.toml" {
			renamed += "\n[[bin]]\nname = \"readme\"\npath = \"main.rs\"\n"
		}
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(renamed), 0o600))
	}
	target := absolute(t, "rust", "target")
	command(t, dir, "cargo", "build", "--locked", "--quiet", "--target-dir", target)
	return []string{filepath.Join(target, "debug", "readme")}
}

// here is a program of the README for this server's port.
func here(program string, s *Server) string {
	return strings.ReplaceAll(program, "localhost:8081", fmt.Sprintf("localhost:%d", s.Port))
}

// certificate writes the server's certificate into a folder, under the name that the README gives it.
func certificate(t *testing.T, s *Server, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "mayfly.pem")
	must(t, os.WriteFile(path, get(t, s.URL("http")+"_mayfly/cert.pem"), 0o600))
	return path
}

// absolute is the path of something in this folder.
func absolute(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(parts...))
	must(t, err)
	return path
}

// prepared installs a language's SDK.
func prepared(t *testing.T, name string) {
	t.Helper()
	for _, s := range suites {
		if s.name != name {
			continue
		}
		runnable(t, s)
		s.prepare(t)
		return
	}
	t.Fatalf("there is no suite in %s", name)
}
