package archtest

import (
	"slices"
	"strconv"
	"strings"
)

// allowedImports lists what a package may import besides the standard library.
type allowedImports struct {
	own   []string // packages of this module; "store/..." means the package and all below it
	third []string // other modules' packages, by prefix
	tests []string // more of this module, for test files alone
}

// importTable is the table of allowed imports, by the path of the importing package in the module. Each
// package needs a row: a new package is reported until it has one.
var importTable = map[string]allowedImports{
	"": { // the module's root: the embedded API for Go programs
		own: []string{"store", "store/definition", "store/fault", "queue", "queue/entity", "queue/message",
			"queue/rule", "queue/wire", "index", "internal/jsondoc", "ttl", "engine", "engine/pebble",
			"engine/postgres"},
		third: []string{"github.com/jackc/pgx/v5"}, // in tests
	},
	"internal/jsondoc":            {third: []string{"github.com/tidwall/gjson", "github.com/twmb/murmur3"}},
	"internal/jsondoc/jsonbinary": {own: []string{"internal/jsondoc"}},
	"ttl":                         {},
	"engine":                      {own: []string{"internal/prefix"}},
	"internal/prefix":             {},
	"internal/host":               {own: []string{"engine", "ttl"}, tests: []string{"engine/pebble"}},
	"internal/migrate": {own: []string{"engine", "engine/pebble", "internal/host", "ttl"},
		third: []string{"golang.org/x/sync", "github.com/cockroachdb/pebble/v2", "github.com/jackc/pgx/v5"},
		tests: []string{"store", "store/definition", "internal/metamorphic", "engine/postgres"}},
	"index": {own: []string{"internal/jsondoc", "internal/prefix"},
		third: []string{"github.com/golang/geo/", "github.com/blevesearch/snowballstem"}},
	"query":                     {own: []string{"query/...", "internal/jsondoc"}, tests: []string{"index"}},
	"query/internal/queryerror": {own: []string{"query/syntax", "internal/jsondoc"}},
	"query/internal/record":     {},
	"query/internal/source":     {own: []string{"index", "internal/jsondoc"}},
	"query/internal/lang": {own: []string{"query/internal/queryerror", "index", "internal/jsondoc"},
		third: []string{"github.com/dlclark/regexp2/v2"}},
	"query/internal/cursor": {own: []string{"query/internal/record", "query/internal/queryerror"}},
	"query/internal/bind": {
		own: []string{"query/internal/lang", "query/internal/queryerror", "query/syntax", "index",
			"internal/jsondoc"},
	},
	"query/internal/eval": {
		own: []string{"query/internal/bind", "query/internal/lang", "query/internal/queryerror",
			"query/internal/record", "query/internal/source", "query/spill", "query/syntax", "index", "internal/jsondoc"},
	},
	"query/internal/plan": {own: []string{"query/internal/eval", "query/internal/bind", "query/internal/lang",
		"query/internal/cursor", "query/internal/queryerror", "query/syntax", "index", "internal/jsondoc"}},
	"query/internal/exec": {own: []string{"query/internal/plan", "query/internal/eval", "query/internal/bind",
		"query/internal/lang", "query/internal/cursor", "query/internal/record", "query/internal/queryerror",
		"query/internal/source", "query/spill", "query/syntax", "index", "internal/jsondoc", "internal/heap"}},
	"query/internal/gateway": {
		own: []string{"query/internal/plan", "query/internal/bind", "query/internal/lang",
			"query/internal/queryerror", "query/syntax", "index", "internal/jsondoc"},
	},
	"query/syntax": {own: []string{"internal/jsondoc"}},
	"query/spill":  {own: []string{"internal/heap"}, third: []string{"github.com/klauspost/compress/s2"}},
	"internal/script": {own: []string{"internal/jsondoc"}, third: []string{"github.com/dop251/goja",
		"github.com/dlclark/regexp2/v2", "github.com/hashicorp/golang-lru/v2"}, tests: []string{"ttl"}},
	"store/internal/layout": {own: []string{"internal/host", "engine", "index", "internal/jsondoc", "ttl"}},
	"store/internal/view": {
		own: []string{
			"store/internal/layout",
			"store/definition",
			"engine",
			"index",
			"internal/jsondoc",
			"ttl",
		},
		tests: []string{"store/internal/viewtest"},
	},
	"store/internal/value": {
		own: []string{"store/inspect", "store/internal/view", "store/internal/classify",
			"store/internal/layout", "store/definition", "store/fault", "query", "internal/jsondoc", "ttl"},
	},
	"store/internal/scan": {
		own: []string{"store/internal/value", "store/internal/view", "store/internal/posting",
			"store/internal/work", "store/internal/layout", "store/definition", "store/fault",
			"internal/host", "query", "index", "internal/jsondoc", "engine"},
	},
	"store/internal/feed": {
		own: []string{"store/internal/scan", "store/internal/value", "store/internal/view",
			"store/internal/layout", "store/definition", "store/fault", "internal/jsondoc", "engine"},
	},
	"store/internal/upgrade": {
		own: []string{"store/internal/record", "store/internal/layout", "store/definition", "internal/host",
			"index", "engine"},
		tests: []string{"engine/pebble"},
	},
	"store/internal/split": {
		own: []string{"store/internal/view", "store/internal/layout", "store/definition", "internal/host",
			"index", "engine"},
	},
	"store/internal/container": {
		own: []string{"store/internal/split", "store/internal/sweep", "store/internal/value",
			"store/internal/record", "store/internal/view", "store/internal/layout", "store/definition",
			"store/fault", "internal/host", "index", "engine", "ttl"},
	},
	"store/internal/transaction": {
		own: []string{"store/internal/container", "store/internal/scan", "store/internal/split",
			"store/internal/sweep", "store/internal/value", "store/internal/view", "store/internal/layout",
			"store/internal/classify", "store/definition", "store/fault", "query", "index", "internal/jsondoc",
			"engine", "ttl"},
	},
	"store/internal/batch": {
		own: []string{"store/internal/transaction", "store/internal/container", "store/internal/scan",
			"store/internal/value", "store/internal/classify", "store/definition", "store/fault"},
	},
	"store/internal/resource": {
		own: []string{"store/internal/value", "store/internal/record", "store/internal/layout",
			"store/definition", "store/fault", "internal/host", "internal/jsondoc", "engine"},
	},
	"store/internal/procedure": {
		own: []string{"store/internal/resource", "store/internal/value", "store/internal/record",
			"store/internal/work", "store/internal/classify", "store/inspect", "store/definition",
			"store/fault", "query", "internal/script", "internal/jsondoc", "ttl"},
	},
	"store/internal/sweep": {
		own: []string{"store/internal/view", "store/internal/work", "store/internal/layout",
			"store/definition", "internal/host", "engine", "ttl"},
	},
	"store/internal/lint": {
		own: []string{"store/internal/value", "store/internal/view", "store/definition", "internal/jsondoc",
			"ttl"},
		tests: []string{"store/internal/layout"},
	},
	"store/internal/viewtest": { // for tests
		own: []string{"store/internal/view", "store/internal/layout", "store/definition", "engine",
			"engine/pebble", "index", "ttl"},
	},
	"store/internal/classify": {
		own: []string{"store/internal/view", "store/fault", "internal/host", "query", "internal/script",
			"ttl"},
	},
	"store/internal/record": {
		own: []string{"store/definition", "store/fault", "store/internal/layout", "internal/host",
			"engine", "ttl"},
	},
	"store/internal/work": {own: []string{"internal/priority", "store/internal/classify", "store/fault",
		"query", "index", "engine", "ttl"},
		third: []string{"github.com/hashicorp/golang-lru/v2", "golang.org/x/sync/semaphore"},
		tests: []string{"internal/jsondoc"}},
	"store/internal/posting": {own: []string{"store/internal/layout", "engine", "internal/heap"}},
	"store/internal/check": {
		own: []string{"store/internal/view", "store/internal/layout", "store/definition", "engine", "index",
			"internal/jsondoc", "ttl"},
		tests: []string{"store/internal/viewtest"},
	},
	"store/inspect": {
		own: []string{
			"store/internal/view",
			"store/internal/layout",
			"store/definition",
			"internal/host",
			"engine",
			"internal/jsondoc",
			"ttl",
		},
		tests: []string{"store/internal/viewtest"},
	},
	"store/fault": {},
	"store/definition": {own: []string{"store/fault", "query/...", "index", "internal/jsondoc", "ttl"},
		third: []string{"github.com/twmb/murmur3", "github.com/tidwall/gjson"}},
	"store": {
		own: []string{"internal/priority", "store/inspect", "store/internal/...", "store/definition",
			"store/fault", "internal/host",
			"query/...", "index", "internal/jsondoc", "ttl", "internal/script", "engine"},
		third: []string{"github.com/hashicorp/golang-lru/v2", "github.com/tidwall/gjson",
			"github.com/twmb/murmur3", "golang.org/x/sync/semaphore"},
		tests: []string{"engine/pebble", "engine/postgres"},
	},
	"queue/entity": {own: []string{"queue/rule", "queue/wire", "ttl"},
		third: []string{"github.com/google/uuid"}},
	"queue/internal/layout": {
		own: []string{"queue/entity", "queue/message", "internal/host", "engine", "internal/jsondoc"},
	},
	"queue/internal/fanout": {
		own: []string{"queue/internal/layout", "queue/internal/record", "queue/entity", "queue/message",
			"queue/rule", "queue/wire"},
	},
	"queue/internal/record": {
		own: []string{"queue/internal/layout", "queue/entity", "internal/host", "engine", "internal/jsondoc"},
	},
	"queue/internal/view": {
		own: []string{"queue/internal/layout", "queue/entity", "queue/message", "internal/host", "engine",
			"internal/jsondoc"},
	},
	"queue/internal/check": {
		own: []string{"queue/internal/layout", "queue/internal/view", "queue/entity", "internal/host",
			"engine", "internal/jsondoc"},
	},
	"queue/internal/content": {
		own: []string{"queue/internal/view", "queue/entity", "queue/message", "engine"},
	},
	"queue/internal/cursor": {},
	"queue/internal/alarm":  {own: []string{"internal/host", "ttl"}},
	"queue": {
		own: []string{"queue/internal/...", "queue/entity", "queue/message", "queue/rule", "queue/wire",
			"internal/host", "engine", "ttl", "internal/jsondoc"},
		third: []string{"github.com/google/uuid"},
		tests: []string{"engine/pebble", "engine/postgres"},
	},
	"queue/rule": {third: []string{"github.com/google/uuid"}},
	"queue/amqp": {own: []string{"queue/amqp/frame", "queue/wire", "internal/priority", "ttl"}},
	"queue/amqp/bus": {
		own: []string{
			"internal/priority",
			"internal/inject",
			"internal/requestlog",
			"queue",
			"queue/access",
			"queue/amqp",
			"queue/amqp/frame",
			"queue/entity",
			"queue/message",
			"queue/rule",
			"queue/wire",
			"ttl",
		},
		third: []string{"github.com/google/uuid"},
		tests: []string{"internal/host", "engine", "engine/pebble"},
	},
	"queue/front": {own: []string{"internal/peekconn", "internal/priority", "ttl"},
		third: []string{"github.com/coder/websocket"}},
	"queue/rest": {
		own: []string{
			"internal/inject",
			"internal/jsondoc",
			"internal/requestlog",
			"queue",
			"queue/access",
			"queue/entity",
			"queue/message",
			"queue/rule",
			"queue/wire",
			"ttl",
		},
		third: []string{"github.com/google/uuid"},
		tests: []string{"engine/pebble", "internal/host"},
	},
	"internal/peekconn":  {},
	"internal/reference": {},
	"internal/probe":     {},
	"internal/tree":      {own: []string{"internal/jsondoc"}, third: []string{"go.yaml.in/yaml/v4"}},
	"queue/config": {own: []string{"internal/tree", "queue", "queue/entity", "queue/rule"},
		tests: []string{"engine/pebble", "internal/host", "ttl"}},
	"queue/wire":       {},
	"queue/message":    {own: []string{"queue/wire"}},
	"queue/amqp/frame": {own: []string{"queue/wire"}},
	"queue/access":     {own: []string{"ttl"}},
	"engine/pebble": {own: []string{"engine"}, third: []string{"github.com/cockroachdb/"},
		tests: []string{"engine/enginetest"}},
	"engine/enginetest": {own: []string{"engine"}},
	"engine/postgres": {own: []string{"engine", "internal/prefix"},
		third: []string{"github.com/jackc/pgx/v5", "github.com/tidwall/btree"},
		tests: []string{"engine/enginetest", "internal/racetest"}},
	"internal/telemetry": {own: []string{"httpapi", "queue/amqp/bus"},
		third: []string{"go.opentelemetry.io/otel", "go.opentelemetry.io/contrib/",
			"github.com/prometheus/client_golang/"},
		tests: []string{"store", "engine/pebble"}},
	"internal/seed": {own: []string{"internal/tree", "queue", "queue/config", "queue/entity", "queue/rule",
		"store", "store/definition", "store/fault", "internal/jsondoc", "ttl", "engine/pebble"},
		third: []string{"github.com/swaggest/jsonschema-go"}},
	"internal/inject":     {own: []string{"ttl"}},
	"internal/requestlog": {},
	"internal/laboratory/route": {own: []string{"store", "internal/jsondoc", "ttl"},
		third: []string{"github.com/labstack/echo/v4", "github.com/swaggest/jsonschema-go",
			"github.com/swaggest/openapi-go"}},
	"internal/laboratory": {
		own: []string{
			"internal/laboratory/route",
			"internal/inject",
			"internal/requestlog",
			"internal/jsondoc/jsonbinary",
			"internal/tree",
			"queue",
			"queue/entity",
			"queue/message",
			"queue/rule",
			"queue/wire",
			"internal/seed",
			"store",
			"store/definition",
			"store/inspect",
			"store/fault",
			"query",
			"internal/jsondoc",
			"ttl",
		},
		third: []string{"github.com/labstack/echo/v4", "github.com/prometheus/client_golang/",
			"github.com/swaggest/jsonschema-go"},
	},
	"internal/cosmos": {
		own: []string{
			"store",
			"store/definition",
			"store/inspect",
			"store/fault",
			"query",
			"internal/jsondoc/...",
			"ttl",
			"internal/script",
		},
		tests: []string{"engine/pebble"},
	},
	"httpapi/explorer": {},
	"internal/rntbd":   {own: []string{"internal/priority", "ttl"}},
	"httpapi": {
		own: []string{
			"internal/peekconn",
			"internal/priority",
			"httpapi/explorer",
			"internal/rntbd",
			"queue",
			"internal/cosmos",
			"internal/inject",
			"internal/requestlog",
			"internal/laboratory",
			"internal/laboratory/route",
			"store",
			"store/definition",
			"store/inspect",
			"store/fault",
			"query",
			"internal/jsondoc/...",
			"ttl",
		},
		third: []string{"github.com/labstack/echo/v4", "github.com/google/uuid"},
		tests: []string{"engine/pebble"},
	},
	"internal/hook": {
		own: []string{
			"queue/message",
			"queue/wire",
			"store",
			"store/definition",
			"store/fault",
			"internal/jsondoc",
			"ttl",
		},
		tests: []string{"engine/pebble", "queue", "queue/entity"},
	},
	"mayflytest": {
		own: []string{
			"httpapi",
			"internal/inject",
			"internal/serve",
			"internal/seed",
			"store",
			"store/definition",
			"store/inspect",
			"store/fault",
			"ttl",
			"engine",
			"engine/pebble",
			"engine/postgres",
			"internal/host",
			"internal/migrate",
		},
		tests: []string{"internal/jsondoc"},
	},
	"internal/bench": {
		own: []string{"internal/progress", "httpapi", "store", "store/definition", "store/fault", "query",
			"index", "internal/jsondoc", "ttl", "engine/...", "queue", "queue/entity", "queue/message"},
		third: []string{"github.com/cockroachdb/pebble/v2", "github.com/labstack/echo/v4",
			"github.com/jackc/pgx/v5",
			"github.com/tidwall/gjson",
			"golang.org/x/sys"},
	},
	"internal/priority": {own: []string{"ttl"},
		third: []string{"golang.org/x/sys", "golang.org/x/sync/semaphore"}},
	"internal/progress": {own: []string{"ttl"}},
	"internal/serve": {
		own: []string{
			"engine",
			"engine/pebble",
			"internal/hook",
			"httpapi",
			"internal/inject",
			"internal/requestlog",
			"internal/probe",
			"internal/laboratory",
			"queue",
			"queue/access",
			"queue/amqp",
			"queue/amqp/bus",
			"queue/config",
			"queue/front",
			"queue/rest",
			"internal/seed",
			"store",
			"store/fault",
			"ttl",
		},
		third: []string{"github.com/prometheus/client_golang/"},
	},
	"internal/cli": {own: []string{"httpapi", "internal/tree", "internal/jsondoc", "ttl"},
		third: []string{"github.com/spf13/"}},
	"internal/transfer": {
		own: []string{
			"internal/cli",
			"internal/progress",
			"internal/tree",
			"internal/laboratory",
			"internal/seed",
			"store",
			"internal/jsondoc",
			"ttl",
		},
		third: []string{
			"github.com/spf13/",
			"github.com/klauspost/compress/zstd",
		},
		tests: []string{"mayflytest"},
	},
	"cmd/mayfly": {
		own: []string{"internal/seed", "queue/...", "internal/bench", "internal/cli", "internal/transfer",
			"internal/progress", "internal/probe", "internal/serve", "httpapi/...", "internal/inject",
			"internal/telemetry", "internal/requestlog", "internal/laboratory", "internal/hook", "store",
			"store/definition", "store/inspect", "store/fault", "query/...", "index", "internal/jsondoc", "ttl",
			"internal/script", "engine/...", "internal/host", "internal/migrate"},
		third: []string{
			"github.com/spf13/",
			"github.com/prometheus/client_golang/",
			"github.com/peterh/liner",
			"github.com/mattn/go-runewidth",
			"github.com/klauspost/compress/zstd",
			"github.com/cockroachdb/pebble/v2",
			"github.com/labstack/echo/v4",
			"github.com/creack/pty",
			"github.com/jackc/pgx/v5",
		},
	},
}

