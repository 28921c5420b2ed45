package lang

import (
	"math"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func dateBuiltins() []Builtin {
	now := (*CallContext).moment
	static := func(c *CallContext) time.Time { return c.Static }
	return []Builtin{
		{Name: "DATETIMEADD", Min: 2, Max: 3, Fn: fnDateAdd},
		{Name: "DATETIMEBIN", Min: 2, Max: 4, Fn: fnDateBin},
		{Name: "DATETIMEDIFF", Min: 3, Max: 3, Fn: fnDateDiff},
		{Name: "DATETIMEFORMAT", Min: 2, Max: 2, Fn: fnDateFormat},
		{Name: "DATETIMEFROMPARTS", Min: 3, Max: 7, Fn: fnDateFromParts},
		{Name: "DATETIMEPART", Min: 2, Max: 2, Fn: fnDatePart},
		{Name: "YEAR", Min: 1, Max: 1, Fn: partOf(partYear)},
		{Name: "MONTH", Min: 1, Max: 1, Fn: partOf(partMonth)},
		{Name: "DAY", Min: 1, Max: 1, Fn: partOf(partDay)},
		{Name: "DATETIMETOTICKS", Min: 1, Max: 1, Fn: fromDate(1)},
		{Name: "DATETIMETOTIMESTAMP", Min: 1, Max: 1, Fn: fromDate(millisecond)},
		{Name: "TICKSTODATETIME", Min: 1, Max: 2, Fn: toDate(1)},
		{Name: "TIMESTAMPTODATETIME", Min: 1, Max: 2, Fn: toDate(millisecond)},
		current("GETCURRENTDATETIME", now, timestampInTicks.value),
		current("GETCURRENTTICKS", now, ticksIn(1)),
		current("GETCURRENTTIMESTAMP", now, ticksIn(millisecond)),
		current("GETCURRENTDATETIMESTATIC", static, timestampInTicks.value),
		current("GETCURRENTTICKSSTATIC", static, ticksIn(1)),
		current("GETCURRENTTIMESTAMPSTATIC", static, ticksIn(millisecond)),
		{Name: "NOW", Max: 2, Volatile: true, Fn: fnNow},
		{Name: "AGO", Min: 1, Max: 2, Volatile: true, Fn: fnAgo},
	}
}

// current returns the built-in function called name, whose result is the time that clock returns, in the
// form that show gives it. All these functions are volatile, also those that return one time during a
// whole run (STATIC), because a plan may be run several times.
func current(name string, clock func(*CallContext) time.Time,
	show func(timestampInTicks) jsondoc.Value) Builtin {
	return Builtin{Name: name, Volatile: true,
		Fn: func(c *CallContext, _ []jsondoc.Value) jsondoc.Value { return show(ticksOf(clock(c))) }}
}

func fnDateAdd(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	t, ok := asTicks(args[len(args)-1])
	part, n, whole := asSpan(args[:len(args)-1])
	if !ok || !whole {
		return Undefined
	}
	return addParts(t, part, n)
}

// asSpan returns the unit of time and the count of a time span. It is given as two arguments or as one
// string such as "5mi", five minutes.
func asSpan(args []jsondoc.Value) (part datePart, n int64, ok bool) {
	if len(args) == 1 {
		name, n, ok := SplitSpan(args[0].Str())
		return asPart(jsondoc.StringValue(name)), n, ok
	}
	n, ok = AsInteger(args[1])
	return asPart(args[0]), n, ok
}

// fnNow returns the current time or, with arguments, the current time plus the time span that they give,
// such as "5mi".
func fnNow(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if len(args) == 0 {
		return ticksOf(c.moment()).value()
	}
	part, n, ok := asSpan(args)
	if !ok {
		return Undefined
	}
	return addParts(ticksOf(c.moment()), part, n)
}

// fnAgo returns the current time minus the time span that its arguments give, such as "5mi".
func fnAgo(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	part, n, whole := asSpan(args)
	if !whole || n == math.MinInt64 {
		return Undefined
	}
	return addParts(ticksOf(c.moment()), part, -n)
}

// addParts adds n date parts to a moment. If the resulting month does not have the day, the result is the
// month's last day.
func addParts(t timestampInTicks, part datePart, n int64) jsondoc.Value {
	const months = 12 * 10_000
	switch {
	case part == noPart || part == partWeekday:
		return Undefined
	case part <= partMonth:
		if n < -months || n > months {
			return Undefined
		}
		if part == partYear {
			n *= 12
		}
		return addMonths(t, int(n)).value()
	case part == partNanosecond:
		rounded := n / 100
		if rest := n % 100; rest >= 50 {
			rounded++
		} else if rest <= -50 {
			rounded--
		}
		return (t + timestampInTicks(rounded)).value()
	}
	unit := timestampInTicks(part.unit() / 100)
	if limit := int64((endTicks - minTicks) / unit); n < -limit || n > limit {
		return Undefined
	}
	return (t + timestampInTicks(n)*unit).value()
}

// addMonths adds n months. The result may be out of the range of moments, but never overflows.
func addMonths(t timestampInTicks, n int) timestampInTicks {
	at := t.time()
	first := time.Date(at.Year(), at.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	if first.Year() < 1 || first.Year() > 9999 {
		return endTicks
	}
	clamped := min(at.Day(), daysIn(first.Year(), int(first.Month())))
	return ticksOf(first) + timestampInTicks(clamped-1)*day + (t - floorDiv(t, day)*day)
}

// fnDateBin implements DateTimeBin(time, part, size, origin). It rounds a point in time down to the beginning
// of its bin. Bins begin at origin and are size date parts long, for example 5 hours.
func fnDateBin(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	t, ok := asTicks(args[0])
	part, width, origin := asPart(args[1]), timestampInTicks(0), timestampInTicks(0)
	if part >= partDay && part <= partNanosecond {
		width = binWidth(part, jsondoc.NumberValue(1))
		if len(args) > 2 {
			width = binWidth(part, args[2])
		}
	}
	if len(args) > 3 {
		var valid bool
		origin, valid = asTicks(args[3])
		ok = ok && valid
	}
	if !ok || width == 0 {
		return Undefined
	}
	rest := (t - origin) % width
	if rest < 0 {
		rest += max(width, -width)
	}
	return (t - rest).value()
}

// binWidth returns the width of a bin of DateTimeBin, such as 5 hours: size date parts, in ticks of 100 ns,
// rounded down. A whole size overflows as in Cosmos DB. The result is 0 if size is not a number above 0, or
// if it has a fraction and there are too many ticks.
func binWidth(part datePart, size jsondoc.Value) timestampInTicks {
	f := size.Num()
	if size.Kind() != jsondoc.Number || !(f > 0) {
		return 0
	}
	n, whole := AsInteger(size)
	switch {
	case whole && part == partNanosecond:
		return timestampInTicks(n / 100)
	case whole:
		return timestampInTicks(part.unit() / 100 * n)
	}
	f *= float64(part.unit()) / 100
	if f >= 1<<63 {
		return 0
	}
	return timestampInTicks(f)
}

// fnDateDiff counts how many boundaries of a date part lie between two moments.
func fnDateDiff(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	part := asPart(args[0])
	from, ok := asTicks(args[1])
	to, ok2 := asTicks(args[2])
	if part == noPart || part == partWeekday || !ok || !ok2 {
		return Undefined
	}
	a, b := from.time(), to.time()
	years, months := b.Year()-a.Year(), int(b.Month())-int(a.Month())
	switch part {
	case partYear:
		return jsondoc.NumberValue(float64(years))
	case partMonth:
		return jsondoc.NumberValue(float64(12*years + months))
	case partNanosecond:
		return IntegerValue(int64(to-from) * 100) // overflows as in Cosmos DB
	}
	unit := timestampInTicks(part.unit() / 100)
	return IntegerValue(int64(floorDiv(to, unit) - floorDiv(from, unit)))
}

// part returns a date part of a moment as a number. Parts smaller than a second are counted within the
// second.
func (t timestampInTicks) part(p datePart) jsondoc.Value {
	at := t.time()
	n := 0
	switch p {
	case noPart:
		return Undefined
	case partYear:
		n = at.Year()
	case partMonth:
		n = int(at.Month())
	case partDay:
		n = at.Day()
	case partHour:
		n = at.Hour()
	case partMinute:
		n = at.Minute()
	case partSecond:
		n = at.Second()
	case partWeekday:
		n = int(at.Weekday())
	default:
		n = at.Nanosecond() / int(p.unit())
	}
	return jsondoc.NumberValue(float64(n))
}

func fnDatePart(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	t, ok := asTicks(args[1])
	if !ok {
		return Undefined
	}
	return t.part(asPart(args[0]))
}

func partOf(p datePart) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		t, ok := asTicks(args[0])
		if !ok {
			return Undefined
		}
		return t.part(p)
	}
}

