package jsonbinary

import (
	"encoding/base64"
	"fmt"
)

// isString reports whether a marker, the first byte of a value, is that of a string.
func isString(marker byte) bool {
	return marker >= systemStrings && marker < numberUint64 && (marker < userStringsEnd || marker >= base64L1)
}

// str reads the string whose marker is next. The string may be a reference to another one only if follow is
// set.
func (r *textConverter) str(follow bool) []byte {
	at := r.pos
	marker := byte(r.uint(1))
	switch {
	case r.err != nil:
		return nil
	case marker >= sizedString && marker < stringL1:
		return r.take(int(marker - sizedString))
	case marker >= stringL1 && marker <= stringL4:
		return r.take(r.length(1 << (marker - stringL1)))
	case marker >= systemStrings && marker < userStrings:
		return []byte(systemTexts[marker-systemStrings])
	case marker >= userStrings && marker < userStringsEnd:
		r.fail(at, "a string of a dictionary that has not been sent")
		return nil
	case marker >= referenceR1 && marker <= referenceR4:
		return r.reference(1+int(marker-referenceR1), at, follow)
	}
	return r.compressed(marker)
}

// reference reads the offset of a string and returns the string at that offset. That string may be a
// reference, too, only if follow is set.
func (r *textConverter) reference(size, at int, follow bool) []byte {
	target := r.length(size)
	if r.err != nil {
		return nil
	}
	if !follow || target < 1 || target >= len(r.src) || !isString(r.src[target]) {
		r.fail(at, "a reference to what is no string")
		return nil
	}
	back := r.pos
	r.pos = target
	s := r.str(false)
	if r.err == nil {
		r.pos = back
	}
	return s
}

// compressed reads a string that is stored in fewer bits than its text.
func (r *textConverter) compressed(marker byte) []byte {
	switch marker {
	case base64L1, base64L2:
		return r.base64(1+int(marker-base64L1), base64.StdEncoding)
	case base64URLL1, base64URLL2:
		return r.base64(1+int(marker-base64URLL1), base64.URLEncoding)
	case guidLower, guidUpper, guidQuoted:
		return r.guidText(marker)
	case packed4, packed5, packed6:
		n := r.length(1)
		return r.packed(n, 4+uint(marker-packed4), byte(r.uint(1)))
	case packed7L1, packed7L2:
		return r.packed(r.length(1+int(marker-packed7L1)), 7, 0)
	}
	table := tables[marker]
	n := r.length(1)
	at := r.pos
	s := r.packed(n, 4, 0)
	for i := range s {
		s[i] = table[s[i]]
	}
	if r.err == nil && n%2 == 1 && r.src[at+n/2]>>4 != 0 {
		r.fail(at, "there is more in a string than its length")
	}
	return s
}

// packed reads n characters. Each has the given number of bits, the lowest bits first, and is added to base.
func (r *textConverter) packed(n int, bits uint, base byte) []byte {
	in := r.take((n*int(bits) + 7) / 8)
	if r.err != nil {
		return nil
	}
	out := make([]byte, n)
	for i := range out {
		at := uint(i) * bits
		window := uint(in[at/8])
		if next := at/8 + 1; next < uint(len(in)) {
			window |= uint(in[next]) << 8
		}
		out[i] = byte(window>>(at%8)&(1<<bits-1)) + base
	}
	return out
}

// base64 reads a base64 text, which is stored as the bytes that it encodes. The bytes are preceded by two
// numbers: that of groups of four characters, and that of '=' characters at the end of the text. If the text
// omits the '=', all bits of the second number are inverted.
func (r *textConverter) base64(size int, alphabet *base64.Encoding) []byte {
	at := r.pos
	groups := r.length(size)
	padding := byte(r.uint(1))
	omitted := padding > 2
	if omitted {
		padding = ^padding
	}
	length := 4*groups - int(padding)
	if r.err == nil && (padding > 2 || length < 0) {
		r.fail(at, fmt.Sprintf("a base64 text of %d groups with the padding %#02x", groups, padding))
	}
	raw := r.take(max(length, 0) * 3 / 4)
	if r.err != nil {
		return nil
	}
	out := alphabet.AppendEncode(nil, raw)
	if omitted {
		out = out[:length]
	}
	return out
}

// guidText reads the 16 bytes of a GUID that is a text. The digits are in the order of the text; as in the
// other strings of digits, the lower half of each byte is the first of its two digits.
func (r *textConverter) guidText(marker byte) []byte {
	digits := r.packed(32, 4, 0)
	if r.err != nil {
		return nil
	}
	table := tables[hexLower]
	if marker == guidUpper {
		table = tables[hexUpper]
	}
	text := make([]byte, 0, len(`"00010203-0405-0607-0809-0a0b0c0d0e0f"`))
	if marker == guidQuoted {
		text = append(text, '"')
	}
	for i, digit := range digits {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			text = append(text, '-')
		}
		text = append(text, table[digit])
	}
	if marker == guidQuoted {
		text = append(text, '"')
	}
	return text
}

// blob reads bytes, which become a base64 string in JSON text.
func (r *textConverter) blob(size int) {
	b := r.take(r.length(size))
	if r.err == nil && r.room(base64.StdEncoding.EncodedLen(len(b))+2) {
		r.dst = append(base64.StdEncoding.AppendEncode(append(r.dst, '"'), b), '"')
	}
}
