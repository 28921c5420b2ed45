package laboratory

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

// A finder is a part of a request struct that finds by itself what it stands for: a container, say.
type finder interface {
	find(l *Laboratory, ec echo.Context) error
}

// A member is a field of a request struct that reads its value of the body by itself.
type member interface {
	decode(name string, v jsondoc.Value) error
}

// plan is how a request struct is read: its steps in the order of the struct's parts.
type plan struct {
	steps []step
	body  []field
	query []field
	// takes says in refusals of an unknown member or parameter what the route takes, % being the names of
	// all; empty: nothing is said.
	takes    string
	refusal  string // the whole of them, where that is not made with takes
	empty    string // the refusal of a body without members; empty: it is taken
	optional bool   // there need be no body
	kept     bool   // the body holds documents, which are read as they would be kept
	large    bool   // the body may be as large as LargeBody
}

// step reads one part of a request into the struct.
type step func(l *Laboratory, ec echo.Context, p *plan, in reflect.Value) error

// field is a member of a body, or a parameter of a query string.
type field struct {
	name        string
	index       []int
	missing     string // the refusal where it is required and not there
	first       bool   // it is read before the others, in the body or not: then its value is undefined
	always      bool   // clients must give it
	least, most int64  // of a whole number
	otherwise   int64  // the number where it is left out
}

// planOf reads the tags of a request struct.
func planOf(t reflect.Type) *plan {
	p := new(plan)
	if finds(t) {
		p.steps = []step{func(l *Laboratory, ec echo.Context, _ *plan, in reflect.Value) error {
			return in.Addr().Interface().(finder).find(l, ec)
		}}
		return p
	}
	p.scan(t, nil)
	return p
}

// scan reads the tags of a part. Of those that are this package's own, takes, refusal, empty and body
// ("optional", "documents" or "large") are on blank fields; missing is on a required member, first on one
// that is told of first.
func (p *plan) scan(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		switch {
		case f.Name == "_":
			p.takes = cmp.Or(p.takes, f.Tag.Get("takes"))
			p.refusal = cmp.Or(p.refusal, f.Tag.Get("refusal"))
			p.empty = cmp.Or(p.empty, f.Tag.Get("empty"))
			p.optional = p.optional || f.Tag.Get("body") == "optional"
			p.kept = p.kept || f.Tag.Get("body") == "documents"
			p.large = p.large || f.Tag.Get("body") == "large"
		case finds(f.Type):
			p.steps = append(p.steps, func(l *Laboratory, ec echo.Context, _ *plan, in reflect.Value) error {
				return in.FieldByIndex(index).Addr().Interface().(finder).find(l, ec)
			})
		case f.Tag.Get("json") != "":
			if len(p.body) == 0 {
				p.steps = append(p.steps, readBody)
			}
			p.body = append(p.body, fieldOf(f, index, "json"))
		case f.Tag.Get("query") != "":
			if len(p.query) == 0 {
				p.steps = append(p.steps, readQuery)
			}
			p.query = append(p.query, fieldOf(f, index, "query"))
		case f.Tag.Get("path") != "":
			p.steps = append(p.steps, func(_ *Laboratory, ec echo.Context, _ *plan, in reflect.Value) error {
				text, err := pathParam(ec, f.Tag.Get("path"))
				in.FieldByIndex(index).SetString(text)
				return err
			})
		case f.Tag.Get("header") != "":
			p.steps = append(p.steps, func(_ *Laboratory, ec echo.Context, _ *plan, in reflect.Value) error {
				in.FieldByIndex(index).SetString(ec.Request().Header.Get(f.Tag.Get("header")))
				return nil
			})
		case f.Anonymous:
			p.scan(f.Type, index)
		}
	}
}

// finds reports whether a part is a finder itself, and not by what is embedded in it.
func finds(t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[finder]()) {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[finder]()) {
			return false
		}
	}
	return true
}

func fieldOf(f reflect.StructField, index []int, tag string) field {
	name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
	number := func(tag string, otherwise int64) int64 {
		n, err := strconv.ParseInt(f.Tag.Get(tag), 10, 64)
		if err != nil {
			return otherwise
		}
		return n
	}
	return field{name: name, index: index, missing: f.Tag.Get("missing"), first: f.Tag.Get("first") == "true",
		always: tag == "json" && options != "omitempty",
		least:  number("minimum", -1<<53), most: number("maximum", 1<<53), otherwise: number("default", 0)}
}

// required reports whether clients must give the member.
func (f field) required() bool { return f.always }

