package cosmos

import "strings"

// ParseEPK reads a bound of the effective partition key: whole bytes in hexadecimal. name is the header's.
func ParseEPK(name, value string) (string, error) {
	if len(value)%2 != 0 || !isHex(value) {
		return "", BadHeader(name, value)
	}
	return strings.ToUpper(value), nil
}
