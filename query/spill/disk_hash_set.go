package spill

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

// Hash128 is a hash of 128 bits with evenly distributed values.
type Hash128 [16]byte

// A tier is a file of a DiskHashSet with sorted hashes of rows (sums). It consists of pages; each page has
// perPage sums and a checksum.
const (
	perPage  = 255
	pageSize = perPage*16 + 4
	maxTiers = 8
	// bitsPerSum is the number of bits of a Bloom filter for each hash in the file of sorted hashes (tier)
	// that the filter belongs to. Each hash sets probes bits. About one in a hundred hashes that are not in
	// the file passes the filter.
	bitsPerSum = 10
	probes     = 7
)

// DiskHashSet is a set of hashes (Hash128) that is stored in files. Only one goroutine may use it, and must
// close it.
type DiskHashSet struct {
	dir   *TempDir
	tiers []*sortedHashFile
	page  []byte
}

// sortedHashFile is one file of a DiskHashSet: n hashes (sums), sorted, with a Bloom filter in memory.
type sortedHashFile struct {
	f      *tempFile
	n      int
	filter []uint64
}

// NewSet makes an empty set.
func (d *TempDir) NewSet() *DiskHashSet { return &DiskHashSet{dir: d, page: make([]byte, pageSize)} }

// Held returns the memory of the set in bytes.
func (s *DiskHashSet) Held() (n int) {
	for _, t := range s.tiers {
		n += 8 * len(t.filter)
	}
	return n + pageSize
}

// Has reports whether the hash sum is in the set.
func (s *DiskHashSet) Has(sum Hash128) (bool, error) {
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

// Add adds hashes to the set. They must be distinct, and none may be in the set already. Add sorts the
// slice. If spend, which receives the work done, returns false, Add fails with ErrStopped.
func (s *DiskHashSet) Add(sums []Hash128, spend func(int) bool) error {
	going := true
	slices.SortFunc(sums, func(a, b Hash128) int {
		if going = going && spend(len(a)); !going {
			return 0
		}
		return bytes.Compare(a[:], b[:])
	})
	if !going {
		return ErrStopped
	}
	next := func() (Hash128, bool, error) {
		if len(sums) == 0 {
			return Hash128{}, false, nil
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

// merge merges all tiers (files of sorted hashes) into one. It ends with ErrStopped when spend, which
// receives the work done, returns false.
func (s *DiskHashSet) merge(spend func(int) bool) error {
	total := 0
	heads := make([]*hashFileReader, 0, len(s.tiers))
	for _, t := range s.tiers {
		total += t.n
		heads = append(heads, &hashFileReader{t: t, page: make([]byte, pageSize)})
	}
	for _, h := range heads {
		if err := h.next(); err != nil {
			return err
		}
	}
	t, err := s.write(total, func() (first Hash128, ok bool, err error) {
		var from *hashFileReader
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
	s.tiers = []*sortedHashFile{t}
	return nil
}

// write makes a tier (a file of sorted hashes) of n hashes, which next returns in ascending order.
func (s *DiskHashSet) write(n int, next func() (Hash128, bool, error),
	spend func(int) bool) (*sortedHashFile, error) {
	f, err := s.dir.create()
	if err != nil {
		return nil, err
	}
	t := &sortedHashFile{f: f, n: n, filter: make([]uint64, n*bitsPerSum/64+1)}
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
func (s *DiskHashSet) Close() {
	for _, t := range s.tiers {
		t.f.close()
	}
	s.tiers = nil
}

// filterBit returns the position of the i-th bit of a hash in the Bloom filter: the index of the word and
// the mask of the bit.
func (t *sortedHashFile) filterBit(sum Hash128, i uint64) (word int, mask uint64) {
	a, b := binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
	at, _ := bits.Mul64(b+i*(a|1), uint64(len(t.filter))*64)
	return int(at / 64), 1 << (at % 64)
}

func (t *sortedHashFile) addToFilter(sum Hash128) {
	for i := range uint64(probes) {
		word, mask := t.filterBit(sum, i)
		t.filter[word] |= mask
	}
}

func (t *sortedHashFile) mayContain(sum Hash128) bool {
	for i := range uint64(probes) {
		if word, mask := t.filterBit(sum, i); t.filter[word]&mask == 0 {
			return false
		}
	}
	return true
}

// readPage reads the i-th page of a tier (a file of sorted hashes) and returns the hashes in it, one after
// the other.
func readPage(t *sortedHashFile, i int, page []byte) ([]byte, error) {
	if err := t.f.read(page, int64(i)*pageSize); err != nil {
		return nil, err
	}
	if crc32.Checksum(page[:pageSize-4], castagnoli) != binary.BigEndian.Uint32(page[pageSize-4:]) {
		return nil, &Error{"read", ErrCorrupt}
	}
	return page[:16*min(perPage, t.n-i*perPage)], nil
}

// in reports whether a tier (a file of sorted hashes) contains the hash sum. Hashes are evenly distributed,
// so the first bytes of sum give its approximate position in the file.
func (s *DiskHashSet) in(t *sortedHashFile, sum Hash128) (bool, error) {
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

// hashFileReader reads the hashes in one file of a DiskHashSet (a tier) in ascending order.
type hashFileReader struct {
	t    *sortedHashFile
	at   int
	page []byte
	list []byte
	sum  Hash128
	end  bool
}

func (r *hashFileReader) next() (err error) {
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
