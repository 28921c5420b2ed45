package cursor

import (
	"testing"
)

// TestCursorAfterRelease checks that a Cursor does not advance past a message that became available again
// during the receive, and that it goes back to the lowest one if there are too many of them to be listed.
func TestCursorAfterRelease(t *testing.T) {
	var p ReceivePosition
	p.Advance(10, p.generation)
	before := p.generation
	p.Release(15) // comes while somebody looks, and is not among what he sees
	p.Advance(20, before)
	if p.next != 11 {
		t.Fatal("the receiver has passed by", p.next)
	}
	p.Advance(20, p.generation)
	p.Release(15)
	p.Release(12)
	if p.next != 21 || len(p.returned) != 2 || p.returned[0] != 12 {
		t.Fatal(p.next, p.returned)
	}
	for seq := range int64(maxReturned) {
		p.Release(20 - seq%5)
	}
	if p.next != 12 || len(p.returned) >= maxReturned || cap(p.returned) > 2*maxReturned {
		t.Fatal("too many are remembered", p.next, len(p.returned))
	}
}
