package cosmos

import (
	"bytes"
	"testing"
)

// TestBuffersGrow checks that a buffer keeps its contents while it grows, and is at most about twice as
// large as its contents.
func TestBuffersGrow(t *testing.T) {
	buf := borrow()
	var want []byte
	for i := 0; len(want) < 2*largestBytes; i++ {
		part := bytes.Repeat([]byte{byte('a' + i%26)}, 40_000)
		buf.grow(len(part))
		buf.b, want = append(buf.b, part...), append(want, part...)
		if len(want) > smallBuffer && len(want) < largestBytes && cap(buf.b) > 2*len(want)+2*bufferRoom {
			t.Errorf("%d bytes in a buffer of %d", len(want), cap(buf.b))
		}
	}
	if !bytes.Equal(buf.b, want) {
		t.Error("the contents differ")
	}
	for n := smallBuffer + 1; n <= largestBytes; n += 10_000 {
		if class, capacity := largeClass(n); capacity < n || class >= bufferSizes {
			t.Errorf("%d bytes: class %d of %d bytes", n, class, capacity)
		}
	}
	if class, capacity := largeClass(largestBytes); capacity != largestBytes || class != bufferSizes-1 {
		t.Errorf("the largest buffer: class %d of %d bytes", class, capacity)
	}
}
