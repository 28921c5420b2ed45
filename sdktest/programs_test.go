package sdktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The programs that must be installed to run the scenarios of each language.
var (
	nodeTools   = []string{"node", "npm"}
	pythonTools = []string{"python3"}
	javaTools   = []string{"java", "keytool", "mvn"}
)

// installs holds, by path, what has been installed in this run, so that tests that run in parallel install
// it only once.
var installs sync.Map

func installed(place string, install func()) {
	once, _ := installs.LoadOrStore(place, new(sync.Once))
	once.(*sync.Once).Do(install)
}

// mavens is held while Maven runs: Maven's local repository of packages is not made for concurrent runs.
var mavens sync.Mutex

// maven compiles the Maven project in a folder, and copies its dependencies there.
func maven(t *testing.T, dir string) {
	t.Helper()
	installed(dir, func() {
		mavens.Lock()
		defer mavens.Unlock()
		command(t, dir, "mvn", "-q", "-B", "compile", "dependency:copy-dependencies")
	})
}

// goProgram returns a function that builds the scenario program in a package of this module and returns
// the command that runs it.
func goProgram(pkg string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		bin := filepath.Join(t.TempDir(), "scenarios")
		command(t, ".", "go", "build", "-o", bin, pkg)
		return []string{bin}
	}
}

// nodeProgram returns a function that installs the npm dependencies of a folder and returns the command
// that runs its run.js.
func nodeProgram(dir string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		nodeModules(t, dir)
		return []string{"node", filepath.Join(dir, "run.js")}
	}
}

// nodeModules installs the npm dependencies of the package in a folder, unless they are up to date.
func nodeModules(t *testing.T, dir string) {
	t.Helper()
	lock := "package-lock.json"
	installed(dir, func() {
		if stale(filepath.Join(dir, lock), filepath.Join(dir, "node_modules", "."+lock)) {
			command(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--loglevel", "error")
		}
	})
}

// pythonProgram returns a function that installs the Python requirements of a folder and returns the
// command that runs its run.py, with the arguments more.
func pythonProgram(dir string, more ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		python := pythonWith(t, dir, "requirements.txt", ".venv")
		return append([]string{python, filepath.Join(dir, "run.py")}, more...)
	}
}

// pythonWith creates a virtual environment in dir with the packages of a requirements file, unless it is
// up to date, and returns the path of its interpreter.
func pythonWith(t *testing.T, dir, requirements, venv string) string {
	t.Helper()
	made, file := filepath.Join(dir, venv, "installed"), filepath.Join(dir, requirements)
	python := filepath.Join(dir, venv, "bin", "python")
	installed(file, func() {
		if stale(file, made) {
			command(t, dir, "python3", "-m", "venv", venv)
			command(t, ".", python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", file)
			must(t, os.WriteFile(made, nil, 0o644))
		}
	})
	return python
}

// javaProgram returns a function that compiles the Maven project in a folder and returns the command that
// runs its class scenarios.Run.
func javaProgram(dir string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		maven(t, dir)
		target := filepath.Join(dir, "target")
		path := []string{filepath.Join(target, "classes"), filepath.Join(target, "dependency", "*")}
		return []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
			"-cp", strings.Join(path, string(os.PathListSeparator)), "scenarios.Run"}
	}
}

// The ways to make a runner trust the certificate in a file.

func trustByFile(_ *testing.T, cert string) []string { return []string{"SSL_CERT_FILE=" + cert} }

func trustByNode(_ *testing.T, cert string) []string { return []string{"NODE_EXTRA_CA_CERTS=" + cert} }

func trustByRequests(_ *testing.T, cert string) []string {
	return []string{"REQUESTS_CA_BUNDLE=" + cert, "SSL_CERT_FILE=" + cert}
}

func trustByStore(t *testing.T, cert string) []string {
	store := filepath.Join(t.TempDir(), "trust.p12")
	command(t, ".", "keytool", "-importcert", "-noprompt", "-alias", "mayfly", "-file", cert,
		"-keystore", store, "-storetype", "PKCS12", "-storepass", "changeit")
	return []string{"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=" + store +
		" -Djavax.net.ssl.trustStorePassword=changeit"}
}

// command runs a program in a folder, such as an installer or a compiler, and fails the test if it fails.
func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// stale reports whether the file made is missing or older than the file source from which it was made.
func stale(source, made string) bool {
	from, err := os.Stat(source)
	if err != nil {
		return true
	}
	to, err := os.Stat(made)
	return err != nil || to.ModTime().Before(from.ModTime())
}
