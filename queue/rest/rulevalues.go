package rest

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
)

// readParameters parses a list of names and values. The values have types of XML Schema.
func readParameters(n *xmlNode) (list []rule.Parameter, err error) {
	if n == nil {
		return nil, nil
	}
	for i := range n.Nodes {
		entry := &n.Nodes[i]
		value := entry.child("Value")
		if value == nil || value.isNil() {
			continue
		}
		v, err := readValue(value.kind(), value.Text)
		if err != nil {
			return nil, err
		}
		list = append(list, rule.Parameter{Name: strings.TrimPrefix(entry.text("Key"), "@"), Value: v})
	}
	return list, nil
}

// tick is the unit of .NET durations: 100 nanoseconds.
const tick = 100 * time.Nanosecond

// numberTypes returns the number types by their names in XML Schema.
func numberTypes() map[string]rule.NumberType {
	return map[string]rule.NumberType{"byte": rule.Int8, "short": rule.Int16, "int": rule.Int32, "long": rule.Int64,
		"integer": rule.Int64, "unsignedByte": rule.Uint8, "unsignedShort": rule.Uint16,
		"unsignedInt": rule.Uint32, "unsignedLong": rule.Uint64, "float": rule.Float32,
		"double":  rule.Float64,
		"decimal": rule.Decimal}
}

// widthOf returns the number of bits of an integer type; 0 for other types.
func widthOf(t rule.NumberType) (bits int, signed bool) {
	switch t {
	case rule.Int8, rule.Uint8:
		bits = 8
	case rule.Int16, rule.Uint16:
		bits = 16
	case rule.Int32, rule.Uint32:
		bits = 32
	case rule.Int64, rule.Uint64:
		bits = 64
	}
	return bits, t <= rule.Int64
}

// readNumber parses a number of a type. A number that does not fit into a long becomes a Float.
func readNumber(t rule.NumberType, text string) (rule.Value, error) {
	bits, signed := widthOf(t)
	if bits > 0 && signed {
		n, err := strconv.ParseInt(text, 10, bits)
		return rule.Int(n).WithType(t, text), err
	}
	if bits > 0 {
		n, err := strconv.ParseUint(text, 10, bits)
		if n > math.MaxInt64 {
			return rule.Number(float64(n)).WithType(t, text), err
		}
		return rule.Int(int64(n)).WithType(t, text), err
	}
	n, err := strconv.ParseFloat(text, 64)
	return rule.Number(n).WithType(t, text), err
}

// readValue parses a value of a type of XML Schema, or of .NET's serializer. The value keeps its text, since
// clients compare the rules that they read with those that they sent.
func readValue(kind, text string) (v rule.Value, err error) {
	plain := strings.TrimSpace(text)
	if t, ok := numberTypes()[kind]; ok {
		v, err = readNumber(t, plain)
		return v, badValue(kind, text, err)
	}
	switch kind {
	case "boolean":
		b, err := strconv.ParseBool(plain)
		return rule.Bool(b), badValue(kind, text, err)
	case "dateTime":
		t, err := parseMoment(plain)
		return rule.Time(t.UnixMilli()).WithType(rule.Untyped, plain), badValue(kind, text, err)
	case "duration":
		d, err := entity.ParseDuration(plain)
		return rule.Duration(int64(d/tick)).WithType(rule.Untyped, plain), badValue(kind, text, err)
	case "guid":
		return rule.UUID(strings.ToLower(plain)), nil
	case "base64Binary":
		b, err := base64.StdEncoding.DecodeString(plain)
		return rule.Bytes(b), badValue(kind, text, err)
	}
	return rule.String(text), nil
}

func badValue(kind, text string, err error) error {
	if err == nil {
		return nil
	}
	return badRequest("SubCode=40000. '" + text + "' is no value of the type " + kind + ".")
}

// parseMoment parses a time. If it has no time zone, it is in UTC.
func parseMoment(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	return t, err
}

// appendParameters appends an element with this name that contains the parameters or properties in list as
// pairs of a key and a typed value. Each key begins with sign: "@" for parameters. The namespace prefix of
// the types (d6p1) must have four characters, because a client removes five characters to get the type.
func appendParameters(b []byte, name string, list []rule.Parameter, sign string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(append(append(b, '<'), name...), '>')
	for _, p := range list {
		kind, text := valueText(p.Value)
		b = append(b, "<KeyValueOfstringanyType>"...)
		b = appendElement(b, "Key", sign+strings.TrimPrefix(p.Name, "@"))
		b = append(b, `<Value xmlns:d6p1="`+nsSchema+`" i:type="d6p1:`+kind+`">`...)
		b = append(appendText(b, text), "</Value></KeyValueOfstringanyType>"...)
	}
	return append(append(append(b, '<', '/'), name...), '>')
}

// valueText returns the XML Schema type and the text of a value: those that the client sent, if there are
// any.
func valueText(v rule.Value) (kind, text string) {
	switch v.Kind {
	case rule.Boolean:
		return "boolean", strconv.FormatBool(v.Bool())
	case rule.Integer:
		kind, text = "int", strconv.FormatInt(v.Int(), 10)
		if n := v.Int(); n != int64(int32(n)) {
			kind = "long"
		}
	case rule.Float:
		kind, text = "double", strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case rule.Moment:
		kind, text = "dateTime", time.UnixMilli(v.Millis()).UTC().Format("2006-01-02T15:04:05.999Z07:00")
	case rule.Span:
		kind, text = "duration", entity.FormatDuration(time.Duration(v.Int())*tick)
	case rule.Binary:
		return "base64Binary", base64.StdEncoding.EncodeToString([]byte(v.Text()))
	default:
		return "string", v.Text()
	}
	for name, t := range numberTypes() {
		if t == v.Type() && name != "integer" {
			kind = name
		}
	}
	if written := v.Written(); written != "" {
		text = written
	}
	return kind, text
}
