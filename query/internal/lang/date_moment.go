package lang

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// timestampInTicks is a moment: a number of ticks, of 100 ns each, since 1970. Cosmos DB supports the years
// 1601 to 9999.
type timestampInTicks int64

const (
	microsecond timestampInTicks = 10
	millisecond                  = 1000 * microsecond
	second                       = 1000 * millisecond
	minute                       = 60 * second
	hour                         = 60 * minute
	day                          = 24 * hour
)

const (
	minTicks   timestampInTicks = -134_774 * day                 // 1601-01-01
	endTicks   timestampInTicks = 2_932_897 * day                // 10000-01-01
	dateLayout                  = "2006-01-02T15:04:05.0000000Z" // the written form of moments
)

func ticksOf(t time.Time) timestampInTicks {
	return timestampInTicks(t.Unix())*second + timestampInTicks(t.Nanosecond()/100)
}

// time returns the moment in UTC.
func (t timestampInTicks) time() time.Time {
	return time.Unix(int64(floorDiv(t, second)), int64(t-floorDiv(t, second)*second)*100).UTC()
}

// value returns the moment as a string, or undefined if it is out of range.
func (t timestampInTicks) value() jsondoc.Value {
	if t < minTicks || t >= endTicks {
		return Undefined
	}
	return jsondoc.StringValue(t.time().Format(dateLayout))
}

// ticksIn returns a function that converts a moment to the number of units (such as milliseconds) since
// 1970, rounded towards 1970.
func ticksIn(unit timestampInTicks) func(timestampInTicks) jsondoc.Value {
	return func(t timestampInTicks) jsondoc.Value { return IntegerValue(int64(t / unit)) }
}

// floorDiv divides and rounds down; b must be positive.
func floorDiv(a, b timestampInTicks) timestampInTicks {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// asTicks parses a date, or a date with a time: YYYY-MM-DD or YYYY-MM-DD(T or blank)hh:mm:ss[.f], with up to
// seven digits for the fraction of a second. Either may be followed by Z or an offset from UTC. Without one
// the moment is in UTC. The result is false if v is not such a text.
func asTicks(v jsondoc.Value) (timestampInTicks, bool) {
	if v.Kind() != jsondoc.String {
		return 0, false
	}
	var buf [40]byte
	s, zone, ok := cutOffset(v.AppendStr(buf[:0]))
	if !ok || len(s) < 10 || !fits(s[:10], "0000-00-00") {
		return 0, false
	}
	f := civilTime{year: digits(s[:4]), month: digits(s[5:7]), day: digits(s[8:10])}
	if rest := s[10:]; len(rest) > 0 {
		if len(rest) < 9 || rest[0] != 'T' && rest[0] != ' ' || !fits(rest[1:9], "00:00:00") {
			return 0, false
		}
		f.hour, f.minute, f.second = digits(rest[1:3]), digits(rest[4:6]), digits(rest[7:9])
		if rest = rest[9:]; len(rest) > 0 {
			if len(rest) < 2 || len(rest) > 8 || !fits(rest, ".0000000"[:len(rest)]) {
				return 0, false
			}
			f.fraction = digits(rest[1:])
			for range 8 - len(rest) {
				f.fraction *= 10
			}
		}
	}
	t, ok := f.ticks()
	t -= zone
	return t, ok && minTicks <= t && t < endTicks
}

// cutOffset removes the time zone from the end of a date: Z, or a sign followed by hh, hhmm or hh:mm, which
// may have a blank before it. The offset is at most 14 hours. ok is false if there is a sign without a valid
// offset.
func cutOffset(s []byte) (rest []byte, zone timestampInTicks, ok bool) {
	if n := len(s); n > 0 && s[n-1] == 'Z' {
		return s[:n-1], 0, true
	}
	const date = len("0000-00-00")
	at := bytes.LastIndexAny(s, "+-")
	if at < date {
		return s, 0, true
	}
	offset := s[at+1:]
	if !fits(offset, "00") && !fits(offset, "0000") && !fits(offset, "00:00") {
		return s, 0, false
	}
	zone = timestampInTicks(digits(offset[:2])) * hour
	if n := len(offset); n > 2 {
		minutes := digits(offset[n-2:])
		if minutes > 59 {
			return s, 0, false
		}
		zone += timestampInTicks(minutes) * minute
	}
	if s[at] == '-' {
		zone = -zone
	}
	if rest = s[:at]; rest[at-1] == ' ' {
		rest = rest[:at-1]
	}
	return rest, zone, -14*hour <= zone && zone <= 14*hour
}

// fits reports whether s has the form of pattern: a digit where pattern has a zero, and the same byte
// everywhere else.
func fits(s []byte, pattern string) bool {
	if len(s) != len(pattern) {
		return false
	}
	for i, b := range s {
		if isDigit := '0' <= b && b <= '9'; pattern[i] == '0' && !isDigit || pattern[i] != '0' &&
			pattern[i] != b {
			return false
		}
	}
	return true
}

func digits(s []byte) (n int) {
	for _, b := range s {
		n = n*10 + int(b-'0')
	}
	return n
}

// civilTime is a moment as a date and a time of day. The fraction of the second is in ticks.
type civilTime struct{ year, month, day, hour, minute, second, fraction int }

// ticks returns the moment; ok is false if it does not exist, as on 30 February.
func (c civilTime) ticks() (timestampInTicks, bool) {
	within := func(n, low, high int) bool { return low <= n && n <= high }
	if !within(c.year, 1, 9999) || !within(c.month, 1, 12) || !within(c.day, 1, daysIn(c.year, c.month)) ||
		!within(c.hour, 0, 23) ||
		!within(c.minute, 0, 59) || !within(c.second, 0, 59) || !within(c.fraction, 0, int(second)-1) {
		return 0, false
	}
	t := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, 0, time.UTC)
	return ticksOf(t) + timestampInTicks(c.fraction), true
}

