// Package tree reads JSON and YAML files into one kind of values. Each value has its file, line and column,
// for error messages.
//
//	v, err := tree.Parse("shop.yaml", data)  // by the ending of the name
//	err = v.Decode(&shop)                    // into a struct; unknown members are errors
//
//	tree.go    Value, Place and Error
//	json.go    JSON, and single lines of files with one value a line
//	yaml.go    YAML, as far as it can be said in JSON
//	decode.go  from values to Go's structs
//	names.go   members of an object that is being read
//	blame.go   which part of a value a check refuses
//
// All errors are *Error. A value that was read from JSON gives back its own text as JSON: nothing of a
// document is lost on the way. In YAML a date is a string; anchors, aliases and merge keys are resolved.
package tree
