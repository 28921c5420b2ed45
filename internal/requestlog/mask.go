package requestlog

import (
	"encoding/binary"
	"slices"
	"strings"
)

// masked takes the place of a secret in the log.
const masked = "***"

// isSecretHeader reports whether the value of a header is or contains a secret.
func isSecretHeader(name string) bool {
	if name == "" {
		return false
	}
	switch name[0] | 0x20 { // a cheap test that excludes most names
	case 'a':
		return strings.EqualFold(name, "Authorization")
	case 'p':
		return strings.EqualFold(name, "Proxy-Authorization")
	case 'c':
		return strings.EqualFold(name, "Cookie")
	case 's':
		return strings.EqualFold(name, "Set-Cookie") || strings.EqualFold(name, "ServiceBusAuthorization") ||
			strings.EqualFold(name, "ServiceBusSupplementaryAuthorization")
	}
	return false
}

// appendMasked encodes the value of a header that contains a secret, and masks the secret. In a signature
// (type=master&ver=1.0&sig=..., with or without percent escapes, or SharedAccessSignature ...&sig=...) it
// masks only the value of sig. In a value that begins with an authentication scheme, such as Bearer, it
// masks all but the scheme. It masks any other value completely.
func appendMasked(b []byte, value string) []byte {
	before, after := "", ""
	if at, end := findSignature(value); at > 0 {
		before, after = value[:at], value[end:]
		if more, _ := findSignature(after); more > 0 {
			before, after = "", ""
		}
	} else if at := strings.IndexByte(value, ' '); at > 0 && at <= maxScheme {
		before = value[:at+1]
	}
	before, after = before[:min(len(before), maxText)], after[:min(len(after), maxText)]
	b = binary.AppendUvarint(b, uint64(len(before)+len(masked)+len(after)))
	return append(append(append(b, before...), masked...), after...)
}

// findSignature finds the value of the parameter sig, with or without percent escapes. at is 0 if there is
// none.
func findSignature(value string) (at, end int) {
	for i := 0; i+3 < len(value); i++ {
		if value[i] != 's' && value[i] != 'S' || !strings.EqualFold(value[i:i+3], "sig") {
			continue
		}
		switch at = i + 3; {
		case value[at] == '=':
			at++
		case at+3 <= len(value) && strings.EqualFold(value[at:at+3], "%3d"):
			at += 3
		default:
			at = 0
			continue
		}
		for end = at; end < len(value) && value[end] != '&' && !strings.HasPrefix(value[end:], "%26"); end++ {
		}
		return at, end
	}
	return 0, 0
}

// maxScheme is the length of the longest authentication scheme: SharedAccessSignature.
const maxScheme = 21

// MaskURI returns a path and its query string, with the values of parameters that contain secrets masked.
func MaskURI(uri string) string {
	at := strings.IndexByte(uri, '?')
	if at < 0 {
		return uri
	}
	return uri[:at+1] + maskQuery(uri[at+1:])
}

// maskQuery masks the values of parameters that contain secrets.
func maskQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		switch strings.ToLower(name) {
		case "sig", "authorization", "token", "access_token", "key", "code", "password", "secret":
			parts[i] = name + "=" + masked
		}
	}
	return strings.Join(parts, "&")
}

// cutMargin is how many bytes more than MaxBody of a body are searched for secrets, since masking makes the
// body shorter.
const cutMargin = 4 << 10

// maskBody returns a body for the log, with its secrets masked. It may omit bytes beyond MaxBody, which the
// log does not keep. It returns nil for binary JSON, in which it cannot find secrets.
func maskBody(body []byte) []byte {
	if len(body) > 0 && body[0] >= 0x80 { // binary JSON, which is not searched
		return nil
	}
	if len(body) > MaxBody+cutMargin {
		// Only MaxBody bytes are kept. The end that is added here closes a secret that the truncation has
		// cut in two.
		body = append(slices.Clip(body[:MaxBody+cutMargin]), `"</`...)
	}
	body = maskAfter(body, '"', secretString)
	body = maskAfter(body, '<', secretContent)
	return maskAfter(maskAfter(body, '=', secretAfterEquals), '%', secretAfterEscape)
}
