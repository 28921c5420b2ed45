package jsondoc

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/twmb/murmur3"
)

// MurmurHash128 is a hash of 128 bits (MurmurHash3 x64-128), as two halves of 64 bits.
type MurmurHash128 struct{ Low, High uint64 }

// AppendTo appends the 16 bytes of the hash in the order in which Cosmos DB compares hashes: each half is
// little-endian.
func (h MurmurHash128) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, h.Low), h.High)
}

// The seeds that HashOf uses for each kind, for the index of an array element and for the name of a member.
// They are those of DistinctHash in the public source of the SDK for .NET.
var (
	rootSeed   = MurmurHash128{0xbfc2359eafc0e2b7, 0x8846e00284c4cf1f}
	nullSeed   = MurmurHash128{0x1380f68bb3b0cfe4, 0x156c918bf564ee48}
	falseSeed  = MurmurHash128{0xc1be517fe893b40c, 0xe9fc8a4c531cd0dd}
	trueSeed   = MurmurHash128{0xf86d4abf9a412e74, 0x788488365c8a985d}
	numberSeed = MurmurHash128{0x2400e8b894ce9c2a, 0x790be1eabd7b9481}
	stringSeed = MurmurHash128{0x61f53f0a44204cfb, 0x09481be8ef4b56dd}
	arraySeed  = MurmurHash128{0xfa573b014c4dc18e, 0xa014512c858eb115}
	objectSeed = MurmurHash128{0x77b285ac511aef30, 0x3dcf187245822449}
	placeSeed  = MurmurHash128{0xfe057204216db999, 0x5b1cc3178bd9c593}
	memberSeed = MurmurHash128{0xc915dde058492a8a, 0x7c8be2eba72e4634}
)

// HashOf returns the hash by which Cosmos DB and its SDK for .NET order arrays, and order objects. Equal
// values have equal hashes. The hash of undefined has no meaning.
func HashOf(v Value) MurmurHash128 { return hashFrom(v, rootSeed) }

func hashFrom(v Value, seed MurmurHash128) MurmurHash128 {
	switch v.kind {
	case Null:
		return nullSeed.within(seed)
	case Bool:
		if v.Bool() {
			return trueSeed.within(seed)
		}
		return falseSeed.within(seed)
	case Number:
		return Murmur128(wideNumber(v), numberSeed.within(seed))
	case String:
		return Murmur128([]byte(v.str()), stringSeed.within(seed))
	case Array:
		h := arraySeed.within(seed)
		place := placeSeed
		for it := v.walk(); it.next(); place = place.next() {
			h = hashFrom(it.elem, place).within(h)
		}
		return h
	case Object:
		var all MurmurHash128
		name := stringSeed.within(memberSeed)
		for it := v.walk(); it.next(); {
			m := hashFrom(it.elem, Murmur128([]byte(unescaped(it.key)), name))
			all = MurmurHash128{all.Low ^ m.Low, all.High ^ m.High}
		}
		h := objectSeed.within(seed)
		if all != (MurmurHash128{}) {
			h = all.within(h)
		}
		return h
	}
	return seed
}

// within returns the hash of the 16 bytes of h, computed with the given seed.
func (h MurmurHash128) within(seed MurmurHash128) MurmurHash128 {
	var b [16]byte
	return Murmur128(h.AppendTo(b[:0]), seed)
}

// next returns h + 1.
func (h MurmurHash128) next() MurmurHash128 {
	low, carry := bits.Add64(h.Low, 1, 0)
	return MurmurHash128{low, h.High + carry}
}

// wideNumber returns the bytes of a number that are hashed: the 8 bytes of a float. If the number is an
// integer that needs more than the 53 bits of a float, 2 bytes follow, with the next 10 bits at the top.
func wideNumber(v Value) []byte {
	f, extra := v.Num()+0, uint16(0) // -0 + 0 is 0
	if n, err := strconv.ParseInt(v.text, 10, 64); err == nil && n != math.MinInt64 {
		size := uint64(max(n, -n))
		if top := bits.Len64(size) - 1; top-bits.TrailingZeros64(size) > 52 {
			wide := size << (62 - top) & (1<<62 - 1)
			float := uint64(top+1023)<<52 | wide>>10 | uint64(n)&signBit
			f, extra = math.Float64frombits(float), uint16(wide<<6)
		}
	}
	b := make([]byte, 10)
	binary.LittleEndian.PutUint64(b, math.Float64bits(f))
	binary.LittleEndian.PutUint16(b[8:], extra)
	return b
}

// Murmur128 computes MurmurHash3 x64-128 with a seed of 128 bits. With a seed of zero it is the published
// function.
func Murmur128(data []byte, seed MurmurHash128) MurmurHash128 {
	low, high := murmur3.SeedSum128(seed.Low, seed.High, data)
	return MurmurHash128{low, high}
}
