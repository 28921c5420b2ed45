package sdktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The programs that the languages need, beside Go.
var (
	nodeTools   = []string{"node", "npm"}
	pythonTools = []string{"python3"}
	javaTools   = []string{"java", "keytool", "mvn"}
)

// installs are what is installed, by its place: once in a run, since tests that run side by side use it at
// once.
var installs sync.Map

func installed(place string, install func()) {
	once, _ := installs.LoadOrStore(place, new(sync.Once))
	once.(*sync.Once).Do(install)
}

// mavens keeps Maven's runs apart, which share a store of packages that is made for one.
var mavens sync.Mutex

// maven compiles what is in a folder, and brings what that needs.
func maven(t *testing.T, dir string) {
	t.Helper()
	installed(dir, func() {
		mavens.Lock()
		defer mavens.Unlock()
		command(t, dir, "mvn", "-q", "-B", "compile", "dependency:copy-dependencies")
	})
}

// goProgram prepares the runner in a package of this module.
func goProgram(pkg string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		bin := filepath.Join(t.TempDir(), "scenarios")
		command(t, ".", "go", "build", "-o", bin, pkg)
		return []string{bin}
	}
}

// nodeProgram prepares run.js of a folder.
func nodeProgram(dir string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		nodeModules(t, dir)
		return []string{"node", filepath.Join(dir, "run.js")}
	}
}

// nodeModules installs what the package of a folder needs.
func nodeModules(t *testing.T, dir string) {
	t.Helper()
	lock := "package-lock.json"
	installed(dir, func() {
		if stale(filepath.Join(dir, lock), filepath.Join(dir, "node_modules", "."+lock)) {
			command(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--loglevel", "error")
		}
	})
}

// pythonProgram prepares run.py of a folder, which more arguments may follow.
func pythonProgram(dir string, more ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		python := pythonWith(t, dir, "requirements.txt", ".venv")
		return append([]string{python, filepath.Join(dir, "run.py")}, more...)
	}
}

// pythonWith makes an environment with what a file of the folder requires, and returns its interpreter.
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

// javaProgram prepares scenarios.Run of a folder.
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

// command runs a program that prepares a suite.
func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// stale reports whether what was made from a file is missing or older than it.
func stale(source, made string) bool {
	from, err := os.Stat(source)
	if err != nil {
		return true
	}
	to, err := os.Stat(made)
	return err != nil || to.ModTime().Before(from.ModTime())
}
