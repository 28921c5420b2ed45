package amqp

import (
	"context"
	"math"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// TestRemaining checks remaining, which computes how many more transfers a window or credit allows, near
// the points where the 32-bit transfer counts wrap around.
func TestRemaining(t *testing.T) {
	const most = math.MaxUint32
	grants := []uint32{0, 1, math.MaxInt32, math.MaxInt32 + 1, most - 1, most}
	for _, seen := range []uint32{0, 1, math.MaxInt32, math.MaxInt32 + 1, most - 1, most} {
		for _, granted := range grants {
			for _, underway := range []uint32{0, 1, 2, 5000} {
				want := uint32(max(int64(granted)-int64(underway), 0))
				if got := remaining(granted, seen, seen+underway); got != want {
					t.Errorf("%d granted at %d, %d under way: %d left, not %d", granted, seen, underway, got,
						want)
				}
			}
			if got := remaining(granted, seen+3, seen); got != granted {
				t.Errorf("%d granted beyond what was sent: %d left", granted, got)
			}
		}
	}
}

// TestFlowAtWrappedPositions checks that a flow frame sets the right window and credit near the points
// where transfer ids and delivery counts wrap around.
func TestFlowAtWrappedPositions(t *testing.T) {
	const most = math.MaxUint32
	for _, position := range []uint32{0, 1, math.MaxInt32, math.MaxInt32 + 1, most - 1, most} {
		for _, granted := range []uint32{0, 1, math.MaxInt32, math.MaxInt32 + 1, most} {
			c := &conn{}
			s := &session{c: c, links: make(map[uint32]*Link), nextOutgoing: position + 1}
			l := &Link{s: s, receiver: true, delivered: position + 1}
			l.life, l.end = context.WithCancel(t.Context())
			s.links[0] = l
			if err := s.flow(&frame.Flow{NextIncomingID: frame.Some(position), IncomingWindow: granted,
				Handle: frame.Some(0), DeliveryCount: frame.Some(position),
				LinkCredit: frame.Some(granted)}); err != nil {
				t.Fatal(err)
			}
			want := granted - min(granted, 1)
			if s.peerWindow != want || l.credit != want {
				t.Errorf("%d granted at %d with one under way: window %d, credit %d, not %d", granted,
					position,
					s.peerWindow, l.credit, want)
			}
			l.end()
		}
	}
}
