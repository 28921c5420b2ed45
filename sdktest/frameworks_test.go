package sdktest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// frameworkTime is the time limit for the tests of one framework.
const frameworkTime = 15 * time.Minute

// TestKombu runs kombu's own tests with its Service Bus transport, and a Celery application that uses it.
func TestKombu(t *testing.T) {
	runnable(t, scenarioProgram{tools: pythonTools})
	dir := filepath.Join("servicebus", "frameworks", "kombu")
	python, err := filepath.Abs(pythonWith(t, dir, "requirements.txt", ".venv"))
	must(t, err)
	b := startBus(t, "--memory")
	env := append(trustByRequests(t, b.certificate(t)), "AMQP="+at(b.amqp), "ADMIN="+at(b.admin),
		"KOMBU="+sdist(t, dir, python, "kombu"))
	framework(t, dir, env, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", ".")
}

// sdist downloads and unpacks the source distribution of a Python package, which contains its tests, and
// returns the folder. The version is that in the requirements.txt of dir.
func sdist(t *testing.T, dir, python, name string) string {
	t.Helper()
	made, err := filepath.Abs(filepath.Join(dir, ".venv", "source"))
	must(t, err)
	if stale(filepath.Join(dir, "requirements.txt"), made) {
		must(t, os.RemoveAll(made))
		text, err := os.ReadFile(filepath.Join(dir, "requirements.txt"))
		must(t, err)
		all := strings.Fields(string(text))
		version := all[slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, name+"==") })]
		packed := t.TempDir()
		command(t, dir, python, "-m", "pip", "download", "-q", "--disable-pip-version-check",
			"--no-deps", "--no-binary", ":all:", "-d", packed, version)
		archives, err := filepath.Glob(filepath.Join(packed, "*.tar.gz"))
		must(t, err)
		command(t, dir, python, "-m", "tarfile", "-e", archives[0], made)
	}
	folders, err := filepath.Glob(filepath.Join(made, "*"))
	must(t, err)
	return folders[0]
}

// TestSpring runs an application with Spring Cloud Azure that sends messages with a template and receives
// them with listeners.
func TestSpring(t *testing.T) {
	t.Parallel()
	runnable(t, scenarioProgram{tools: javaTools})
	dir := filepath.Join("servicebus", "frameworks", "spring")
	maven(t, dir)
	b := startBus(t, "--memory")
	b.create(t, "spring-orders")
	b.create(t, "spring-news", "readers")
	path := strings.Join([]string{"target/classes", "target/dependency/*"}, string(os.PathListSeparator))
	framework(t, dir, []string{"SERVICEBUS=" + b.connection()}, "java", "-XX:TieredStopAtLevel=1",
		"-XX:+UseSerialGC", "-cp", path, "spring.Shop")
}

// framework runs a program in a folder, with additional environment variables, and fails the test unless
// its exit code is 0.
func framework(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), frameworkTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Log(lines[len(lines)-1])
}
