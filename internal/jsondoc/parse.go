package jsondoc

import (
	"bytes"
	"errors"
	"math"
)

// The limits of Cosmos DB, which hold where no others are given.
const (
	DefaultMaxBytes = 2 << 20
	DefaultMaxDepth = 128
)

// Limits bound a document. A field that is zero stands for the default.
type Limits struct {
	MaxBytes int // of the compact text, in bytes
	MaxDepth int // of arrays and objects inside each other; the outermost counts as one
}

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	return l
}

// Parsed is a document that was accepted, ready to be stored. It shares no memory with the text it was parsed
// from; its fields share memory with each other.
type Parsed struct {
	// Body is the text of the object without blanks and without the system properties at its top level.
	// Members keep their order, names and strings their spelling but for control characters, which are
	// escaped; numbers are in their shortest spelling, and no name is there twice.
	Body []byte
	// ID is the value of the top-level "id", of whatever kind, or undefined.
	ID Value
	// TTL is the text of the value of the top-level "ttl", whatever it is, or nil where there is none.
	TTL []byte
}

// Parse checks that raw is one JSON object that can be stored and returns it in the form in which it is.
// System properties (_rid, _self, _etag, _ts, _attachments, _lsn) at the top level are dropped, since clients
// send back the documents that they have read; Cosmos DB ignores them too. Checked are the grammar of RFC
// 8259, UTF-8 without a byte order mark, that numbers are finite as doubles, and the limits.
//
// Two things are taken that the RFC does not have or does not want, because Cosmos DB takes them: control
// characters in strings, and a name that occurs twice in an object, of which the last member stays, in its
// place.
//
// Errors are a *SyntaxError, *DepthError, *SizeError or, for another JSON value, *NotObjectError.
// Input of more than twice the size limit is refused unread.
func Parse(raw []byte, lim Limits) (Parsed, error) {
	out, err := parse(raw, lim)
	if !isDuplicate(err) {
		return out, err
	}
	if raw, err = unique(raw, lim); err != nil {
		return Parsed{}, err
	}
	return parse(raw, lim)
}

// Compact checks that raw is one JSON value that could be stored, of whatever kind, and returns its text as
// Parse would keep it: without blanks and control characters, numbers in their shortest spelling, of members
// with the same name the last. Nothing else is dropped. Errors are those of Parse, but for *NotObjectError.
// The text shares no memory with raw.
func Compact(raw []byte, lim Limits) ([]byte, error) {
	out, err := compact(raw, lim)
	if !isDuplicate(err) {
		return out, err
	}
	if raw, err = unique(raw, lim); err != nil {
		return nil, err
	}
	return compact(raw, lim)
}

func isDuplicate(err error) bool {
	if err == nil {
		return false // without an allocation
	}
	var twice *DuplicateError
	return errors.As(err, &twice)
}

// parse is Parse for a text in which no name occurs twice.
func parse(raw []byte, lim Limits) (Parsed, error) {
	p := parser{src: raw, lim: lim.withDefaults()}
	if err := p.start(); err != nil {
		return Parsed{}, err
	}
	if k := kindAt[p.peek()]; k != Object {
		p.keep, p.mark = true, p.pos // to take what may be kept
		err := p.value()
		if err == nil {
			err = p.end()
		}
		if err == nil {
			err = &NotObjectError{k}
		}
		return Parsed{}, err
	}
	p.dst, p.keep = make([]byte, 0, len(raw)-p.pos), true
	out, err := p.document()
	if err != nil {
		return Parsed{}, err
	}
	return out, p.end()
}

// compact is Compact for a text in which no name occurs twice.
func compact(raw []byte, lim Limits) ([]byte, error) {
	p := parser{src: raw, lim: lim.withDefaults()}
	return p.compact()
}

// unique is compact for a text in which names occur twice. Size is no matter: what is left of it is looked at
// again.
func unique(raw []byte, lim Limits) ([]byte, error) {
	lim = lim.withDefaults()
	lim.MaxBytes = math.MaxInt / 2
	p := parser{src: raw, lim: lim, unique: true}
	return p.compact()
}

func (p *parser) compact() ([]byte, error) {
	if err := p.start(); err != nil {
		return nil, err
	}
	p.dst, p.keep, p.mark = make([]byte, 0, len(p.src)-p.pos), true, p.pos
	if err := p.value(); err != nil {
		return nil, err
	}
	p.flush()
	return p.dst, p.end()
}

// Valid checks that raw is one JSON value to the letter of RFC 8259, that its numbers are finite as doubles,
// and that no name occurs twice in an object; that is a *DuplicateError. Other errors are those of Parse, but
// for *NotObjectError. Its size is that of the compact text; nothing is dropped, so names that Parse takes
// for system properties count.
func Valid(raw []byte, lim Limits) error {
	p := parser{src: raw, lim: lim.withDefaults()}
	if err := p.start(); err != nil {
		return err
	}
	if err := p.value(); err != nil {
		return err
	}
	return p.end()
}

