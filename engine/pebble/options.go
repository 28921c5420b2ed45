package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

// Compression chooses between speed and size on disk.
type Compression int

const (
	// Fastest compresses all levels with the fastest algorithm.
	Fastest Compression = iota
	// Balanced compresses the two lowest levels of the tree, which hold most of the data, with more effort
	// than the levels above, so that the data take less space on disk.
	Balanced
)

// Options of Open. The zero value of each field but Dir has a default.
type Options struct {
	// Dir is the data folder. It is created if it is missing. Ignored in memory mode.
	Dir string
	// Memory keeps everything in memory; nothing survives Close.
	Memory bool
	// FS is the file system. nil means that of the operating system or, in memory mode, a new one in
	// memory. With an FS, Dir is used in memory mode too, and a log is written, so that tests can reopen
	// what they wrote.
	FS vfs.FS
	// FirstLSN is the first LSN of a scope, a key prefix with its own sequence of LSNs, that is used for
	// the first time. 0 means 1.
	FirstLSN uint64
	// CacheBytes is the size of the caches. An eighth of it, at most 32 MB, is for the row cache, and the
	// rest for the block cache. 0 selects the default: on Linux a thirty-second of the memory of the
	// computer, the container or GOMEMLIMIT, at least 64 MB and at most 1 GB; in memory mode and on other
	// systems 64 MB. The caches fill up as data is read.
	CacheBytes int64
	// Compression of the tables; Fastest by default.
	Compression Compression
	// DiskReserve is the number of bytes kept free on the disk: below it Update refuses to write with
	// engine.ErrDiskFull. A transaction that deletes more keys than it sets may go down to half of it, so
	// that a full database can be emptied. 0 means an eighth of the disk, at most 64 MiB; a negative value
	// switches the check off.
	DiskReserve int64
	// AcceptDamagedLog opens a folder whose write-ahead logs are damaged or missing, without the writes
	// after the damage: acknowledged writes are lost. The damaged files are kept and the loss is logged.
	// Without this option Open fails with engine.ErrDamagedLog.
	AcceptDamagedLog bool
	// ReadOnly leaves the folder, which must hold a database already, unchanged. Everything that Open and
	// the caller write goes to memory: only this Engine sees it, and Close discards it. The folder is still
	// locked, so that no other process writes to it. Nothing is compacted. It may be combined with
	// AcceptDamagedLog, to see which data would remain.
	ReadOnly bool
	// Strict makes View or Update return an error if its function leaves an iterator open. Without it the
	// iterator is closed and the mistake is logged.
	Strict bool
	// Logger receives messages for operators; nil discards them.
	Logger *slog.Logger
	// Now is the clock for the check of the free space once a second; nil checks only by the number of bytes
	// written.
	Now func() time.Time

	// lsnBlock is the number of LSNs by which a scope's stored ceiling is raised at a time, and memTable
	// the size of a memory table in bytes. 0 means the default; tests set small values.
	lsnBlock uint64
	memTable uint64

	noLog bool // see Engine.noLog
}

// ErrOptions is returned by Open for invalid options.
var ErrOptions = errors.New("engine/pebble: bad options")

const (
	// maxLSN is the first number above the range of LSNs.
	maxLSN = engine.MaxLSN + 1

	// defaultLSNBlock is the number of LSNs by which the stored ceiling of a scope is raised at a time; LSNs
	// are issued only below the ceiling. A crash skips at most two blocks, so even at one crash a minute the
	// LSNs of a scope last for more than 250 years.
	defaultLSNBlock = 1 << 12

	defaultDiskReserve = 64 << 20

	// defaultMemTable is the size of a memory table. Larger tables cause less write amplification, but use
	// more memory and slow down the start. Two tables of this size stay allocated in an idle process that has
	// written (the active one, and one kept for reuse), and a start after a crash replays about as much log.
	defaultMemTable = 8 << 20

	// formatVersion is the on-disk format that Open creates and upgrades older folders to. It is fixed here,
	// so that a newer Pebble in go.mod does not silently change the format of users' data.
	formatVersion = pebble.FormatValueSeparation
)

