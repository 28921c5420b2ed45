package route

import (
	"cmp"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// A RequestPartDecoder is a part of a request struct that decodes itself from the request, for instance a
// container that the path names. The field of the request struct that has this type must be exported, or
// embed an exported type.
type RequestPartDecoder[L HandlerMethodReceiver] interface {
	Find(l L, ec echo.Context) error
}

// A JSONMemberDecoder is a field of a request struct that decodes its own JSON value. name is the name of the
// member, for error messages.
type JSONMemberDecoder interface {
	DecodeMember(name string, v jsondoc.Value) error
}

// requestDecoder decodes a request (path, query parameters, body) into a request struct. It decodes the parts
// in the order of the struct's fields.
type requestDecoder[L HandlerMethodReceiver] struct {
	steps []decodeStep[L]
	body  []bodyMemberOrQueryParameterSpec
	query []bodyMemberOrQueryParameterSpec
	// takes is the part of the error for an unknown member or parameter that lists the known ones; % stands
	// for the names. If it is empty, the error does not list them.
	takes    string
	refusal  string // complete error for unknown members, which replaces takes
	empty    string // error for a body without members; empty: such a body is allowed
	optional bool   // the body may be missing
	kept     bool   // the body contains documents, which are decoded to the form in which they are stored
	large    bool   // the maximum size of the body is LargeBody
}

// decodeStep decodes one part of a request (the path, the query string, a member of the body) into the
// request struct.
type decodeStep[L HandlerMethodReceiver] func(l L, ec echo.Context, in reflect.Value) error

// bodyMemberOrQueryParameterSpec is a member of a body, or a parameter of a query string.
type bodyMemberOrQueryParameterSpec struct {
	name        string
	index       []int
	missing     string // error if the member is missing although it is required
	first       bool   // decoded before the others, even if it is missing (as undefined)
	always      bool   // clients must send it
	least, most int64  // bounds of a whole number
	otherwise   int64  // default of a whole number
}

// decoderOf returns the decoder of a request struct, made from its tags.
func decoderOf[L HandlerMethodReceiver](t reflect.Type) *requestDecoder[L] {
	d := new(requestDecoder[L])
	if implementsFinder[L](t) {
		d.steps = []decodeStep[L]{func(l L, ec echo.Context, in reflect.Value) error {
			return in.Addr().Interface().(RequestPartDecoder[L]).Find(l, ec)
		}}
		return d
	}
	d.scan(t, nil)
	return d
}

// scan adds the fields of a request struct to the decoder, by their struct tags. t is the struct, and at is
// its index in the whole struct, as embedded structs are scanned as well. The tags path, query, header and
// json say where the value of a field comes from. The other tags are of this package. A field called _ may
// have takes, refusal and empty, which are error texts, and body, which is "optional", "documents" or
// "large". A member with the tag missing is required, and the tag is the error text if it is missing. A
// member with the tag first is decoded before the others.
func (d *requestDecoder[L]) scan(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		switch {
		case f.Name == "_":
			d.takes = cmp.Or(d.takes, f.Tag.Get("takes"))
			d.refusal = cmp.Or(d.refusal, f.Tag.Get("refusal"))
			d.empty = cmp.Or(d.empty, f.Tag.Get("empty"))
			d.optional = d.optional || f.Tag.Get("body") == "optional"
			d.kept = d.kept || f.Tag.Get("body") == "documents"
			d.large = d.large || f.Tag.Get("body") == "large"
		case implementsFinder[L](f.Type):
			d.steps = append(d.steps, func(l L, ec echo.Context, in reflect.Value) error {
				return in.FieldByIndex(index).Addr().Interface().(RequestPartDecoder[L]).Find(l, ec)
			})
		case f.Tag.Get("json") != "":
			if len(d.body) == 0 {
				d.steps = append(d.steps, d.readBody)
			}
			d.body = append(d.body, fieldOf(f, index, "json"))
		case f.Tag.Get("query") != "":
			if len(d.query) == 0 {
				d.steps = append(d.steps, d.readQuery)
			}
			d.query = append(d.query, fieldOf(f, index, "query"))
		case f.Tag.Get("path") != "":
			d.steps = append(d.steps, func(_ L, ec echo.Context, in reflect.Value) error {
				text, err := PathParam(ec, f.Tag.Get("path"))
				in.FieldByIndex(index).SetString(text)
				return err
			})
		case f.Tag.Get("header") != "":
			d.steps = append(d.steps, func(_ L, ec echo.Context, in reflect.Value) error {
				in.FieldByIndex(index).SetString(ec.Request().Header.Get(f.Tag.Get("header")))
				return nil
			})
		case f.Anonymous:
			d.scan(f.Type, index)
		}
	}
}

// implementsFinder reports whether the struct type t, a part of a request, has methods of its own that
// implement RequestPartDecoder. It returns false if t only gets them from an embedded field.
func implementsFinder[L HandlerMethodReceiver](t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[RequestPartDecoder[L]]()) {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[RequestPartDecoder[L]]()) {
			return false
		}
	}
	return true
}

func fieldOf(f reflect.StructField, index []int, tag string) bodyMemberOrQueryParameterSpec {
	name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
	number := func(tag string, otherwise int64) int64 {
		n, err := strconv.ParseInt(f.Tag.Get(tag), 10, 64)
		if err != nil {
			return otherwise
		}
		return n
	}
	return bodyMemberOrQueryParameterSpec{name: name, index: index, missing: f.Tag.Get("missing"),
		first:  f.Tag.Get("first") == "true",
		always: tag == "json" && options != "omitempty",
		least:  number("minimum", -1<<53), most: number("maximum", 1<<53), otherwise: number("default", 0)}
}