// decode reads a request into its struct.
func (p *plan) decode(l *Laboratory, ec echo.Context, in any) error {
	into := reflect.ValueOf(in).Elem()
	for _, f := range slices.Concat(p.body, p.query) {
		if f.otherwise != 0 {
			into.FieldByIndex(f.index).SetInt(f.otherwise)
		}
	}
	for _, s := range p.steps {
		if err := s(l, ec, p, into); err != nil {
			return err
		}
	}
	return nil
}

// pathParam is a parameter of the path, which is still escaped there: an id may hold a slash.
func pathParam(ec echo.Context, name string) (string, error) {
	text, err := url.PathUnescape(ec.Param(name))
	if err != nil {
		return "", badRequest("The path holds a malformed escape.")
	}
	return text, nil
}

// readBody reads the members of the body. Those that the struct does not have are refused.
func readBody(l *Laboratory, ec echo.Context, p *plan, in reflect.Value) error {
	body := l.opt.Wire.Body(ec)
	object := jsondoc.Value{}
	if len(body) > 0 || !p.optional {
		var err error
		if object, err = objectOf(body, p); err != nil {
			return err
		}
	}
	given := make(map[string]bool, len(p.body))
	for i := range p.body {
		f := &p.body[i]
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
		i := slices.IndexFunc(p.body, func(f field) bool { return f.name == name })
		switch {
		case i < 0:
			err = p.unknown(name)
		case !p.body[i].first:
			err = p.body[i].decode(in, v)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if p.empty != "" && len(given) == 0 {
		return badRequest(p.empty)
	}
	for i := range p.body {
		if f := &p.body[i]; f.missing != "" && !given[f.name] {
			return badRequest(f.missing)
		}
	}
	return nil
}

// LargeBody is how many bytes the body of a request may have that holds a whole seed.
const LargeBody = 64 << 20

// objectOf checks that a body is a JSON object.
func objectOf(body []byte, p *plan) (v jsondoc.Value, err error) {
	limits := jsondoc.Limits{}
	if p.large {
		limits.MaxBytes = LargeBody
	}
	if p.kept {
		body, err = jsondoc.Compact(body, limits)
	} else {
		err = jsondoc.Valid(body, limits)
	}
	if err != nil {
		return v, badRequest("The input content is invalid: " + err.Error())
	}
	if v = jsondoc.Of(body); v.Kind() != jsondoc.Object {
		return v, badRequest("The request body must be a JSON object.")
	}
	return v, nil
}

func (p *plan) unknown(name string) error {
	switch {
	case p.refusal != "":
		return badRequest(p.refusal)
	case p.takes != "":
		fields := p.body
		if len(fields) == 0 {
			fields = p.query
		}
		takes := strings.Replace(p.takes, "%", names(fields), 1)
		return badRequest("'" + name + "' is not known: " + takes + ".")
	}
	return badRequest("'" + name + "' is not known here.")
}

// names lists fields for people: "'a', 'b' and 'c'".
func names(fields []field) string {
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

// decode reads the field's value into the struct.
func (f *field) decode(in reflect.Value, v jsondoc.Value) error {
	to := in.FieldByIndex(f.index)
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if m, ok := to.Addr().Interface().(member); ok {
		return m.decode(f.name, v)
	}
	switch to.Kind() {
	case reflect.String:
		if v.Kind() != jsondoc.String {
			return badRequest("'" + f.name + "' must be a string.")
		}
		to.SetString(v.Str())
	case reflect.Bool:
		if v.Kind() != jsondoc.Bool {
			return badRequest("'" + f.name + "' must be true or false.")
		}
		to.SetBool(v.Bool())
	case reflect.Float64:
		if v.Kind() != jsondoc.Number {
			return badRequest("'" + f.name + "' must be a number.")
		}
		to.SetFloat(v.Num())
	default: // whole numbers
		n := v.Num()
		if v.Kind() != jsondoc.Number || n < float64(f.least) || n > float64(f.most) || n != float64(int64(n)) {
			return notWhole(f.name, f.least, f.most)
		}
		to.SetInt(int64(n))
	}
	return nil
}

// readQuery reads the parameters of the query string. Those that the struct does not have are refused.
func readQuery(_ *Laboratory, ec echo.Context, p *plan, in reflect.Value) error {
	values, err := url.ParseQuery(ec.Request().URL.RawQuery)
	if err != nil {
		return badRequest("The query string is malformed.")
	}
	for name := range values {
		i := slices.IndexFunc(p.query, func(f field) bool { return f.name == name })
		if i < 0 {
			return p.unknown(name)
		}
		f, text := &p.query[i], values.Get(name)
		to := in.FieldByIndex(f.index)
		if to.Kind() == reflect.String {
			to.SetString(text)
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < f.least || n > f.most {
			return notWhole(f.name, f.least, f.most)
		}
		to.SetInt(n)
	}
	return nil
}
