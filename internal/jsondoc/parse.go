package jsondoc

import (
	"bytes"
	"errors"
	"math"
)

// The limits of Cosmos DB for a document, in bytes and in levels of nesting. They are the defaults of Limits.
const (
	DefaultMaxBytes = 2 << 20
	DefaultMaxDepth = 128
)

// Limits holds the limits of a document. A zero field stands for its default.
type Limits struct {
	MaxBytes int // size of the compact text in bytes
	MaxDepth int // nested arrays and objects; the outermost counts as one
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

// ParsedDocument is a document that Parse has accepted, in the form in which it is stored. It shares no
// memory with the text from which it was parsed. Its fields share memory with each other.
type ParsedDocument struct {
	// Body is the text of the object without blanks and without the system properties at its top level. The
	// order of members and the spelling of names and strings are kept, except that control characters are
	// escaped. Numbers have their shortest spelling. No name occurs twice in an object.
	Body []byte
	// ID is the value of the top-level "id", of any kind, or undefined.
	ID Value
	// TTL is the text of the value of the top-level "ttl", of any kind, or nil if there is none.
	TTL []byte
}

// Parse checks that raw is one JSON object that can be stored, and returns it in the form in which it is
// stored. System properties (_rid, _self, _etag, _ts, _attachments, _lsn) at the top level are dropped, as
// in Cosmos DB, since clients send back documents that they have read. Parse checks the grammar of RFC 8259,
// UTF-8 without a byte order mark, that numbers are finite as doubles, and the limits.
//
// It accepts two things that the RFC forbids or discourages, because Cosmos DB accepts them: control
// characters in strings, and a name that occurs twice in an object. Of the members with the same name only
// the last one is kept.
//
// The error is a *SyntaxError, *DepthError, *SizeError or, for a JSON value that is not an object, a
// *NotObjectError. Input of more than twice the size limit is refused without being read.
func Parse(raw []byte, lim Limits) (ParsedDocument, error) {
	out, err := parse(raw, lim)
	if !isDuplicate(err) {
		return out, err
	}
	if raw, err = unique(raw, lim); err != nil {
		return ParsedDocument{}, err
	}
	return parse(raw, lim)
}

// Compact checks that raw is one JSON value, of any kind, that could be stored in a document, and returns
// its text in the form of Parse: without blanks and control characters, with numbers in their shortest
// spelling, and only the last of several members with the same name. Nothing else is dropped. Errors are
// those of Parse, except *NotObjectError. The text shares no memory with raw.
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
		return false // without allocation
	}
	var twice *DuplicateNameError
	return errors.As(err, &twice)
}

// parse does the work of Parse in one pass. It fails with a *DuplicateNameError if a name occurs twice in an
// object; Parse then uses unique.
func parse(raw []byte, lim Limits) (ParsedDocument, error) {
	p := parser{src: raw, lim: lim.withDefaults()}
	if err := p.start(); err != nil {
		return ParsedDocument{}, err
	}
	if k := kindAt[p.peek()]; k != Object {
		p.keep, p.mark = true, p.pos // accept what Compact accepts
		err := p.value()
		if err == nil {
			err = p.end()
		}
		if err == nil {
			err = &NotObjectError{k}
		}
		return ParsedDocument{}, err
	}
	p.dst, p.keep = make([]byte, 0, len(raw)-p.pos), true
	out, err := p.document()
	if err != nil {
		return ParsedDocument{}, err
	}
	return out, p.end()
}

// compact does the work of Compact in one pass. It fails with a *DuplicateNameError if a name occurs twice in
// an object; Compact then uses unique.
func compact(raw []byte, lim Limits) ([]byte, error) {
	p := parser{src: raw, lim: lim.withDefaults()}
	return p.compact()
}

// unique returns the compact text of a value in which names may occur twice: of members with the same name
// only the last one is kept. It does not check the size, since the caller checks the size of the text that it
// returns.
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

// Valid checks that raw is one JSON value that conforms strictly to RFC 8259, that its numbers are finite as
// doubles, and that no name occurs twice in an object (*DuplicateNameError). Other errors are those of Parse,
// except *NotObjectError. The size is that of the compact text. Nothing is dropped, so system properties
// count.
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
// If keep is set, it also copies the input to dst, as late as possible: src[mark:pos] has been read and not
// yet copied. When it skips blanks, it copies the bytes before them and sets mark to the first byte after
// them. So compact text is copied in few large pieces.
type parser struct {
	src  []byte
	pos  int
	lim  Limits
	keep bool
	dst  []byte
	mark int

	// unique is set, with keep, if names may occur twice in an object. Then each member is copied to dst
	// before the next one begins, so that it can be removed from there when a later member has the same name.
	unique bool

	depth  int
	blanks int // in bytes
	names  nameStack
}

// start refuses a text that is much too long or begins with a byte order mark. It then skips the blanks
// before the value.
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

// end checks that nothing follows the value, and checks its size.
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

// peek returns the next byte, or 0 at the end. A byte 0 in the text is never valid where peek is used.
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

// flush copies the bytes that have been read and not yet copied.
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

// document reads the object at the top level of a document and appends it to the output dst without system
// properties. It records the positions of id and ttl. No comma follows a member in dst before the next member
// begins, so that a member can be removed by truncating dst.
func (p *parser) document() (ParsedDocument, error) {
	var id, ttl byteRange
	if err := p.enter(); err != nil {
		return ParsedDocument{}, err
	}
	p.flush()
	for more := p.peek() != '}'; more; {
		before := len(p.dst)
		if before > len("{") {
			p.dst = append(p.dst, ',')
		}
		n, err := p.name(0)
		if err != nil {
			return ParsedDocument{}, err
		}
		p.flush()
		value := byteRange{from: len(p.dst)}
		if err := p.value(); err != nil {
			return ParsedDocument{}, err
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
			p.mark = p.pos // the next iteration writes the comma, if it keeps its member
			p.skipBlanks()
		case '}':
			more = false
		default:
			return ParsedDocument{}, p.expected("a comma or the end of the object")
		}
	}
	p.leave()
	p.flush()
	return ParsedDocument{Body: p.dst, ID: Of(id.in(p.dst)), TTL: ttl.in(p.dst)}, p.closeNames(0)
}

// byteRange is a part of the parser's output dst, as offsets, since the memory of dst may still move. With to
// = 0 it stands for no part.
type byteRange struct{ from, to int }

func (s byteRange) in(b []byte) []byte {
	if s.to == 0 {
		return nil
	}
	return b[s.from:s.to:s.to]
}
