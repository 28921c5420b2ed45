package cosmos

import "strings"

// ParseEPK parses a bound of effective partition keys: whole bytes in hexadecimal. name is the header's
// name.
func ParseEPK(name, value string) (string, error) {
	if len(value)%2 != 0 || !isHex(value) {
		return "", BadHeader(name, value)
	}
	return strings.ToUpper(value), nil
}
