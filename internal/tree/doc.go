// Package tree reads JSON and YAML files into one kind of values. Each value has its file, line and column,
// for error messages.
//
//	v, err := tree.Parse("shop.yaml", data)  // by the ending of the name
//	err = v.Decode(&shop)                    // into a struct; unknown members are errors
//
//	tree.go           Value, FilePosition and Error
//	json.go           JSON, and single lines of files with one value a line
//	yaml.go           YAML, as far as JSON can represent it
//	decode.go         from values to Go's structs
//	member_names.go   the names of an object that is being read
//	blame.go          finding the part of a value that a check refuses
//
// All errors are *Error. AppendJSON writes a value that was read from JSON with the text that was read, so
// that documents are not changed. In YAML a date is a string; anchors, aliases and merge keys are resolved.
package tree
