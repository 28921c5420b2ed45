package wire

import "bytes"

// The functions of this file decode a value of an expected type. ok is false for null, for empty input, and
// for another type.

// Text decodes a string or symbol. ok is false for other values.
func Text(raw []byte) (text string, ok bool) {
	b, ok := scalar(raw, codeString8, codeString32, codeSymbol8, codeSymbol32)
	return string(b), ok
}

// scalar returns the data of a value that has one of the given constructors, none of which may be that of a
// compound type. ok is false for other values: scalar returns no errors, since most calls ask for fields
// that are absent.
func scalar(raw []byte, codes ...byte) (data []byte, ok bool) {
	if len(raw) == 0 || bytes.IndexByte(codes, raw[0]) < 0 {
		return nil, false
	}
	it, _, err := payload(raw[0], raw[1:])
	return it.data, err == nil
}

// IsSymbol reports whether the value is a symbol.
func IsSymbol(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == codeSymbol8 || raw[0] == codeSymbol32)
}

// Bytes decodes a binary. The result aliases raw. ok is false for other values.
func Bytes(raw []byte) (b []byte, ok bool) {
	return scalar(raw, codeBinary8, codeBinary32)
}

// Integer decodes an integer of any width, or a timestamp. ok is false for other values.
func Integer(raw []byte) (n int64, ok bool) {
	if len(raw) == 0 {
		return 0, false
	}
	it, _, err := split(raw, 0)
	if err != nil {
		return 0, false
	}
	switch it.code {
	case codeByte, codeShort, codeIntSmall, codeInt, codeLongSmall, codeLong, codeTimestamp:
		return it.signed(), true
	}
	whole, ok := it.whole()
	return int64(whole), ok && whole <= 1<<63-1
}

// Time decodes a timestamp in milliseconds since 1970. ok is false for other values.
func Time(raw []byte) (ms int64, ok bool) {
	data, ok := scalar(raw, codeTimestamp)
	if !ok {
		return 0, false
	}
	return encodedValue{code: codeTimestamp, data: data}.signed(), true
}
