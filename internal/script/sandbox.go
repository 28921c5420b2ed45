package script

import (
	_ "embed" // the files of the sandbox

	"github.com/dop251/goja"
)

// The sandbox is a script that every Runtime runs first. It consists of several files, which are
// concatenated, so that all of them use the original built-in functions, which no script of a client can
// have changed.
var (
	// sandboxBase is the text of sandbox.js, the first file of the script that every Runtime runs before
	// scripts of clients.
	//
	//go:embed sandbox.js
	sandboxBase string // helpers, arrays, functions and objects
	//go:embed sandbox_text.js
	sandboxOfText string // functions of String
	//go:embed sandbox_regexp.js
	sandboxOfRegexp string // RegExp
	//go:embed sandbox_values.js
	sandboxOfValues string // JSON, Error and Date
)

const sandboxFile = "sandbox"

var sandboxText = "(function (native) {\n" + sandboxBase + sandboxOfText + sandboxOfRegexp + sandboxOfValues +
	"})"

// fence runs the sandbox script, which restricts what later scripts can do, in a new Runtime.
func (r *Runtime) fence(code *goja.Program) error {
	v, err := r.js.RunProgram(code)
	if err != nil {
		return err
	}
	setup, _ := goja.AssertFunction(v)
	native := r.js.NewObject()
	for name, value := range map[string]any{
		"maxElements": maxElements, "maxSpread": maxSpread, "maxText": maxText, "maxHard": maxHard, "maxPattern": maxPattern,
		"maxWork": maxWork, "bounded": boundedName, "few": fewName, "fits": fitsName,
		"match":     r.match,
		"bound":     r.bound,
		"parse":     func(call goja.FunctionCall) goja.Value { return r.parse(call.Argument(0).String()) },
		"stringify": r.stringifyCall,
	} {
		if err := native.Set(name, value); err != nil {
			return err
		}
	}
	_, err = setup(r.js.GlobalObject(), native)
	return err
}
