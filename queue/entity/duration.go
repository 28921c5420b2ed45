package entity

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// foreverDays is from how many days on a duration stands for no limit. The longest one that the service knows
// is 10675199 days and some hours, and clients round it in ways of their own.
const foreverDays = 10_675_199

// foreverText is how the wire writes Forever.
const foreverText = "P10675199DT2H48M5.4775807S"

// durationForm is a duration of XML Schema without years and months, which have no fixed length.
const durationForm = `^(-)?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d*)?)S)?)?$`

var durationPattern = regexp.MustCompile(durationForm)

// ParseDuration reads a duration as XML Schema writes it: "PT1M", "P14D", "PT0.5S". What is as long as the
// longest one of the service, or longer than this machine can tell, is Forever.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	m := durationPattern.FindStringSubmatch(strings.ToUpper(text))
	if m == nil || strings.Join(m[2:], "") == "" || strings.HasSuffix(strings.ToUpper(text), "T") {
		return 0, &Error{Code: CodeArgument, Message: "'" + text +
			"' is no duration, such as PT1M or P14D."}
	}
	sum := new(big.Rat)
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute,
		time.Second} {
		digits := strings.TrimSuffix(strings.Replace(m[i+2], ",", ".", 1), ".")
		if digits == "" {
			continue
		}
		n, ok := new(big.Rat).SetString(digits)
		if !ok || len(digits) > 30 {
			return 0, &Error{Code: CodeArgument, Message: "'" + text + "' is too long a duration."}
		}
		sum.Add(sum, n.Mul(n, new(big.Rat).SetInt64(int64(unit))))
	}
	whole := new(big.Int).Quo(sum.Num(), sum.Denom())
	longest := new(big.Int).Mul(big.NewInt(foreverDays), big.NewInt(int64(24*time.Hour)))
	switch {
	case m[1] == "-" && whole.IsInt64():
		return -time.Duration(whole.Int64()), nil
	case m[1] == "-":
		return math.MinInt64, nil
	case !whole.IsInt64() || whole.Cmp(longest) >= 0:
		return Forever, nil
	}
	return time.Duration(whole.Int64()), nil
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
