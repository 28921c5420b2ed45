package ttl

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A DurationSyntaxError is the error for a text that is not a duration.
type DurationSyntaxError struct{ Text string }

func (e *DurationSyntaxError) Error() string {
	return fmt.Sprintf("%q is not a duration such as 90s, 1h30m, 29d, PT1H or a number of seconds", e.Text)
}

// day is the length of a day, for which durations have the unit "d".
const day = 24 * time.Hour

var (
	secondsPattern = regexp.MustCompile(`^[+-]?\d+(\.\d+)?$`)
	unitsPattern   = regexp.MustCompile(`^[+-]?[0-9.]+[a-zµμ]+( [0-9.]+[a-zµμ]+)+$`)
	// isoPattern matches a duration of XML Schema without years and months, which have no fixed length.
	isoPattern = regexp.MustCompile(
		`^(-)?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d*)?)S)?)?$`)
)

// ParseDuration parses a duration in one of these forms: a number of seconds ("30"); the syntax of
// time.ParseDuration ("1h30m"), also with whole days of 24 hours first ("1d12h") and with spaces between
// the units, as FormatDuration returns it ("1h 30m"); ISO 8601 ("PT1H30M", "P14D"). Every error is a
// *DurationSyntaxError, also for a duration that does not fit into a time.Duration.
func ParseDuration(text string) (time.Duration, error) {
	plain := strings.TrimSpace(text)
	if d, ok := ParseISODuration(plain); ok {
		if d == math.MaxInt64 || d == math.MinInt64 {
			return 0, &DurationSyntaxError{text}
		}
		return d, nil
	}
	switch {
	case secondsPattern.MatchString(plain):
		plain += "s"
	case unitsPattern.MatchString(plain):
		plain = strings.ReplaceAll(plain, " ", "")
	}
	d, ok := parseUnits(plain)
	if !ok {
		return 0, &DurationSyntaxError{text}
	}
	return d, nil
}

// parseUnits parses numbers with units, days first. The result is false if text has another form, or if the
// duration does not fit into a time.Duration.
func parseUnits(text string) (time.Duration, bool) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	n, err := strconv.ParseInt(days, 10, 32)
	if most := int64(math.MaxInt64) / int64(day); err != nil || n < -most || n > most {
		return 0, false
	}
	d := time.Duration(n) * day
	if rest == "" {
		return d, true
	}
	more, err := time.ParseDuration(rest)
	if err != nil || rest[0] == '-' || rest[0] == '+' {
		return 0, false
	}
	if days[0] == '-' {
		more = -more
	}
	sum := d + more
	return sum, (sum < d) == (more < 0) || more == 0
}

// ParseISODuration parses a duration of ISO 8601 and XML Schema: "PT1M", "P14D", "PT0.5S". ok is false
// for a text of another form. A duration that does not fit into a time.Duration is returned as
// math.MaxInt64 or math.MinInt64.
func ParseISODuration(text string) (d time.Duration, ok bool) {
	upper := strings.ToUpper(text)
	m := isoPattern.FindStringSubmatch(upper)
	if m == nil || strings.Join(m[2:], "") == "" || strings.HasSuffix(upper, "T") {
		return 0, false
	}
	sum := new(big.Rat)
	for i, unit := range []time.Duration{7 * day, day, time.Hour, time.Minute, time.Second} {
		digits := strings.TrimSuffix(strings.Replace(m[i+2], ",", ".", 1), ".")
		if digits == "" {
			continue
		}
		n, ok := new(big.Rat).SetString(digits)
		if !ok || len(digits) > maxDigits {
			return 0, false
		}
		sum.Add(sum, n.Mul(n, new(big.Rat).SetInt64(int64(unit))))
	}
	if m[1] == "-" {
		sum.Neg(sum)
	}
	whole := new(big.Int).Quo(sum.Num(), sum.Denom())
	switch {
	case whole.IsInt64():
		return time.Duration(whole.Int64()), true
	case whole.Sign() < 0:
		return math.MinInt64, true
	}
	return math.MaxInt64, true
}

// maxDigits is the maximum number of digits of a number in a duration.
const maxDigits = 30

// FormatDuration formats a duration for people, in a form that ParseDuration accepts: "1h 59m 13s",
// "30d", "0.5s".
func FormatDuration(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign = "-"
	}
	var parts []string
	for _, u := range []struct {
		name string
		of   time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}} {
		if n := d / u.of; n != 0 {
			parts = append(parts, strconv.FormatInt(max(int64(n), -int64(n)), 10)+u.name)
			d %= u.of
		}
	}
	if d != 0 || len(parts) == 0 {
		parts = append(parts, strconv.FormatFloat(math.Abs(d.Seconds()), 'f', -1, 64)+"s")
	}
	return sign + strings.Join(parts, " ")
}
