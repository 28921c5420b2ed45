package entity

import (
	"fmt"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// foreverText is how the wire writes Forever. Clients round it in ways of their own.
const foreverText = "P10675199DT2H48M5.4775807S"

// ParseDuration reads a duration as XML Schema writes it: "PT1M", "P14D", "PT0.5S". What is longer than this
// machine can tell, as the longest one of the service is, is Forever.
func ParseDuration(text string) (time.Duration, error) {
	d, ok := ttl.ParseISODuration(strings.TrimSpace(text))
	if !ok {
		return 0, &Error{Code: CodeArgument, Message: "'" + text +
			"' is no duration, such as PT1M or P14D."}
	}
	return d, nil
}

// ParseAnyDuration reads a duration in any form that people write, as ttl.ParseDuration does; what ISO 8601
// writes may be Forever.
func ParseAnyDuration(text string) (time.Duration, error) {
	if d, err := ParseDuration(text); err == nil {
		return d, nil
	}
	d, err := ttl.ParseDuration(text)
	if err != nil {
		return 0, &Error{Code: CodeArgument, Message: "'" + text +
			"' is no duration, such as 90s, 2h, 30d or PT1M."}
	}
	return d, nil
}

// FormatDuration writes a duration as ParseDuration reads it.
func FormatDuration(d time.Duration) string {
	if d >= Forever {
		return foreverText
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	b.WriteByte('P')
	if days := d / (24 * time.Hour); days > 0 {
		fmt.Fprintf(&b, "%dD", days)
	}
	if d %= 24 * time.Hour; d == 0 {
		if b.Len() <= 2 && !strings.HasSuffix(b.String(), "D") {
			b.WriteString("T0S")
		}
		return b.String()
	}
	b.WriteByte('T')
	if hours := d / time.Hour; hours > 0 {
		fmt.Fprintf(&b, "%dH", hours)
	}
	if minutes := d % time.Hour / time.Minute; minutes > 0 {
		fmt.Fprintf(&b, "%dM", minutes)
	}
	if rest := d % time.Minute; rest > 0 {
		text := strings.TrimRight(fmt.Sprintf("%d.%09d", rest/time.Second, rest%time.Second), "0")
		b.WriteString(strings.TrimSuffix(text, ".") + "S")
	}
	return b.String()
}
