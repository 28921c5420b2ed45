// Package spill keeps what a query cannot hold in memory in temporary files.
//
// A Dir is a folder that belongs to it. Files in it have no name while they are used, where the system allows
// that, and are gone when they are closed; what a crash has left is removed by Open. All files of a Dir share
// one quota of bytes.
//
// A Sorter takes records, a key and a payload each, in any order and gives them back in the order of their
// keys; equal keys come in the order in which they were added. It holds records up to a budget, then writes
// them as a sorted run, and merges the runs at the end: several at a time, so that the memory of a merge is
// bounded as well. Records are written in blocks, which are compressed and have a checksum each.
//
//	s := dir.NewSorter(budget, spend)
//	defer s.Close()
//	err := s.Add(key, payload) // for each record
//	it, err := s.Sort()        // s may be closed now
//	defer it.Close()
//	for it.Next() { ... it.Key(), it.Payload() ... }
//	err = it.Err()
//
// A Set remembers hashes: those that came last in memory, all others in sorted files, of which a filter in
// memory reports which need to be read.
//
// Nothing here starts a goroutine, and nothing is used by two at a time but the Dir. Work is told to a
// function, spend, that ends it: see ErrStopped. Errors of files are an *Error; errors.Is(err, ErrQuota)
// reports that the quota of the folder is used up.
package spill