// parser reads src once, from left to right.
//
// Where keep is set it also copies what it reads to dst, and it copies late: src[mark:pos] is what has been
// read and not been copied. Passing over blanks copies what was before them and puts the mark behind them, so
// that compact text is copied in few large pieces.
type parser struct {
	src  []byte
	pos  int
	lim  Limits
	keep bool
	dst  []byte
	mark int

	// unique is set, with keep, where names may occur twice: each member is copied when the next one begins,
	// so that its place in dst is known and it can be cut out.
	unique bool

	depth  int
	blanks int // bytes
	names  nameStack
}

// start passes over what may come before the value.
func (p *parser) start() error {
	if n, limit := len(p.src), p.lim.MaxBytes; n-limit > limit {
		return &SizeError{Size: n, Max: limit}
	}
	if bytes.HasPrefix(p.src, []byte("\uFEFF")) {
		return p.fail(0, "the text begins with a byte order mark")
	}
	p.skipBlanks()
	return nil
}

// end checks that nothing comes after the value, and its size.
func (p *parser) end() error {
	p.skipBlanks()
	if p.pos < len(p.src) {
		return p.expected("the end of the text")
	}
	size := len(p.src) - p.blanks
	if p.keep {
		size = len(p.dst)
	}
	if size > p.lim.MaxBytes {
		return &SizeError{Size: size, Max: p.lim.MaxBytes}
	}
	return nil
}

// peek returns the next byte, or 0 at the end, which is valid nowhere that peek is used.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) skipBlanks() {
	i := p.pos
	for i < len(p.src) && isBlank(p.src[i]) {
		i++
	}
	if i == p.pos {
		return
	}
	p.flush()
	p.blanks += i - p.pos
	p.pos, p.mark = i, i
}

// flush copies what has been read and not been copied.
func (p *parser) flush() {
	if p.keep {
		p.dst = append(p.dst, p.src[p.mark:p.pos]...)
		p.mark = p.pos
	}
}

func (p *parser) enter() error {
	if p.depth++; p.depth > p.lim.MaxDepth {
		return &DepthError{Max: p.lim.MaxDepth}
	}
	p.pos++
	p.skipBlanks()
	return nil
}

func (p *parser) leave() {
	p.depth--
	p.pos++
}

// value reads one value of any kind that begins at pos.
func (p *parser) value() error {
	switch kindAt[p.peek()] {
	case Object:
		return p.object()
	case Array:
		return p.array()
	case String:
		_, err := p.str()
		return err
	case Number:
		return p.number()
	case Null:
		return p.literal("null")
	case Bool:
		if p.peek() == 't' {
			return p.literal("true")
		}
		return p.literal("false")
	}
	return p.expected("a value")
}

func (p *parser) array() error {
	if err := p.enter(); err != nil {
		return err
	}
	if p.peek() == ']' {
		p.leave()
		return nil
	}
	for {
		if err := p.value(); err != nil {
			return err
		}
		p.skipBlanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.skipBlanks()
		case ']':
			p.leave()
			return nil
		default:
			return p.expected("a comma or the end of the array")
		}
	}
}

func (p *parser) object() error {
	if err := p.enter(); err != nil {
		return err
	}
	if p.peek() == '}' {
		p.leave()
		return nil
	}
	base := p.names.len()
	for {
		if p.unique {
			p.flush()
		}
		if _, err := p.name(base); err != nil {
			return err
		}
		if err := p.value(); err != nil {
			return err
		}
		p.skipBlanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.skipBlanks()
		case '}':
			p.leave()
			return p.closeNames(base)
		default:
			return p.expected("a comma or the end of the object")
		}
	}
}

// document is object for the top level of a document: it leaves out system properties and notes id and ttl.
// dst ends without a comma after each round, so that a member can be taken back by cutting it off.
func (p *parser) document() (Parsed, error) {
	var id, ttl span
	if err := p.enter(); err != nil {
		return Parsed{}, err
	}
	p.flush()
	for more := p.peek() != '}'; more; {
		before := len(p.dst)
		if before > len("{") {
			p.dst = append(p.dst, ',')
		}
		n, err := p.name(0)
		if err != nil {
			return Parsed{}, err
		}
		p.flush()
		value := span{from: len(p.dst)}
		if err := p.value(); err != nil {
			return Parsed{}, err
		}
		p.flush()
		value.to = len(p.dst)
		switch name := viewOf(p.nameBytes(&n)); {
		case IsSystem(name):
			p.dst = p.dst[:before]
		case name == "id":
			id = value
		case name == "ttl":
			ttl = value
		}
		p.skipBlanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.mark = p.pos // the next round writes the comma, if it keeps its member
			p.skipBlanks()
		case '}':
			more = false
		default:
			return Parsed{}, p.expected("a comma or the end of the object")
		}
	}
	p.leave()
	p.flush()
	return Parsed{Body: p.dst, ID: Of(id.in(p.dst)), TTL: ttl.in(p.dst)}, p.closeNames(0)
}

// span is a piece of dst, which may still move; the empty span is none.
type span struct{ from, to int }

func (s span) in(b []byte) []byte {
	if s.to == 0 {
		return nil
	}
	return b[s.from:s.to:s.to]
}