// required reports whether clients must send the member.
func (f bodyMemberOrQueryParameterSpec) required() bool { return f.always }

// decode decodes a request into its struct.
func (d *requestDecoder[L]) decode(l L, ec echo.Context, in any) error {
	into := reflect.ValueOf(in).Elem()
	for _, f := range slices.Concat(d.body, d.query) {
		if f.otherwise != 0 {
			into.FieldByIndex(f.index).SetInt(f.otherwise)
		}
	}
	for _, s := range d.steps {
		if err := s(l, ec, into); err != nil {
			return err
		}
	}
	return nil
}

// PathParam returns the percent-decoded value of a parameter of the path. It may contain slashes.
func PathParam(ec echo.Context, name string) (string, error) {
	text, err := url.PathUnescape(ec.Param(name))
	if err != nil {
		return "", BadRequest("The path holds a malformed escape.")
	}
	return text, nil
}

// readBody decodes the members of the body. Members that the struct does not have are refused.
func (d *requestDecoder[L]) readBody(l L, ec echo.Context, in reflect.Value) error {
	body := l.Wire().Body(ec)
	object := jsondoc.Value{}
	if len(body) > 0 || !d.optional {
		var err error
		if object, err = d.objectOf(body); err != nil {
			return err
		}
	}
	given := make(map[string]bool, len(d.body))
	for i := range d.body {
		f := &d.body[i]
		if !f.first {
			continue
		}
		if err := f.decode(in, object.Member(f.name)); err != nil {
			return err
		}
	}
	var err error
	object.Each(func(name string, v jsondoc.Value) bool {
		given[name] = true
		i := slices.IndexFunc(d.body, func(f bodyMemberOrQueryParameterSpec) bool { return f.name == name })
		switch {
		case i < 0:
			err = d.unknown(name)
		case !d.body[i].first:
			err = d.body[i].decode(in, v)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if d.empty != "" && len(given) == 0 {
		return BadRequest(d.empty)
	}
	for i := range d.body {
		if f := &d.body[i]; f.missing != "" && !given[f.name] {
			return BadRequest(f.missing)
		}
	}
	return nil
}

// LargeBody is the maximum size in bytes of a body with the tag large.
const LargeBody = 64 << 20

// objectOf parses the body of a request. It returns an error with status 400 if the body is not a JSON
// object.
func (d *requestDecoder[L]) objectOf(body []byte) (v jsondoc.Value, err error) {
	limits := jsondoc.Limits{}
	if d.large {
		limits.MaxBytes = LargeBody
	}
	if d.kept {
		body, err = jsondoc.Compact(body, limits)
	} else {
		err = jsondoc.Valid(body, limits)
	}
	if err != nil {
		return v, BadRequest("The input content is invalid: " + err.Error())
	}
	if v = jsondoc.Of(body); v.Kind() != jsondoc.Object {
		return v, BadRequest("The request body must be a JSON object.")
	}
	return v, nil
}

func (d *requestDecoder[L]) unknown(name string) error {
	switch {
	case d.refusal != "":
		return BadRequest(d.refusal)
	case d.takes != "":
		fields := d.body
		if len(fields) == 0 {
			fields = d.query
		}
		takes := strings.Replace(d.takes, "%", names(fields), 1)
		return BadRequest("'" + name + "' is not known: " + takes + ".")
	}
	return BadRequest("'" + name + "' is not known here.")
}

// names lists fields for error messages: "'a', 'b' and 'c'".
func names(fields []bodyMemberOrQueryParameterSpec) string {
	var b strings.Builder
	for i, f := range fields {
		switch {
		case i > 0 && i == len(fields)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString("'" + f.name + "'")
	}
	return b.String()
}

// decode decodes the field's value into the struct.
func (f *bodyMemberOrQueryParameterSpec) decode(in reflect.Value, v jsondoc.Value) error {
	to := in.FieldByIndex(f.index)
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if m, ok := to.Addr().Interface().(JSONMemberDecoder); ok {
		return m.DecodeMember(f.name, v)
	}
	switch to.Kind() {
	case reflect.String:
		if v.Kind() != jsondoc.String {
			return BadRequest("'" + f.name + "' must be a string.")
		}
		to.SetString(v.Str())
	case reflect.Bool:
		if v.Kind() != jsondoc.Bool {
			return BadRequest("'" + f.name + "' must be true or false.")
		}
		to.SetBool(v.Bool())
	case reflect.Float64:
		if v.Kind() != jsondoc.Number {
			return BadRequest("'" + f.name + "' must be a number.")
		}
		to.SetFloat(v.Num())
	default: // whole numbers
		n := v.Num()
		if v.Kind() != jsondoc.Number || n < float64(f.least) || n > float64(f.most) ||
			n != float64(int64(n)) {
			return notInteger(f.name, f.least, f.most)
		}
		to.SetInt(int64(n))
	}
	return nil
}

// readQuery decodes the parameters of the query string. Parameters that the struct does not have are
// refused.
func (d *requestDecoder[L]) readQuery(_ L, ec echo.Context, in reflect.Value) error {
	values, err := url.ParseQuery(ec.Request().URL.RawQuery)
	if err != nil {
		return BadRequest("The query string is malformed.")
	}
	for name := range values {
		i := slices.IndexFunc(d.query, func(f bodyMemberOrQueryParameterSpec) bool { return f.name == name })
		if i < 0 {
			return d.unknown(name)
		}
		f, text := &d.query[i], values.Get(name)
		to := in.FieldByIndex(f.index)
		if to.Kind() == reflect.String {
			to.SetString(text)
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < f.least || n > f.most {
			return notInteger(f.name, f.least, f.most)
		}
		to.SetInt(n)
	}
	return nil
}
