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

// ScriptCache compiles scripts and caches those that were used most recently. It is safe for concurrent use.
// The zero value is ready to use.
type ScriptCache struct {
	once   sync.Once
	recent *lru.Cache[[sha256.Size]byte, *compiledScript] // created at the first use

	sandbox, context lazyBuiltinScript

	stuck atomic.Int64
}

// Stuck returns the number of abandoned scripts: those that were stopped but have not ended, because a
// built-in function that they have called has not returned.
func (p *ScriptCache) Stuck() int { return int(p.stuck.Load()) }

// maxStuck is the number of abandoned scripts, which were stopped but have not ended, at which no further
// script is started. Each of them uses a processor and memory.
const maxStuck = 8

// maxPrograms is the number of compiled scripts that are cached.
const maxPrograms = 256

// compiledScript is the compiled code of a script, and the name of the function that a run calls.
type compiledScript struct {
	code *goja.Program
	main string // the function to call; "": the value of the code is the function
}

// lazyBuiltinScript is a JavaScript file that belongs to this package. It is compiled when it is first used.
type lazyBuiltinScript struct {
	once sync.Once
	code *goja.Program
	err  error
}

func (l *lazyBuiltinScript) get(file, text string) (*goja.Program, error) {
	l.once.Do(func() { l.code, l.err = goja.Compile(file, text, true) })
	return l.code, l.err
}

// compile returns the compiled form of a script. id names it in stack traces. The error is an *Error or a
// *SizeOrMemoryLimitError.
func (p *ScriptCache) compile(id, source string) (*compiledScript, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s%s", len(id), id, source)
	var hash [sha256.Size]byte
	h.Sum(hash[:0])
	// New fails only for an invalid size.
	p.once.Do(func() { p.recent, _ = lru.New[[sha256.Size]byte, *compiledScript](maxPrograms) })
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

// Prepare compiles a script into the cache, so that later runs need not compile it. The error is an *Error
// with CompileNumber or a *SizeOrMemoryLimitError.
func (p *ScriptCache) Prepare(id, source string) error {
	_, err := p.compile(id, source)
	return err
}

// compile compiles a script. The text is either a function expression, optionally followed by semicolons, or
// a sequence of statements. In the second case the function to call is the first one that is declared or, if
// none is declared, the value of the statements.
func compile(file, source string) (made *compiledScript, err error) {
	if len(source) > maxSource {
		return nil, &SizeOrMemoryLimitError{What: "source", Limit: maxSource}
	}
	if nesting(source) > maxNesting || strings.Count(source, "=>") > maxArrows {
		return nil, &Error{Exception: "SyntaxError: the script is nested too deep", Number: CompileNumber}
	}
	defer func() {
		if x := recover(); x != nil { // the parser and the compiler may panic because of a client's text
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
	return &compiledScript{code: code, main: main}, nil
}

// parseScript parses a text. main is the name of the function to call, or "" if the text's value is the
// function.
func parseScript(file, source string) (tree *ast.Program, main string, err error) {
	if tree, err = parse(file, "("+source+"\n)"); err == nil {
		return tree, "", nil
	}
	if tree, err = parse(file, source); err == nil {
		return tree, firstFunction(tree), nil
	}
	// An unnamed function cannot begin a statement. After a comma it is part of an expression.
	if ended, wrong := parse(file, "0,"+source); wrong == nil && onlyEnds(ended.Body[1:]) {
		return ended, "", nil
	}
	return nil, "", err
}

// onlyEnds reports whether all statements are empty, as those of ";;" are.
func onlyEnds(list []ast.Statement) bool {
	return !slices.ContainsFunc(list, func(s ast.Statement) bool {
		_, empty := s.(*ast.EmptyStatement)
		return !empty
	})
}

// parse parses JavaScript source. It ignores source maps, since the parser would read them from the files of
// this machine.
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

// firstFunction returns the name of the first function declared at the top level.
func firstFunction(tree *ast.Program) string {
	for _, s := range tree.Body {
		if f, ok := s.(*ast.FunctionDeclaration); ok && f.Function.Name != nil {
			return f.Function.Name.Name.String()
		}
	}
	return ""
}

// Limits of the text of a script. The parser and the compiler are recursive, and nothing else limits their
// stack.
const (
	maxSource  = 512 << 10
	maxNesting = 500  // of brackets
	maxArrows  = 2000 // for the end of each, the parser searches all arrow functions nested in it
	// maximum depth of the syntax tree. A chain of operators such as 1+1+1 is flat in the source, but deep
	// in the tree.
	maxTree = 5000
)

// nesting returns the maximal nesting of brackets, including those in strings and comments.
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

// inspect looks for unsupported syntax in a part of a tree. It returns a description of the first one, or
// "". depth is the number of enclosing nodes.
func inspect(v reflect.Value, depth int) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return inspectPointer(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() || v.Type().Field(i).Name == duplicateField {
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
		return "" // not a node, for example a position
	}
	if n, ok := v.Interface().(*ast.NumberLiteral); ok {
		if _, ok := n.Value.(*big.Int); ok {
			return "BigInt literals are not supported" // their arithmetic has no limit of time or memory
		}
	}
	if depth == maxTree {
		return "the script is nested too deep"
	}
	return inspect(v.Elem(), depth+1)
}

// duplicateField is the field of goja's function nodes that refers to declarations which are also in the
// function's body. Walks over the tree skip it, so that they visit each node once.
const duplicateField = "DeclarationList"

const astPath = "github.com/dop251/goja/ast"
