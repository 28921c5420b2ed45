package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"go.yaml.in/yaml/v4"
)

// A short YAML text with nested aliases can expand to more than fits in memory. Therefore the number of
// values after expansion is limited, and so are the number and the size of the values that come from aliases.
const (
	maxYAMLNodes  = 4 << 20
	maxAliasNodes = 256 << 10
	maxAliasBytes = 16 << 20
)

// yamlReader converts YAML nodes to values.
type yamlReader struct {
	file string
	open map[*yaml.Node]bool // nodes whose values are being read: an alias to one of them would never end
	left int                 // values

	aliases                int // number of aliases around the value that is being read
	aliasNodes, aliasBytes int // number and size of values that aliases may still stand for
}

// ParseYAML parses a YAML file and returns a value for each document that is not empty.
func ParseYAML(file string, data []byte) (list []*Value, err error) {
	r := &yamlReader{file: file, open: map[*yaml.Node]bool{}, left: maxYAMLNodes,
		aliasNodes: maxAliasNodes, aliasBytes: maxAliasBytes}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, FilePosition{File: file}.Wrap("", err)
	}
	for {
		var document yaml.Node
		err := loader.Load(&document)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		var wrong *yaml.LoadError
		if errors.As(err, &wrong) {
			at := wrong.Mark
			return nil, FilePosition{file, at.Line, at.Column}.Fail("this is not YAML: %s", wrong.Message)
		}
		if err != nil {
			return nil, FilePosition{File: file}.Fail("this is not YAML: %s", err)
		}
		for _, n := range document.Content {
			if empty := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0; empty {
				continue
			}
			v, err := r.value(n, 0)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	}
}

func (r *yamlReader) place(n *yaml.Node) FilePosition { return FilePosition{r.file, n.Line, n.Column} }

func (r *yamlReader) value(n *yaml.Node, depth int) (*Value, error) {
	v := &Value{Place: r.place(n)}
	if r.left--; depth > maxDepth || r.left < 0 || !r.takes(n.Value) {
		return nil, v.Place.Fail("values lie too deep in each other, or aliases make too many of them")
	}
	switch n.Kind {
	case yaml.AliasNode:
		r.aliases++
		defer func() { r.aliases-- }()
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode, yaml.MappingNode:
		if r.open[n] {
			return nil, v.Place.Fail("a value cannot be a part of itself")
		}
		r.open[n] = true
		defer delete(r.open, n)
		if n.Kind == yaml.SequenceNode {
			return v, r.array(v, n, depth)
		}
		return v, r.object(v, n, depth)
	}
	return v, v.scalar(n)
}

// takes reports whether the limits allow one more value or name with this text.
func (r *yamlReader) takes(text string) bool {
	if r.aliases > 0 {
		r.aliasNodes--
		r.aliasBytes -= len(text)
	}
	return r.aliasNodes >= 0 && r.aliasBytes >= 0
}

func (r *yamlReader) array(v *Value, n *yaml.Node, depth int) error {
	v.Kind = Array
	for _, e := range n.Content {
		value, err := r.value(e, depth+1)
		if err != nil {
			return err
		}
		v.List = append(v.List, value)
	}
	return nil
}

func (r *yamlReader) object(v *Value, n *yaml.Node, depth int) error {
	v.Kind = Object
	var merged []*Value
	names := newNames(v)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return r.place(n.Content[i]).Fail("a name must be a string")
		}
		if !r.takes(key.Value) {
			return r.place(n.Content[i]).Fail("aliases make too many names, or too long ones")
		}
		value, err := r.value(n.Content[i+1], depth+1)
		switch {
		case err != nil:
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
		default:
			err = names.add(key.Value, r.place(n.Content[i]), value)
		}
		if err != nil {
			return err
		}
	}
	for _, from := range merged {
		if err := names.merge(from); err != nil {
			return err
		}
	}
	return nil
}

// merge adds those members of from whose names the object does not have yet.
func (n *objectBuilder) merge(from *Value) error {
	if from.Kind == Array {
		for _, e := range from.List {
			if err := n.merge(e); err != nil {
				return err
			}
		}
		return nil
	}
	if from.Kind != Object {
		return from.Place.Fail("what is merged must be an object, not %s", from.Kind)
	}
	for _, m := range from.Members {
		if !n.has(m.Name) {
			n.append(m)
		}
	}
	return nil
}

// scalar converts a scalar. A date becomes a string with the same text.
func (v *Value) scalar(n *yaml.Node) error {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return nil
	case "!!str", "!!timestamp", "!!merge":
		v.Kind, v.Text = String, n.Value
		return nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return v.Place.Wrap("", err)
		}
		v.setBool(b)
		return nil
	case "!!int", "!!float":
		return v.number(n)
	default:
		return v.Place.Fail("a value of the tag %s cannot be said in JSON", tag)
	}
}

// number sets v to a YAML number. It keeps the spelling if that is valid JSON, and otherwise converts it.
func (v *Value) number(n *yaml.Node) error {
	v.Kind, v.Text = Number, n.Value
	if json.Valid([]byte(n.Value)) {
		return nil
	}
	var x any
	err := n.Decode(&x)
	if err == nil {
		var text []byte
		text, err = json.Marshal(x)
		v.Text = string(text)
	}
	if err != nil {
		return v.Place.Fail("the number %s cannot be said in JSON", n.Value)
	}
	return nil
}
