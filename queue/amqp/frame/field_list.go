package frame

import "github.com/mayflydb/mayfly/queue/wire"

// fieldListEncoder encodes the fields of a performative or another body, as the described list that AMQP
// prescribes.
type fieldListEncoder struct {
	dst []byte
	n   int
}

// appendBody appends the encoding of a frame body: a described list of its fields.
func appendBody(dst []byte, b interface {
	descriptor() uint64
	fields(*fieldListEncoder)
}) []byte {
	dst, o := wire.OpenList(wire.AppendDescriptor(dst, b.descriptor()))
	l := fieldListEncoder{dst: dst}
	b.fields(&l)
	return o.CloseWith(l.dst, l.n)
}

func (l *fieldListEncoder) null() { l.dst, l.n = wire.AppendNull(l.dst), l.n+1 }

func (l *fieldListEncoder) bool(v bool) { l.dst, l.n = wire.AppendBool(l.dst, v), l.n+1 }

func (l *fieldListEncoder) uint8(v uint8) { l.dst, l.n = wire.AppendUint8(l.dst, v), l.n+1 }

func (l *fieldListEncoder) uint16(v uint16) { l.dst, l.n = wire.AppendUint16(l.dst, v), l.n+1 }

func (l *fieldListEncoder) uint32(v uint32) { l.dst, l.n = wire.AppendUint32(l.dst, v), l.n+1 }

func (l *fieldListEncoder) uint64(v uint64) { l.dst, l.n = wire.AppendUint64(l.dst, v), l.n+1 }

func (l *fieldListEncoder) maybe(v OptionalNumber) {
	if v.Set {
		l.uint32(v.Value)
	} else {
		l.null()
	}
}

func (l *fieldListEncoder) string(v string) { l.dst, l.n = wire.AppendString(l.dst, v), l.n+1 }

// text writes a string, "" as null.
func (l *fieldListEncoder) text(v string) {
	if v == "" {
		l.null()
	} else {
		l.string(v)
	}
}

// symbol writes a symbol, "" as null.
func (l *fieldListEncoder) symbol(v wire.Symbol) {
	if v == "" {
		l.null()
		return
	}
	l.dst, l.n = wire.AppendSymbol(l.dst, v), l.n+1
}

// bytes writes a binary, nil as null.
func (l *fieldListEncoder) bytes(v []byte) {
	if v == nil {
		l.null()
		return
	}
	l.dst, l.n = wire.AppendBinary(l.dst, v), l.n+1
}

// raw writes an encoded value, nil as null.
func (l *fieldListEncoder) raw(v []byte) {
	if v == nil {
		l.null()
		return
	}
	l.dst, l.n = append(l.dst, v...), l.n+1
}

// value writes any value. If the type of the value has no encoding, which is a bug of the caller, it writes
// null.
func (l *fieldListEncoder) value(v any) {
	out, err := wire.Append(l.dst, v)
	if err != nil {
		l.null()
		return
	}
	l.dst, l.n = out, l.n+1
}

// symbols writes the next field of the list: an array of symbols, or null if v is empty.
func (l *fieldListEncoder) symbols(v []wire.Symbol) {
	if len(v) == 0 {
		l.null()
		return
	}
	l.value(wire.Symbols(v))
}

// pairs writes a map, nil as null.
func (l *fieldListEncoder) pairs(v wire.Map) {
	if v == nil {
		l.null()
		return
	}
	l.value(v)
}

// body writes v, a described list, as a field of another list. If is is false, it writes null instead of v.
func (l *fieldListEncoder) body(v interface {
	descriptor() uint64
	fields(*fieldListEncoder)
}, is bool) {
	if !is {
		l.null()
		return
	}
	l.dst, l.n = appendBody(l.dst, v), l.n+1
}

// OptionalNumber is a number of up to 32 bits that a performative may lack.
type OptionalNumber struct {
	Value uint32
	Set   bool
}

// Some returns an OptionalNumber with a value.
func Some(v uint32) OptionalNumber { return OptionalNumber{v, true} }

// Or returns the value if it is set, and otherwise absent.
func (m OptionalNumber) Or(absent uint32) uint32 {
	if m.Set {
		return m.Value
	}
	return absent
}