// withDefaults replaces zero values by the defaults and rejects invalid options.
func (o Options) withDefaults() (Options, error) {
	if o.FS == nil {
		o.FS = vfs.Default
		if o.Memory {
			o.FS = vfs.NewMem()
			o.noLog = true
		}
	}
	if o.Memory && o.Dir == "" {
		o.Dir = "memory"
	}
	if o.Dir == "" {
		return o, fmt.Errorf("%w: Dir is empty", ErrOptions)
	}
	if o.FirstLSN == 0 {
		o.FirstLSN = 1
	}
	if o.FirstLSN >= maxLSN {
		return o, fmt.Errorf("%w: FirstLSN %d is not below %d", ErrOptions, o.FirstLSN, uint64(maxLSN))
	}
	if o.Compression != Fastest && o.Compression != Balanced {
		return o, fmt.Errorf("%w: Compression %d is unknown", ErrOptions, o.Compression)
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = minCache
		if !o.Memory { // in memory mode the cache holds copies of what is in memory already
			o.CacheBytes = defaultCache(totalMemory(), goMemoryLimit())
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.lsnBlock == 0 {
		o.lsnBlock = defaultLSNBlock
	}
	if o.memTable == 0 {
		o.memTable = defaultMemTable
	}
	return o, nil
}

// library returns the corresponding options of Pebble.
func (o Options) library() *pebble.Options {
	p := &pebble.Options{
		FS:                 o.FS,
		Comparer:           pebble.DefaultComparer, // plain byte order, as package engine requires
		FormatMajorVersion: formatVersion,
		CacheSize:          o.CacheBytes - rowCacheBytes(o.CacheBytes),

		DisableWAL: o.noLog,

		MemTableSize: o.memTable,
		// Writers stall at 64 MB of tables that wait to be flushed.
		MemTableStopWritesThreshold: 8,

		// Compact level 0 early, which keeps reads short; compactionScheduler puts this off while nothing is
		// read. But never stop writers for it: the writes of this store are paced by the disk's syncs, and a
		// stall that waits for a compaction could last for ever once compactions fail. CockroachDB runs with
		// the same limit.
		L0CompactionThreshold: 2,
		L0StopWritesThreshold: 1000,
		LBaseMaxBytes:         64 << 20,

		MaxOpenFiles: openTables(),
		// A short manifest is quick to read at start.
		MaxManifestFileSize: 4 << 20,

		// Dropping a container writes one range delete: flush it soon, so that the covered tables can be
		// deleted.
		FlushDelayDeleteRange: 10 * time.Second,

		CompactionConcurrencyRange: func() (lower, upper int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
	}
	// Values stay in the tables. With Experimental.ValueSeparationPolicy a compaction would rewrite the keys
	// of a document without its body, which halves the bytes written, but Pebble 2.1 panics in its own
	// goroutine if it cannot finish a file of values, for instance on a full disk (Abort after a failed
	// Finish).
	//
	// A table that a range delete covers completely is deleted unread. EnableDeleteOnlyCompactionExcises
	// could also cut a table that is covered in part, but stays off: if Pebble 2.1 cannot read the block at
	// the cut, it treats the rest of the table as empty, and keys are lost that nobody deleted.
	p.Experimental.EnableDeleteOnlyCompactionExcises = func() bool { return false }

	setLevels(p)

	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		if o.Compression == Balanced {
			return pebble.DBCompressionBalanced
		}
		return pebble.DBCompressionFastest
	})
	return p
}

// setLevels sets, for the tables of each level, whether they have Bloom filters and how large an index
// block is.
func setLevels(p *pebble.Options) {
	// A Get looks for its key in each level from the top, and all levels but one lack it. The filters
	// detect that without reading a block; they have 10 bits per key and 1 % false positives. The lowest
	// level has no filter: Pebble does not use it in a Get, and this level holds nine tenths of the keys.
	for i := range p.Levels[:len(p.Levels)-1] {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	p.Levels[len(p.Levels)-1].FilterPolicy = pebble.NoFilterPolicy

	// The index of a table stays in one block. An index of two levels costs each seek another block, and by
	// default Pebble divides it as soon as it exceeds the size of a data block.
	for i := range p.Levels {
		p.Levels[i].IndexBlockSize = 256 << 10
	}
}
