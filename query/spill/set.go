package spill

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

// Sum is a hash of 128 bits with evenly distributed values.
type Sum [16]byte

// A tier is a file of sorted sums. It consists of pages; each page has perPage sums and a checksum.
const (
	perPage  = 255
	pageSize = perPage*16 + 4
	maxTiers = 8
	// The filter of a tier is a Bloom filter: it has bitsPerSum bits for each sum, and each sum sets probes
	// of them. About one in a hundred sums that are not in the tier passes the filter.
	bitsPerSum = 10
	probes     = 7
)

// Set is a set of sums in files. Only one goroutine may use it, and must close it.
type Set struct {
	dir   *Dir
	tiers []*tier
	page  []byte
}

// tier is one file of a Set: n sums, sorted, with a Bloom filter in memory.
type tier struct {
	f      *file
	n      int
	filter []uint64
}

// NewSet makes an empty set.
func (d *Dir) NewSet() *Set { return &Set{dir: d, page: make([]byte, pageSize)} }

// Held returns the memory of the set in bytes.
func (s *Set) Held() (n int) {
	for _, t := range s.tiers {
		n += 8 * len(t.filter)
	}
	return n + pageSize
}

// Has reports whether a sum is in the set.
func (s *Set) Has(sum Sum) (bool, error) {
	for _, t := range s.tiers {
		if !t.mayContain(sum) {
			continue
		}
		if found, err := s.in(t, sum); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// Add adds sums. They must be distinct, and none may be in the set already. Add sorts the slice.
func (s *Set) Add(sums []Sum, spend func(int) bool) error {
	going := true
	slices.SortFunc(sums, func(a, b Sum) int {
		if going = going && spend(len(a)); !going {
			return 0
		}
		return bytes.Compare(a[:], b[:])
	})
	if !going {
		return ErrStopped
	}
	next := func() (Sum, bool, error) {
		if len(sums) == 0 {
			return Sum{}, false, nil
		}
		first := sums[0]
		sums = sums[1:]
		return first, true, nil
	}
	t, err := s.write(len(sums), next, spend)
	if err != nil {
		return err
	}
	if s.tiers = append(s.tiers, t); len(s.tiers) < maxTiers {
		return nil
	}
	return s.merge(spend)
}

// merge merges all tiers into one.
func (s *Set) merge(spend func(int) bool) error {
	total := 0
	heads := make([]*tierReader, 0, len(s.tiers))
	for _, t := range s.tiers {
		total += t.n
		heads = append(heads, &tierReader{t: t, page: make([]byte, pageSize)})
	}
	for _, h := range heads {
		if err := h.next(); err != nil {
			return err
		}
	}
	t, err := s.write(total, func() (first Sum, ok bool, err error) {
		var from *tierReader
		for _, h := range heads {
			if !h.end && (from == nil || bytes.Compare(h.sum[:], from.sum[:]) < 0) {
				from = h
			}
		}
		if from == nil {
			return first, false, nil
		}
		first = from.sum
		return first, true, from.next()
	}, spend)
	if err != nil {
		return err
	}
	s.Close()
	s.tiers = []*tier{t}
	return nil
}

// write makes a tier of n sums, which next returns in order.
func (s *Set) write(n int, next func() (Sum, bool, error), spend func(int) bool) (*tier, error) {
	f, err := s.dir.create()
	if err != nil {
		return nil, err
	}
	t := &tier{f: f, n: n, filter: make([]uint64, n*bitsPerSum/64+1)}
	page := make([]byte, 0, pageSize)
	for {
		sum, ok, err := next()
		if err == nil && ok {
			t.addToFilter(sum)
			page = append(page, sum[:]...)
		}
		if err == nil && (len(page) == pageSize-4 || !ok && len(page) > 0) {
			page = page[:pageSize-4]
			err = f.write(binary.BigEndian.AppendUint32(page, crc32.Checksum(page, castagnoli)))
			page = page[:0]
			if err == nil && !spend(pageSize) {
				err = ErrStopped
			}
		}
		if err != nil {
			f.close()
			return nil, err
		}
		if !ok {
			return t, nil
		}
	}
}

// Close removes the files. It may be called more than once.
func (s *Set) Close() {
	for _, t := range s.tiers {
		t.f.close()
	}
	s.tiers = nil
}

// filterBit returns the position of the i-th filter bit of a sum.
func (t *tier) filterBit(sum Sum, i uint64) (word int, mask uint64) {
	a, b := binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
	at, _ := bits.Mul64(b+i*(a|1), uint64(len(t.filter))*64)
	return int(at / 64), 1 << (at % 64)
}

func (t *tier) addToFilter(sum Sum) {
	for i := range uint64(probes) {
		word, mask := t.filterBit(sum, i)
		t.filter[word] |= mask
	}
}

func (t *tier) mayContain(sum Sum) bool {
	for i := range uint64(probes) {
		if word, mask := t.filterBit(sum, i); t.filter[word]&mask == 0 {
			return false
		}
	}
	return true
}

// readPage reads one page and returns its sums.
func readPage(t *tier, i int, page []byte) ([]byte, error) {
	if err := t.f.read(page, int64(i)*pageSize); err != nil {
		return nil, err
	}
	if crc32.Checksum(page[:pageSize-4], castagnoli) != binary.BigEndian.Uint32(page[pageSize-4:]) {
		return nil, &Error{"read", ErrCorrupt}
	}
	return page[:16*min(perPage, t.n-i*perPage)], nil
}

// in reports whether a tier contains a sum. Sums are evenly distributed, so the first bytes of a sum give
// its approximate position in the file.
func (s *Set) in(t *tier, sum Sum) (bool, error) {
	pages := (t.n + perPage - 1) / perPage
	lo, hi := 0, pages
	guess, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:]), uint64(pages))
	for at := int(guess); lo < hi; at = min(max(at, lo), hi-1) {
		list, err := readPage(t, at, s.page)
		if err != nil {
			return false, err
		}
		switch n := len(list) / 16; {
		case bytes.Compare(sum[:], list[:16]) < 0:
			hi = at
			at--
		case bytes.Compare(sum[:], list[16*(n-1):]) > 0:
			lo = at + 1
			at++
		default:
			i, j := 0, n
			for i < j {
				if m := (i + j) / 2; bytes.Compare(list[16*m:16*m+16], sum[:]) < 0 {
					i = m + 1
				} else {
					j = m
				}
			}
			return i < n && bytes.Equal(list[16*i:16*i+16], sum[:]), nil
		}
	}
	return false, nil
}

// tierReader reads the sums of a tier in order.
type tierReader struct {
	t    *tier
	at   int
	page []byte
	list []byte
	sum  Sum
	end  bool
}

func (r *tierReader) next() (err error) {
	if r.at == r.t.n {
		r.end = true
		return nil
	}
	if r.at%perPage == 0 {
		if r.list, err = readPage(r.t, r.at/perPage, r.page); err != nil {
			return err
		}
	}
	copy(r.sum[:], r.list[r.at%perPage*16:])
	r.at++
	return nil
}