func fnDateFromParts(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	var c civilTime
	fields := [...]*int{&c.year, &c.month, &c.day, &c.hour, &c.minute, &c.second, &c.fraction}
	for i, a := range args {
		n, ok := position(a)
		if !ok {
			return Undefined
		}
		*fields[i] = n
	}
	for c.fraction >= int(second) { // removes the digits after the seventh
		c.fraction /= 10
	}
	t, ok := c.ticks()
	if !ok {
		return Undefined
	}
	return t.value()
}

// fromDate returns the implementation of a built-in function that converts a date and time to the number
// of units (such as milliseconds) since 1970.
func fromDate(unit timestampInTicks) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	show := ticksIn(unit)
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		t, ok := asTicks(args[0])
		if !ok {
			return Undefined
		}
		return show(t)
	}
}

// toDate returns the implementation of a built-in function that converts a number since 1970, counted in
// the given unit (such as milliseconds), to a date and time.
func toDate(unit timestampInTicks) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		n, ok := AsInteger(args[0])
		if !ok || n < int64(minTicks/unit) || n > int64(endTicks/unit) {
			return Undefined
		}
		date := (timestampInTicks(n) * unit).value()
		if len(args) > 1 {
			return fnDateFormat(c, []jsondoc.Value{date, args[1]})
		}
		return date
	}
}
