package wire

import "math"

// FieldReader reads the fields of an encoded AMQP list in order. After the first error, which Err returns,
// it reads nothing more.
type FieldReader struct {
	rest  []byte
	count int
	what  string // name of the list in errors
	err   error
}

// ReadFields returns a reader of the encoded list raw. what is its name in errors.
func ReadFields(raw []byte, what string) FieldReader {
	it, _, err := split(raw, 0)
	switch {
	case err != nil:
	case it.code == codeList0 || it.code == codeList8 || it.code == codeList32:
		return FieldReader{rest: it.data, count: it.count, what: what}
	default:
		err = bad(what+", a list,", "the constructor %#02x", it.code)
	}
	return FieldReader{what: what, err: err}
}

// Err returns the first error.
func (f *FieldReader) Err() error { return f.err }

// Fail records an error, unless there is one already.
func (f *FieldReader) Fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// Raw returns the encoding of the next field, or nil if it is null or missing.
func (f *FieldReader) Raw() []byte {
	if f.err != nil || f.count == 0 {
		return nil
	}
	value, rest, err := raw(f.rest, 1)
	if err != nil {
		f.err = err
		return nil
	}
	f.rest, f.count = rest, f.count-1
	if value[0] == codeNull {
		return nil
	}
	return value
}

// next takes the next field off the encoded list; ok is false if it is null or missing.
func (f *FieldReader) next() (it encodedValue, ok bool) {
	value := f.Raw()
	if value == nil {
		return it, false
	}
	it, _, err := split(value, 1)
	f.Fail(err)
	return it, err == nil
}

// mismatch records that a field has an unexpected type.
func (f *FieldReader) mismatch(it encodedValue, want string) {
	f.Fail(bad(want+" in "+f.what, "the constructor %#02x", it.code))
}

// Skip skips n fields.
func (f *FieldReader) Skip(n int) {
	for range n {
		f.Raw()
	}
}

// Bool returns the next field, a boolean, or the argument absent if the field is null or missing.
func (f *FieldReader) Bool(absent bool) bool {
	if v, ok := f.OptionalBool(); ok {
		return v
	}
	return absent
}

// OptionalBool returns the next field; ok is false if it is null or missing.
func (f *FieldReader) OptionalBool() (v, ok bool) {
	it, ok := f.next()
	if !ok {
		return false, false
	}
	v, err := it.truth()
	if err != nil {
		f.mismatch(it, "a boolean")
	}
	return v, true
}

// unsignedUpTo returns the next field, a non-negative integer of any type that is at most most; want is
// the name of the expected type in errors. ok is false if the field is null, missing or something else.
func (f *FieldReader) unsignedUpTo(most uint64, want string) (n uint64, ok bool) {
	it, ok := f.next()
	if !ok {
		return 0, false
	}
	n, ok = it.whole()
	if !ok || n > most {
		f.mismatch(it, want)
		return 0, false
	}
	return n, true
}

// whole returns the value as a non-negative integer; ok is false if it is not one.
func (it encodedValue) whole() (n uint64, ok bool) {
	switch it.code {
	case codeUbyte, codeUshort, codeUint0, codeUintSmall, codeUint, codeUlong0, codeUlongSmall, codeUlong:
		return it.unsigned(), true
	case codeByte, codeShort, codeIntSmall, codeInt, codeLongSmall, codeLong:
		s := it.signed()
		return uint64(s), s >= 0
	}
	return 0, false
}

// Uint32 returns the next field, a number, or the argument absent if the field is null or missing.
func (f *FieldReader) Uint32(absent uint32) uint32 {
	if n, ok := f.unsignedUpTo(math.MaxUint32, "a uint"); ok {
		return uint32(n)
	}
	return absent
}

// OptionalUint32 returns the next field; ok is false if it is null or missing.
func (f *FieldReader) OptionalUint32() (n uint32, ok bool) {
	wide, ok := f.unsignedUpTo(math.MaxUint32, "a uint")
	return uint32(wide), ok
}

// Uint16 returns the next field, a number, or the argument absent if the field is null or missing.
func (f *FieldReader) Uint16(absent uint16) uint16 {
	if n, ok := f.unsignedUpTo(math.MaxUint16, "a ushort"); ok {
		return uint16(n)
	}
	return absent
}

// Uint8 returns the next field, a number, or the argument absent if the field is null or missing.
func (f *FieldReader) Uint8(absent uint8) uint8 {
	if n, ok := f.OptionalUint8(); ok {
		return n
	}
	return absent
}

// OptionalUint8 returns the next field; ok is false if it is null or missing.
func (f *FieldReader) OptionalUint8() (n uint8, ok bool) {
	v, ok := f.unsignedUpTo(math.MaxUint8, "a ubyte")
	return uint8(v), ok
}

// Uint64 returns the next field, a number, or the argument absent if the field is null or missing.
func (f *FieldReader) Uint64(absent uint64) uint64 {
	if n, ok := f.unsignedUpTo(math.MaxUint64, "a ulong"); ok {
		return n
	}
	return absent
}

// Text returns the next field, a string or symbol; ok is false if it is null or missing.
func (f *FieldReader) Text() (text string, ok bool) {
	it, ok := f.next()
	if !ok {
		return "", false
	}
	switch it.code {
	case codeString8, codeString32, codeSymbol8, codeSymbol32:
		return string(it.data), true
	}
	f.mismatch(it, "a string")
	return "", false
}

// Bytes returns the next field, a binary. It returns nil if the field is null or missing, but not if it is
// empty.
func (f *FieldReader) Bytes() []byte {
	it, ok := f.next()
	if !ok {
		return nil
	}
	if it.code != codeBinary8 && it.code != codeBinary32 {
		f.mismatch(it, "a binary")
		return nil
	}
	return it.data
}

// Value returns the next field, of any type, or nil if it is null or missing.
func (f *FieldReader) Value() any {
	value := f.Raw()
	if value == nil {
		return nil
	}
	v, _, err := Value(value)
	f.Fail(err)
	return v
}

// Symbols returns the next field, a symbol or an array of symbols.
func (f *FieldReader) Symbols() (list []Symbol) {
	switch v := f.Value().(type) {
	case nil:
	case Symbol:
		list = []Symbol{v}
	case string:
		list = []Symbol{Symbol(v)}
	case Array:
		for _, e := range v.Elements {
			switch e := e.(type) {
			case Symbol:
				list = append(list, e)
			case string:
				list = append(list, Symbol(e))
			default:
				f.Fail(bad("a symbol in "+f.what, "a %T", e))
			}
		}
	default:
		f.Fail(bad("symbols in "+f.what, "a %T", v))
	}
	return list
}

// Map returns the next field, a map, or nil if it is null or missing.
func (f *FieldReader) Map() Map {
	switch v := f.Value().(type) {
	case nil:
	case Map:
		return v
	default:
		f.Fail(bad("a map in "+f.what, "a %T", v))
	}
	return nil
}