// daysIn returns how many days a month has.
func daysIn(year, month int) int {
	return time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()
}

// datePart is a unit of time.
type datePart uint8

const (
	noPart datePart = iota
	partYear
	partMonth
	partDay
	partHour
	partMinute
	partSecond
	partMillisecond
	partMicrosecond
	partNanosecond
	partWeekday // from 0 for Sunday; DateTimePart only
)

// unit returns the length of a date part in nanoseconds. The date part must be a day or shorter.
func (p datePart) unit() int64 {
	return [...]int64{partDay: 100 * int64(day), partHour: 100 * int64(hour), partMinute: 100 * int64(minute),
		partSecond:      100 * int64(second),
		partMillisecond: 100 * int64(millisecond), partMicrosecond: 1000, partNanosecond: 1}[p]
}

// asPart returns the date part that a string such as "hour" or "hh" names, in any case, or noPart if v is not
// the name of a date part.
func asPart(v jsondoc.Value) datePart {
	if v.Kind() != jsondoc.String {
		return noPart
	}
	switch strings.ToLower(v.Str()) {
	case "year", "yyyy", "yy":
		return partYear
	case "month", "mm", "m":
		return partMonth
	case "day", "dd", "d":
		return partDay
	case "hour", "hh":
		return partHour
	case "minute", "mi", "n":
		return partMinute
	case "second", "ss", "s":
		return partSecond
	case "millisecond", "ms":
		return partMillisecond
	case "microsecond", "mcs":
		return partMicrosecond
	case "nanosecond", "ns":
		return partNanosecond
	case "weekday", "dw":
		return partWeekday
	}
	return noPart
}

// spanText matches a time span: a count and the name of a date part.
var spanText = regexp.MustCompile(`^(-?[0-9]+)(.+)$`)

// SplitSpan splits a time span into its date part and its count: "5mi" gives "mi" and 5, "-1day" gives
// "day" and -1.
func SplitSpan(text string) (part string, n int64, ok bool) {
	m := spanText.FindStringSubmatch(text)
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return m[2], n, err == nil
}