// testLibraries are the third-party packages that every test file, and the packages that exist only for
// tests, may import.
var testLibraries = []string{"github.com/tidwall/gjson", "pgregory.net/rapid", "go.uber.org/goleak",
	"github.com/google/go-cmp/", "github.com/cockroachdb/pebble/v2", "golang.org/x/net/http2",
	"github.com/getkin/kin-openapi/openapi3", "github.com/tetratelabs/wazero",
	"github.com/santhosh-tekuri/jsonschema/v6"}

// arrows returns the imports of a package that importTable does not allow, and
// reports a package that has no row in the table.
func arrows(_ *loadedModule, p *pkg) (bad []violation) {
	if _, product := importTable[p.path]; !product && strings.HasPrefix(p.path, "internal/") {
		return nil // shared by tests; who may import it is decided in allowed
	}
	r, ok := importTable[p.path]
	if !ok {
		return []violation{{p.files[0].ast.Package,
			"package " + p.path + " has no row in the table of imports"}}
	}
	for _, f := range p.files {
		for _, s := range f.ast.Imports {
			path, err := strconv.Unquote(s.Path.Value)
			if err == nil && !r.allows(path, p.path, f.test) {
				bad = append(bad, violation{s.Pos(), p.path + " must not import " + path})
			}
		}
	}
	return bad
}

// allows reports whether the package at self, a path in the module, may import path. test is set for
// imports of test files.
func (r allowedImports) allows(path, self string, test bool) bool {
	first, _, _ := strings.Cut(path, "/")
	below, own := strings.CutPrefix(path+"/", module+"/")
	below = strings.TrimSuffix(below, "/")
	switch {
	case own && below == self:
		return test // an external test package
	case own && strings.HasPrefix(below, "internal/") && !matches(r.own, below):
		return test
	case own:
		return matches(r.own, below) || test && matches(r.tests, below)
	case !strings.Contains(first, "."):
		return path != "C" // the standard library; cgo is off everywhere
	}
	if test || self == "engine/enginetest" {
		if hasPrefix(testLibraries, path) {
			return true
		}
	}
	return hasPrefix(r.third, path)
}

func matches(list []string, path string) bool {
	return slices.ContainsFunc(list, func(allowed string) bool {
		folder, deep := strings.CutSuffix(allowed, "/...")
		return path == folder || deep && strings.HasPrefix(path, folder+"/")
	})
}

func hasPrefix(list []string, path string) bool {
	return slices.ContainsFunc(list, func(prefix string) bool {
		return strings.HasPrefix(path, prefix)
	})
}
