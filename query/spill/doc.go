// Package spill stores in temporary files what a query cannot hold in memory.
//
// A TempDir is a folder that belongs to one process. If the system allows it, files have no name while they
// are used, and disappear when they are closed. Open removes the files that a crash has left. All files of a
// TempDir share one quota of bytes.
//
// A Sorter receives records, each with a key and a payload, in any order and returns them in the order of
// their keys; records with equal keys come in the order in which they were added. It holds records in memory
// up to a budget, then writes them as a sorted run. At the end it merges the runs, a limited number at a
// time, so that the memory of a merge is bounded as well. Records are written in blocks; each block is
// compressed and has a checksum.
//
//	s := dir.NewSorter(budget, spend)
//	defer s.Close()
//	err := s.Add(key, payload) // for each record
//	it, err := s.Sort()        // s may be closed now
//	defer it.Close()
//	for it.Next() { ... it.Key(), it.Payload() ... }
//	err = it.Err()
//
// A DiskHashSet stores hashes in sorted files. For each file a filter in memory reports whether the file has
// to be read.
//
// The package starts no goroutines, and only a TempDir is safe for concurrent use. Work is reported to a
// function, spend, which can end the operation: see ErrStopped. Errors of files are an *Error; errors.Is(err,
// ErrQuota) reports that the quota of the folder is exceeded.
package spill
