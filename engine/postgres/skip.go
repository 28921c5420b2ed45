package postgres

import (
	"bytes"
	"fmt"
)

// skipKeys is the maximum number of keys that one statement counts, in a few hundredths of a second.
const skipKeys = 1 << 18

// Skip moves past up to most keys and returns their number: see engine.KeySkipper. The database counts the
// keys, unless the order of the stored keys differs or the transaction has written some.
func (i *iterator) Skip(most int) (n int) {
	if i.written || i.reverse || len(i.r.Start) > longKeyPrefix || len(i.r.End) > longKeyPrefix {
		for n < most && i.Next() {
			n++
		}
		return n
	}
	i.positioned = true
	for n < most && i.at < len(i.page) && i.Next() {
		n++
	}
	for n < most && !i.closed && !i.ended && i.err == nil {
		n += i.skip(min(skipKeys, most-n))
	}
	i.valid = false
	return n
}

// skip moves the iterator past up to most keys that follow the current page of rows, without fetching them,
// and returns their number.
func (i *iterator) skip(most int) int {
	condition, args := i.rest()
	rows := fmt.Sprintf("SELECT k FROM mayfly_kv WHERE %s ORDER BY k LIMIT $%d", condition, len(args)+1)
	var n int
	err := i.s.one(&n, "SELECT count(*) FROM ("+rows+") AS found", append(args, most)...)
	i.page, i.at = nil, 0
	if i.ended = n < most; err == nil && n == most {
		var last []byte
		err = i.s.one(&last, rows+fmt.Sprintf(" OFFSET $%d", len(args)+2), append(args, 1, most-1)...)
		i.last = bytes.Clone(last)
	}
	if err != nil {
		i.err, i.ended = err, true
		return 0
	}
	return n
}
