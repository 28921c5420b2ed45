package script

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Programs compiles scripts and keeps the latest ones compiled. It is safe for concurrent use; the zero value
// is ready.
type Programs struct {
	once   sync.Once
	recent *lru.Cache[[sha256.Size]byte, *program] // made at the first use

	sandbox, context lazyProgram

	stuck atomic.Int64
}

// Stuck is how many scripts had to be left behind and have not ended yet: they were stopped, and the
// interpreter does not come back from a built-in function.
func (p *Programs) Stuck() int { return int(p.stuck.Load()) }

// maxStuck is how many scripts may be left behind before no other is begun: each takes a processor and
// memory.
const maxStuck = 8

// maxPrograms is how many compiled scripts are kept.
const maxPrograms = 256

// program is the text of one script, compiled.
type program struct {
	code *goja.Program
	main string // the name of the function to call; empty: it is the value of the code
}

// lazyProgram is one of this package's own scripts.
type lazyProgram struct {
	once sync.Once
	code *goja.Program
	err  error
}

func (l *lazyProgram) get(file, text string) (*goja.Program, error) {
	l.once.Do(func() { l.code, l.err = goja.Compile(file, text, true) })
	return l.code, l.err
}

// compile returns the compiled form of a script. id names it in stack traces. The error is an *Error or a
// *TooLargeError.
func (p *Programs) compile(id, source string) (*program, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s%s", len(id), id, source)
	var hash [sha256.Size]byte
	h.Sum(hash[:0])
	// the size alone could be wrong
	p.once.Do(func() { p.recent, _ = lru.New[[sha256.Size]byte, *program](maxPrograms) })
	if found, ok := p.recent.Get(hash); ok {
		return found, nil
	}
	made, err := compile(id+".js", source)
	if err != nil {
		return nil, err
	}
	p.recent.Add(hash, made)
	return made, nil
}

// Prepare compiles a script, or finds it compiled, so that to run it later takes no time for that. The error
// is an *Error with CompileNumber or a *TooLargeError.
func (p *Programs) Prepare(id, source string) error {
	_, err := p.compile(id, source)
	return err
}

// compile compiles a text that is a function expression, as nearly all are, with semicolons behind it or
// none, or statements that declare functions, of which the first is called, or whose value is a function.
func compile(file, source string) (made *program, err error) {
	if len(source) > maxSource {
		return nil, &TooLargeError{What: "source", Limit: maxSource}
	}
	if nesting(source) > maxNesting || strings.Count(source, "=>") > maxArrows {
		return nil, &Error{Exception: "SyntaxError: the script is nested too deep", Number: CompileNumber}
	}
	defer func() {
		if x := recover(); x != nil { // the text is foreign, and so is the compiler
			made, err = nil, &Error{Exception: fmt.Sprint("SyntaxError: ", x), Number: CompileNumber}
		}
	}()
	tree, main, err := parseScript(file, source)
	if err != nil {
		return nil, syntaxError(err)
	}
	if refused := inspect(reflect.ValueOf(tree.Body), 0); refused != "" {
		return nil, &Error{Exception: "SyntaxError: " + refused, Number: CompileNumber}
	}
	rewrite(reflect.ValueOf(tree.Body))
	code, err := goja.CompileAST(tree, false)
	if err != nil {
		return nil, syntaxError(err)
	}
	return &program{code: code, main: main}, nil
}

// parseScript parses a text and names the function to call, where it is not the text's value.
func parseScript(file, source string) (tree *ast.Program, main string, err error) {
	if tree, err = parse(file, "("+source+"\n)"); err == nil {
		return tree, "", nil
	}
	if tree, err = parse(file, source); err == nil {
		return tree, firstFunction(tree), nil
	}
	// A function without a name cannot begin a statement: behind a comma it is a part of an expression.
	if ended, wrong := parse(file, "0,"+source); wrong == nil && onlyEnds(ended.Body[1:]) {
		return ended, "", nil
	}
	return nil, "", err
}

// onlyEnds reports whether statements are nothing but semicolons.
func onlyEnds(list []ast.Statement) bool {
	return !slices.ContainsFunc(list, func(s ast.Statement) bool {
		_, empty := s.(*ast.EmptyStatement)
		return !empty
	})
}

// parse reads a text without following a source map that it names, which would be a file of this machine.
func parse(file, text string) (*ast.Program, error) {
	return goja.Parse(file, text, parser.WithDisableSourceMaps)
}

func syntaxError(err error) error {
	text := err.Error()
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		text = "SyntaxError: " + list[0].Error()
	}
	return &Error{Exception: text, Number: CompileNumber}
}

// firstFunction names the first function that is declared at the top level.
func firstFunction(tree *ast.Program) string {
	for _, s := range tree.Body {
		if f, ok := s.(*ast.FunctionDeclaration); ok && f.Function.Name != nil {
			return f.Function.Name.Name.String()
		}
	}
	return ""
}

// Bounds of a text. The parser and the compiler recurse, on a stack that cannot be bounded otherwise.
const (
	maxSource  = 512 << 10
	maxNesting = 500  // of brackets
	maxArrows  = 2000 // each looks for its end through all that are nested in it
	// of nodes: a chain of a thousand operators is no nesting to people, but is to a compiler
	maxTree = 5000
)

// nesting is how deep brackets are nested at most, those in strings and comments included.
func nesting(source string) int {
	depth, most := 0, 0
	for i := range len(source) {
		switch source[i] {
		case '(', '[', '{':
			depth++
			most = max(most, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return most
}

// inspect looks through a part of a tree for what must not be compiled, and says what it is, or nothing.
// depth counts the nodes around it.
func inspect(v reflect.Value, depth int) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return inspectPointer(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() || v.Type().Field(i).Name == again {
				continue
			}
			if refused := inspect(v.Field(i), depth); refused != "" {
				return refused
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if refused := inspect(v.Index(i), depth); refused != "" {
				return refused
			}
		}
	}
	return ""
}

func inspectPointer(v reflect.Value, depth int) string {
	if v.IsNil() {
		return ""
	}
	if v.Kind() == reflect.Interface {
		return inspect(v.Elem(), depth)
	}
	if v.Type().Elem().PkgPath() != astPath {
		return "" // what positions refer to
	}
	if n, ok := v.Interface().(*ast.NumberLiteral); ok {
		if _, ok := n.Value.(*big.Int); ok {
			return "BigInt literals are not supported" // arithmetic on them has no bound in time or memory
		}
	}
	if depth == maxTree {
		return "the script is nested too deep"
	}
	return inspect(v.Elem(), depth+1)
}

// again is the field of functions that holds what their bodies hold as well.
const again = "DeclarationList"

const astPath = "github.com/dop251/goja/ast"
