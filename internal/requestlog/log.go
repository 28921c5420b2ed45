package requestlog

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	blockSize = 256 << 10
	// MinMemory is the minimal memory of a log, in bytes.
	MinMemory = 4 * blockSize
	// minBlocks is the minimal number of blocks of a shard. It must be more than one, since a block is
	// overwritten as a whole.
	minBlocks = 4
)

// Log keeps the latest requests in a limited amount of memory. It is safe for concurrent use. A nil *Log
// keeps no entries.
type Log struct {
	shards []logShard
	last   atomic.Uint64 // the number of the newest entry
	turn   atomic.Uint64 // the shard of the next writer, modulo the number of shards
	// writers holds idle writers. A processor usually gets a writer that it has used before, so that the
	// writer's shard and buffer are in its caches.
	writers sync.Pool
	// changed is closed when an entry is added. It is nil if no reader waits.
	changed atomic.Pointer[chan struct{}]
}

// shardWriter encodes log entries and appends them to one shard, the part of the log that belongs to one
// processor.
type shardWriter struct {
	shard *logShard
	entry []byte // the buffer of the encoded entry
}

// logShard is the part of the log that belongs to one processor: a ring of blocks. A writer that finds the
// ring full overwrites its oldest block.
type logShard struct {
	mu     sync.Mutex
	blocks []logEntryBlock
	newest uint64   // number of the block being written
	lost   uint64   // number of the newest overwritten entry
	_      [64]byte // keeps data of different processors in different cache lines
}

// logEntryBlock contains consecutive entries of a shard.
type logEntryBlock struct {
	data        []byte
	number      uint64 // number of the block in its shard, from 1; 0: the block was never written
	first, last uint64 // numbers of its entries
}

// New returns a log of memory bytes, rounded down to whole blocks. It returns nil for less than MinMemory.
func New(memory int64) *Log {
	if memory < MinMemory {
		return nil
	}
	blocks := int(memory / blockSize)
	shards := max(min(runtime.GOMAXPROCS(0), blocks/minBlocks), 1)
	l := &Log{shards: make([]logShard, shards)}
	for i := range l.shards {
		l.shards[i].blocks = make([]logEntryBlock, blocks/shards)
	}
	return l
}

// Add adds an entry. If the memory is full, it overwrites the oldest entries. It keeps no reference to e.
func (l *Log) Add(e *Entry) {
	if l == nil {
		return
	}
	if e.Kind != Data {
		// Bodies are masked before they are truncated, because the end of the text may be needed to
		// recognize a secret.
		e.RequestBody, e.ResponseBody = maskBody(e.RequestBody), maskBody(e.ResponseBody)
	}
	w, ok := l.writers.Get().(*shardWriter)
	if !ok {
		w = &shardWriter{shard: &l.shards[l.turn.Add(1)%uint64(len(l.shards))]}
	}
	w.entry = appendEntry(w.entry[:0], e)
	w.shard.add(w.entry, &l.last)
	l.writers.Put(w)
	if wake := l.changed.Load(); wake != nil && l.changed.CompareAndSwap(wake, nil) {
		close(*wake)
	}
}

// add copies an entry into the shard and assigns the next number.
func (s *logShard) add(e encodedEntry, last *atomic.Uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.current(len(e))
	b.last = last.Add(1)
	if len(b.data) == 0 {
		b.first = b.last
	}
	binary.LittleEndian.PutUint64(e[atID:], b.last)
	b.data = append(b.data, e...)
}

// current returns the block of the shard to which an entry of size bytes is to be appended. If the newest
// block is full, it begins a new one and may overwrite the oldest. The caller holds s.mu.
func (s *logShard) current(size int) *logEntryBlock {
	b := s.at(s.newest)
	if b.number != 0 && len(b.data)+size <= blockSize {
		return b
	}
	s.newest++
	b = s.at(s.newest)
	if len(b.data) > 0 {
		s.lost = b.last
	}
	if b.data == nil {
		b.data = make([]byte, 0, blockSize)
	}
	*b = logEntryBlock{data: b.data[:0], number: s.newest}
	return b
}

func (s *logShard) at(number uint64) *logEntryBlock { return &s.blocks[number%uint64(len(s.blocks))] }

// Clear removes all entries. The numbers of later entries continue.
func (l *Log) Clear() {
	if l == nil {
		return
	}
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for j := range s.blocks {
			b := &s.blocks[j]
			clear(b.data)
			*b = logEntryBlock{data: b.data[:0], number: b.number}
		}
		s.mu.Unlock()
	}
}

// Memory returns the maximal size of the log in bytes (most), and how many bytes are allocated so far.
func (l *Log) Memory() (most, allocated int64) {
	if l == nil {
		return 0, 0
	}
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for _, b := range s.blocks {
			most += blockSize
			allocated += int64(cap(b.data))
		}
		s.mu.Unlock()
	}
	return most, allocated
}

// each calls fn with each encoded entry whose number is greater than after. It reads one shard after the
// other, each in the order of numbers. upTo is the number up to which all entries have been passed to fn.
// lost reports whether entries with numbers greater than after were overwritten. fn must not keep the entry.
// A shard is locked only while a block is copied.
func (l *Log) each(after uint64, fn func(encodedEntry)) (upTo uint64, lost bool) {
	upTo = l.last.Load()
	if upTo <= after {
		return upTo, false
	}
	var own []byte
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		newest := s.newest
		s.mu.Unlock()
		oldest := uint64(1)
		if n := uint64(len(s.blocks)); newest > n {
			oldest = newest - n + 1
		}
		for number := oldest; number <= newest; number++ {
			own = s.copyBlock(own[:0], number, after)
			for rest := own; len(rest) > 0; {
				var e encodedEntry
				if e, rest = next(rest); e.id() > after && e.id() <= upTo {
					fn(e)
				}
			}
		}
		s.mu.Lock()
		lost = lost || s.lost > after
		s.mu.Unlock()
	}
	return upTo, lost
}

// copyBlock appends the encoded entries of the block with a number to dst. It appends nothing if the block
// has been overwritten, or if none of its entries has a number greater than after.
func (s *logShard) copyBlock(dst []byte, number, after uint64) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.at(number)
	if b.number != number || b.last <= after {
		return dst
	}
	return append(dst, b.data...)
}

// wait returns a channel that is closed when the next entry is added.
func (l *Log) wait() <-chan struct{} {
	for {
		if c := l.changed.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if l.changed.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

// Find returns the entry with a number, or nil if it has been overwritten.
func (l *Log) Find(id uint64) *RetrievedEntry {
	if l == nil || id == 0 {
		return nil
	}
	var found *RetrievedEntry
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for j := range s.blocks {
			b := &s.blocks[j]
			if len(b.data) == 0 || id < b.first || id > b.last {
				continue
			}
			for rest := b.data; len(rest) > 0; {
				var e encodedEntry
				if e, rest = next(rest); e.id() == id {
					found = append(encodedEntry(nil), e...).decode()
					break
				}
			}
		}
		s.mu.Unlock()
	}
	return found
}

// Details returns the entry with the number id, or nil if it has been overwritten. The fields Attempt and
// First are set: they say which attempt of an operation the request was, and which entry was its first one.
func (l *Log) Details(id uint64) *RetrievedEntry {
	found := l.Find(id)
	if found == nil {
		return nil
	}
	found.Attempt, found.First = 1, id
	r := &Reader{log: l, filter: Filter{Explorer: true}, attempts: newAttemptGrouper()}
	list, _ := r.take(id)
	for _, one := range list {
		if one.ID == id {
			found.Attempt, found.First = one.Attempt, one.First
		}
	}
	return found
}
