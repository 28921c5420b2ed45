package wire

// The functions of this file decode a value of an expected type. ok is false for null, for empty input, and
// for another type.

// Text decodes a string or symbol.
func Text(raw []byte) (text string, ok bool) {
	it, _, err := split(raw, 0)
	if err != nil {
		return "", false
	}
	switch it.code {
	case codeString8, codeString32, codeSymbol8, codeSymbol32:
		return string(it.data), true
	}
	return "", false
}

// IsSymbol reports whether the value is a symbol.
func IsSymbol(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == codeSymbol8 || raw[0] == codeSymbol32)
}

// Bytes decodes a binary. The result aliases raw.
func Bytes(raw []byte) (b []byte, ok bool) {
	it, _, err := split(raw, 0)
	if err != nil || it.code != codeBinary8 && it.code != codeBinary32 {
		return nil, false
	}
	return it.data, true
}

// Integer decodes an integer of any width, or a timestamp.
func Integer(raw []byte) (n int64, ok bool) {
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

// Time decodes a timestamp in milliseconds since 1970.
func Time(raw []byte) (ms int64, ok bool) {
	it, _, err := split(raw, 0)
	if err != nil || it.code != codeTimestamp {
		return 0, false
	}
	return it.signed(), true
}
