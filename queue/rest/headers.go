package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// Application properties are sent as HTTP headers. For received headers case is ignored. The names of sent
// headers are in the spelling of the message's sender.

// ownHeaders returns the headers that are not application properties, in lower case: those of HTTP, of
// proxies and of Service Bus. A star at the end matches any suffix.
func ownHeaders() []string {
	return []string{"accept*", "authorization", "brokerproperties", "cache-control", "connection",
		"content-*", "cookie",
		"date", "expect", "forwarded", "from", "host", "if-*", "keep-alive", "origin", "pragma", "proxy-*", "range",
		"referer", "sec-*", "servicebusauthorization", "servicebusdlqsupplementaryauthorization",
		"servicebussupplementaryauthorization", "te", "traceparent", "tracestate", "trailer", "transfer-encoding",
		"upgrade", "user-agent", "via", "warning", "x-forwarded-*", "x-ms-*"}
}

func isOwnHeader(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(ownHeaders(), func(own string) bool {
		head, whole := strings.CutSuffix(own, "*")
		return own == name || whole && strings.HasPrefix(name, head)
	})
}

// setHeaders sets an application property for each header that is not listed in ownHeaders.
func setHeaders(m *message.Message, h http.Header) error {
	for name, values := range h {
		if isOwnHeader(name) {
			continue
		}
		value, err := headerValue(strings.Join(values, ", "))
		if err != nil {
			return badRequest("The header " + name + " has a value that cannot be read.")
		}
		m.Set(name, value)
	}
	return nil
}

// headerValue parses a header value. Its form determines its type: a quoted date or string, true, false, or
// a number. Any other value is a string.
func headerValue(text string) ([]byte, error) {
	if quoted, ok := unquote(text); ok {
		if t, err := http.ParseTime(quoted); err == nil {
			return wire.AppendTimestamp(nil, t.UnixMilli()), nil
		}
		return wire.AppendString(nil, quoted), nil
	}
	switch {
	case strings.EqualFold(text, "true"):
		return wire.AppendBool(nil, true), nil
	case strings.EqualFold(text, "false"):
		return wire.AppendBool(nil, false), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return wire.AppendInt64(nil, n), nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "+-.0123456789eE") == "" {
		return wire.Append(nil, f)
	}
	return wire.AppendString(nil, text), nil
}

// unquote removes the quotes around a text, and the backslashes before quotes in it. It returns false if the
// text is not in quotes.
func unquote(text string) (string, bool) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return "", false
	}
	return strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`), true
}

// writeProperties writes application properties as headers. It omits values that a header cannot contain:
// binaries, and names and texts with characters that HTTP does not allow.
func writeProperties(h http.Header, m *message.Message) {
	for _, p := range m.Application {
		if !isHeaderName(p.Name) || isOwnHeader(p.Name) {
			continue
		}
		v, _, err := wire.Value(p.Value)
		if err != nil {
			continue
		}
		if text, ok := headerText(v, p.Value); ok {
			h[p.Name] = []string{text}
		}
	}
	if t := m.Text(message.ContentType); t != "" && isHeaderText(t) {
		h.Set("Content-Type", t)
	}
}

// headerText returns the text of an HTTP header for an application property: v is its decoded value, raw its
// AMQP encoding. ok is false if the value has no form for a header.
func headerText(v any, raw []byte) (text string, ok bool) {
	quote := func(s string) (string, bool) {
		return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`, isHeaderText(s)
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case string:
		return quote(v)
	case wire.Symbol:
		return quote(string(v))
	case wire.UUID:
		return quote(v.String())
	case wire.Timestamp:
		return quote(date(time.UnixMilli(int64(v))))
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case wire.Described: // a .NET duration in ticks
		ticks, isTicks := v.Value.(int64)
		if v.Descriptor == wire.Symbol("com.microsoft:timespan") && isTicks {
			return strconv.FormatFloat((time.Duration(ticks) * tick).Seconds(), 'f', -1, 64), true
		}
		s, isText := v.Value.(string)
		if isText {
			return quote(s)
		}
	}
	if n, ok := wire.Integer(raw); ok {
		return strconv.FormatInt(n, 10), true
	}
	return "", false
}

// isHeaderText reports whether a text can be the value of a header.
func isHeaderText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7F {
			return false
		}
	}
	return true
}

// isHeaderName reports whether a name is a valid header name: RFC 9110, 5.6.2.
func isHeaderName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
