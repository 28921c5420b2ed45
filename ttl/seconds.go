package ttl

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"
)

// Seconds is a time to live in whole seconds: Absent, Never, or 1 to Max.
type Seconds int32

const (
	// Absent stands for an item without a ttl, or a container whose TTL is off.
	Absent Seconds = 0
	// Never is -1 on the wire: an item that does not expire, or a container whose TTL is on without a
	// default.
	Never Seconds = -1
	// Max is the longest time to live, some 68 years.
	Max Seconds = math.MaxInt32
)

// maxToken is the maximum number of bytes of a refused token in an error, because the message is sent to
// the client.
const maxToken = 64

// An InvalidTTLError is the error for an invalid ttl of an item. Its text is Cosmos DB's, which clients
// print and compare.
type InvalidTTLError struct {
	Token string // the JSON token as sent, cut to 64 bytes
}

func (e *InvalidTTLError) Error() string { return invalidText("ttl", e.Token) }

// An InvalidDefaultError is the error for an invalid default time to live of a container.
type InvalidDefaultError struct {
	Token string // the JSON token as sent, cut to 64 bytes
}

func (e *InvalidDefaultError) Error() string { return invalidText("defaultTtl", e.Token) }

func invalidText(field, token string) string {
	return fmt.Sprintf("The input %s '%s' is invalid. Ensure to provide a nonzero positive integer less than or equal to "+
		"'%d', or '-1' which means never expire.", field, token, Max)
}

// ParseItem parses the JSON token of an item's ttl: -1 or 1 to Max, in any JSON notation of a whole
// number (60, 60.0, 6e1). An empty token is an item without the field. For anything else, including null,
// it returns an *InvalidTTLError: Cosmos DB refuses such items whether TTL is on or not.
func ParseItem(token []byte) (Seconds, error) {
	if len(token) == 0 {
		return Absent, nil
	}
	if s, ok := parseSeconds(token); ok {
		return s, nil
	}
	return Absent, &InvalidTTLError{clip(token)}
}

// ParseDefault parses the JSON token of a container's defaultTtl. It returns Absent for null and for an empty
// token, which stands for a missing field: TTL is off. It accepts -1 (no expiry by default) and 1 to Max. For
// anything else it returns an *InvalidDefaultError.
func ParseDefault(token []byte) (Seconds, error) {
	if len(token) == 0 || string(token) == "null" {
		return Absent, nil
	}
	if s, ok := parseSeconds(token); ok {
		return s, nil
	}
	return Absent, &InvalidDefaultError{clip(token)}
}

func parseSeconds(token []byte) (Seconds, bool) {
	v, ok := parseWhole(token)
	if !ok || v == 0 || v < int64(Never) || v > int64(Max) {
		return Absent, false
	}
	return Seconds(v), true
}

// clip cuts a token to maxToken bytes for a message, without cutting a character in two.
func clip(token []byte) string {
	if len(token) <= maxToken {
		return string(token)
	}
	end := maxToken
	for end > maxToken-utf8.UTFMax && !utf8.RuneStart(token[end]) {
		end--
	}
	return string(token[:end]) + "..."
}

// parseWhole parses a JSON number with a whole value of at most 18 digits. It works on the decimal digits,
// because a float64 would round 2147483647.0000000001 to a whole number. ok is false for any other token.
func parseWhole(token []byte) (v int64, ok bool) {
	s, negative := bytes.CutPrefix(token, []byte{'-'})
	whole, s := cutDigits(s)
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return 0, false
	}
	var fraction []byte
	if tail, dot := bytes.CutPrefix(s, []byte{'.'}); dot {
		if fraction, s = cutDigits(tail); len(fraction) == 0 {
			return 0, false
		}
	}
	exponent, ok := parseExponent(s)
	if !ok {
		return 0, false
	}
	digits := append(append(make([]byte, 0, len(whole)+len(fraction)), whole...), fraction...)
	exponent -= len(fraction)
	significant := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	significant = bytes.TrimLeft(significant, "0")
	if len(significant) == 0 {
		return 0, true
	}
	if exponent < 0 || len(significant)+exponent > 18 {
		return 0, false
	}
	for _, d := range significant {
		v = v*10 + int64(d-'0')
	}
	for range exponent {
		v *= 10
	}
	if negative {
		v = -v
	}
	return v, true
}

// parseExponent parses the part after the digits of a number: nothing, or e or E, an optional sign, and
// digits. An extremely large exponent is limited to 1<<30, which is still far out of range but can be added
// to a length without overflow.
func parseExponent(s []byte) (exponent int, ok bool) {
	if len(s) == 0 {
		return 0, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s, negative := bytes.CutPrefix(s[1:], []byte{'-'})
	if !negative {
		s, _ = bytes.CutPrefix(s, []byte{'+'})
	}
	digits, tail := cutDigits(s)
	if len(digits) == 0 || len(tail) > 0 {
		return 0, false
	}
	for _, d := range digits {
		exponent = min(exponent*10+int(d-'0'), 1<<30)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

func cutDigits(s []byte) (digits, tail []byte) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}
