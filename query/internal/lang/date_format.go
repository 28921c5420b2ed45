package lang

import (
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// fnDateFormat formats a moment. In the format, a run of one of the letters y M d H h m s f F, or tt, stands
// for a part of the moment. A backslash escapes the next character. All other characters are copied.
func fnDateFormat(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	t, ok := asTicks(args[0])
	if !ok || args[1].Kind() != jsondoc.String || args[1].Str() == "" {
		return Undefined
	}
	at, format := t.time(), args[1].Str()
	var text []byte
	for format != "" {
		n := 1
		for n < len(format) && format[n] == format[0] {
			n++
		}
		if part, known := appendDatePart(text, at, format[0], n); known {
			text, format = part, format[n:]
			continue
		}
		if format[0] == '\\' {
			if format = format[1:]; format == "" {
				break
			}
		}
		text, format = append(text, format[0]), format[1:]
	}
	return textValue(string(text))
}

// appendDatePart appends the part of a moment that a run of n letters stands for. known is false if it
// stands for no part. One letter gives a number without leading zeros, two or more letters give leading
// zeros. With four or more letters the year has all its digits. The fraction of a second has as many digits
// as there are letters, up to seven; with F it is omitted if all digits are zeros.
func appendDatePart(dst []byte, at time.Time, letter byte, n int) (text []byte, known bool) {
	value := 0
	switch letter {
	case 'y':
		if value = at.Year(); n < 4 {
			value %= 100
		}
	case 'M':
		value = int(at.Month())
	case 'd':
		value = at.Day()
	case 'H':
		value = at.Hour()
	case 'h':
		value = (at.Hour()+11)%12 + 1
	case 'm':
		value = at.Minute()
	case 's':
		value = at.Second()
	case 'f', 'F':
		digits := at.Format(".0000000")[1 : 1+min(n, 7)]
		if letter == 'F' && strings.Trim(digits, "0") == "" {
			digits = ""
		}
		return append(dst, digits...), true
	case 't':
		return append(dst, at.Format("PM")...), n > 1
	default:
		return dst, false
	}
	if n > 1 && value < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(value), 10), true
}
