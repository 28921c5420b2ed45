package database

import "github.com/mayflydb/mayfly/ttl"

// randomSource is a source of random numbers that depend only on a seed, the current time, and how many
// numbers were drawn at that time. So if two runs of a simulation draw different numbers at one time, they
// still draw the same ones at all later times.
type randomSource struct {
	clock ttl.Clock
	seed  uint64
	at    int64  // the time of the last number, in nanoseconds since 1970
	drawn uint64 // how many numbers were drawn at that time
}

// Uint64 returns the next random number.
func (d *randomSource) Uint64() uint64 {
	if now := d.clock.Now().UnixNano(); now != d.at {
		d.at, d.drawn = now, 0
	}
	d.drawn++
	return mix(mix(d.seed+uint64(d.at)) + d.drawn)
}

// mix is the output function of SplitMix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
