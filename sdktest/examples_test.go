package sdktest

import (
	"path/filepath"
	"testing"
)

// exampleApplication is one of the applications in the folder examples, and how to run its tests.
type exampleApplication struct {
	name, dir string
	tools     []string
	prepare   func(t *testing.T, dir string) (argv []string) // brings what it needs; the command of its tests
}

// examples lists the example applications with the commands of their tests. The dependencies that a test
// installs first are in folders that git ignores.
var examples = []exampleApplication{
	{name: "Shop", dir: "shop",
		prepare: func(*testing.T, string) []string { return []string{"go", "test", "-count=1", "./..."} }},
	{name: "Express", dir: "express-sessions", tools: nodeTools, prepare: npmTest},
	{name: "FastAPI", dir: "fastapi-tokens", tools: pythonTools, prepare: pytest},
	{name: "Worker", dir: "worker", tools: nodeTools, prepare: npmTest},
	{name: "Spring Boot", dir: "spring-boot", tools: javaTools,
		prepare: func(t *testing.T, dir string) []string {
			// The tests' own packages come with the first run of them, so that no other run of Maven may be
			// beside it.
			mavens.Lock()
			t.Cleanup(mavens.Unlock)
			return []string{"mvn", "-q", "-B", "test"}
		}},
}

// TestExamples runs the tests of each example application. These tests start the server themselves.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			runnable(t, scenarioProgram{tools: e.tools})
			dir := filepath.Join("..", "examples", e.dir)
			argv := e.prepare(t, dir)
			framework(t, dir, []string{"MAYFLY=" + binary}, argv[0], argv[1:]...)
		})
	}
}

// npmTest installs the npm dependencies of the package in a folder, and returns the command that runs its
// tests.
func npmTest(t *testing.T, dir string) []string {
	nodeModules(t, dir)
	return []string{"npm", "test", "--silent"}
}

// pytest installs the Python requirements of a folder, and returns the command that runs its tests.
func pytest(t *testing.T, dir string) []string {
	python, err := filepath.Abs(pythonWith(t, dir, "requirements.txt", ".venv"))
	must(t, err)
	return []string{python, "-m", "pytest", "-q", "-p", "no:cacheprovider"}
}
