package entity

import (
	"fmt"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// foreverText is the wire format of Forever. Clients round it in different ways.
const foreverText = "P10675199DT2H48M5.4775807S"

// ParseDuration parses an XML Schema duration: "PT1M", "P14D", "PT0.5S". A duration that exceeds
// time.Duration, such as Service Bus's maximal value, becomes Forever.
func ParseDuration(text string) (time.Duration, error) {
	d, ok := ttl.ParseISODuration(strings.TrimSpace(text))
	if !ok {
		return 0, &Error{Code: CodeArgument, Message: "'" + text +
			"' is no duration, such as PT1M or P14D."}
	}
	return d, nil
}

// ParseAnyDuration parses an XML Schema duration, or any form that ttl.ParseDuration accepts. Only an XML
// Schema duration can be Forever.
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

// FormatDuration returns a duration as an XML Schema duration, which ParseDuration accepts.
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
