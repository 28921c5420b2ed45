package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func always(int) bool { return true }

func openDir(t *testing.T, most int64) *TempDir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "tmp"), most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.Files() != 0 || d.Used() != 0 {
			t.Errorf("%d files with %d bytes are left", d.Files(), d.Used())
		}
		if left, err := os.ReadDir(d.path); err != nil || len(left) > 0 {
			t.Error(left, err)
		}
	})
	return d
}

// CheckSorter adds random records to sorters with different memory budgets. The records must be returned
// in the order of their keys, those with equal keys in the order in which they were added. The memory in
// use must stay bounded, and each sorter may use one file.
func CheckSorter(t *testing.T, seed uint64) {
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, budget := range []int{1, 4 << 10, 64 << 10, 64 << 20} {
		d := openDir(t, 1<<30)
		s := d.NewSorter(budget, always)
		type pair struct {
			key string
			n   int
		}
		var want []pair
		count := 20_000
		if budget == 1 {
			count = 700 // a run each
		}
		for i := range count {
			key := fmt.Sprintf("%0*d", 1+r.IntN(40), r.IntN(3000))
			payload := binary.AppendUvarint(nil, uint64(i))
			if i%1000 == 999 {
				payload = append(payload, make([]byte, 100_000)...)
			}
			if err := s.Add([]byte(key), payload); err != nil {
				t.Fatal(err)
			}
			if most := 3*budget + 400_000; s.Held() > most {
				t.Fatalf("%d bytes are held, the budget is %d", s.Held(), budget)
			}
			want = append(want, pair{key, i})
		}
		slices.SortStableFunc(want,
			func(a, b pair) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
		it, err := s.Sort()
		if err != nil {
			t.Fatal(err)
		}
		if d.Files() > 1 {
			t.Error(d.Files(), "files")
		}
		if max := fanIn * (4*blockSize + 400_000); budget < 1<<20 && it.Held() > max {
			t.Errorf("%d bytes are held by the merge", it.Held())
		}
		for i, p := range want {
			if !it.Next() {
				t.Fatal(i, it.Err())
			}
			if i%7 == 0 {
				it.Unread()
				if !it.Next() {
					t.Fatal(i, it.Err())
				}
			}
			if n, _ := binary.Uvarint(it.Payload()); string(it.Key()) != p.key || int(n) != p.n {
				t.Fatalf("%d: %s %d, want %v", i, it.Key(), n, p)
			}
		}
		if it.Next() || it.Err() != nil {
			t.Error("there is more", it.Err())
		}
		it.Close()
		it.Close()
		s.Close()
	}
}

// TestErrors checks the errors of a Sorter: ErrQuota if the folder is full, ErrStopped if the caller stops
// the work, and ErrCorrupt if the file was modified.
func TestErrors(t *testing.T) {
	fill := func(s *Sorter) (err error) {
		for i := 0; i < 10_000 && err == nil; i++ {
			err = s.Add(binary.BigEndian.AppendUint32(nil, rand.Uint32()), make([]byte, 100))
		}
		return err
	}
	s := openDir(t, 10_000).NewSorter(10_000, always)
	var typed *Error
	if err := fill(s); !errors.Is(err, ErrQuota) || !errors.As(err, &typed) {
		t.Error(err)
	}
	s.Close()

	work := 0
	s = openDir(t, 1<<30).NewSorter(10_000, func(n int) bool { work += n; return work < 100_000 })
	if err := fill(s); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	s.Close()

	s = openDir(t, 1<<30).NewSorter(10_000, always)
	if err := errors.Join(fill(s), s.Flush()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.f.f.WriteAt([]byte{0xFF, 0xFE}, s.f.size/2); err != nil {
		t.Fatal(err)
	}
	it, err := s.Sort()
	for err == nil && it.Next() {
	}
	if err == nil {
		err = it.Err()
		it.Close()
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	s.Close()
}

// TestOpenDeletesOldFiles checks that Open deletes the temporary files that an earlier process has left in
// the folder, and no other files.
func TestOpenDeletesOldFiles(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"spill-1.tmp", "spill-2.tmp", "other"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(path, 1); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 1 || left[0].Name() != "other" {
		t.Error(left, err)
	}
}

// CheckSet adds random hashes to a DiskHashSet, so many that its files are merged, and checks that Has
// finds all of them and no others.
func CheckSet(t *testing.T, seed uint64) {
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	d := openDir(t, 1<<30)
	s := d.NewSet()
	defer s.Close()
	sum := func() (sum Hash128) {
		binary.BigEndian.PutUint64(sum[:], r.Uint64())
		binary.BigEndian.PutUint64(sum[8:], r.Uint64())
		return sum
	}
	var in []Hash128
	for range 20 {
		some := make([]Hash128, 1+r.IntN(3000))
		for i := range some {
			some[i] = sum()
		}
		in = append(in, some...)
		if err := s.Add(some, always); err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			if found, err := s.Has(in[r.IntN(len(in))]); !found || err != nil {
				t.Fatal(found, err)
			}
			if found, err := s.Has(sum()); found || err != nil {
				t.Fatal(found, err)
			}
		}
	}
	if s.Held() > 4*len(in) || d.Files() >= maxTiers {
		t.Errorf("%d bytes and %d files for %d sums", s.Held(), d.Files(), len(in))
	}
}
