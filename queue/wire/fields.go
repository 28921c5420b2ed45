package wire

import "math"

// Fields reads the fields of a list in their order. The first failure stays, and ends the reading: see Err.
type Fields struct {
	left  []byte
	count int
	what  string // the list, for an error
	err   error
}

// ReadFields begins with the list that raw is; what names it for an error.
func ReadFields(raw []byte, what string) Fields {
	it, _, err := split(raw, 0)
	switch {
	case err != nil:
	case it.code == codeList0 || it.code == codeList8 || it.code == codeList32:
		return Fields{left: it.data, count: it.count, what: what}
	default:
		err = bad(what+", a list,", "the constructor %#02x", it.code)
	}
	return Fields{what: what, err: err}
}

// Err is the first failure.
func (f *Fields) Err() error { return f.err }

// Fail notes a failure, if it is the first.
func (f *Fields) Fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// Raw is the next field as it is encoded; nil where it is null or missing.
func (f *Fields) Raw() []byte {
	if f.err != nil || f.count == 0 {
		return nil
	}
	value, rest, err := raw(f.left, 1)
	if err != nil {
		f.err = err
		return nil
	}
	f.left, f.count = rest, f.count-1
	if value[0] == codeNull {
		return nil
	}
	return value
}

// next is the next field taken apart; ok is false where it is null or missing.
func (f *Fields) next() (it item, ok bool) {
	value := f.Raw()
	if value == nil {
		return it, false
	}
	it, _, err := split(value, 1)
	f.Fail(err)
	return it, err == nil
}

// mismatch notes that a field is of another type than it must be.
func (f *Fields) mismatch(it item, want string) {
	f.Fail(bad(want+" in "+f.what, "the constructor %#02x", it.code))
}

// Skip passes fields by.
func (f *Fields) Skip(n int) {
	for range n {
		f.Raw()
	}
}

// Bool is the next field, or absent.
func (f *Fields) Bool(absent bool) bool {
	if v, ok := f.OptionalBool(); ok {
		return v
	}
	return absent
}

// OptionalBool is the next field; ok is false where it is null or missing.
func (f *Fields) OptionalBool() (v, ok bool) {
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

// unsignedUpTo is the next field; ok is false where it is null or missing. A signed number that is not
// negative will do.
func (f *Fields) unsignedUpTo(most uint64, want string) (n uint64, ok bool) {
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

// whole is a number that is whole and not negative.
func (it item) whole() (n uint64, ok bool) {
	switch it.code {
	case codeUbyte, codeUshort, codeUint0, codeUintSmall, codeUint, codeUlong0, codeUlongSmall, codeUlong:
		return it.unsigned(), true
	case codeByte, codeShort, codeIntSmall, codeInt, codeLongSmall, codeLong:
		s := it.signed()
		return uint64(s), s >= 0
	}
	return 0, false
}

// Uint32 is the next field, or absent.
func (f *Fields) Uint32(absent uint32) uint32 {
	if n, ok := f.unsignedUpTo(math.MaxUint32, "a uint"); ok {
		return uint32(n)
	}
	return absent
}

// OptionalUint32 is the next field; ok is false where it is null or missing.
func (f *Fields) OptionalUint32() (n uint32, ok bool) {
	wide, ok := f.unsignedUpTo(math.MaxUint32, "a uint")
	return uint32(wide), ok
}

// Uint16 is the next field, or absent.
func (f *Fields) Uint16(absent uint16) uint16 {
	if n, ok := f.unsignedUpTo(math.MaxUint16, "a ushort"); ok {
		return uint16(n)
	}
	return absent
}

// Uint8 is the next field, or absent.
func (f *Fields) Uint8(absent uint8) uint8 {
	if n, ok := f.OptionalUint8(); ok {
		return n
	}
	return absent
}

// OptionalUint8 is the next field; ok is false where it is null or missing.
func (f *Fields) OptionalUint8() (n uint8, ok bool) {
	v, ok := f.unsignedUpTo(math.MaxUint8, "a ubyte")
	return uint8(v), ok
}

// Uint64 is the next field, or absent.
func (f *Fields) Uint64(absent uint64) uint64 {
	if n, ok := f.unsignedUpTo(math.MaxUint64, "a ulong"); ok {
		return n
	}
	return absent
}

// Text is the next field, a string or symbol; ok is false where it is null or missing.
func (f *Fields) Text() (text string, ok bool) {
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

// Bytes is the next field, a binary; nil where it is null or missing, which an empty one is not.
func (f *Fields) Bytes() []byte {
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

// Value is the next field, whatever it is; nil where it is null or missing.
func (f *Fields) Value() any {
	value := f.Raw()
	if value == nil {
		return nil
	}
	v, _, err := Value(value)
	f.Fail(err)
	return v
}

// Symbols is the next field: one symbol, or an array of them.
func (f *Fields) Symbols() (list []Symbol) {
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

// Map is the next field, a map; nil where it is null or missing.
func (f *Fields) Map() Map {
	switch v := f.Value().(type) {
	case nil:
	case Map:
		return v
	default:
		f.Fail(bad("a map in "+f.what, "a %T", v))
	}
	return nil
}
