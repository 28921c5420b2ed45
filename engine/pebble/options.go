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
	// Balanced compresses the two lowest levels, which hold most of the data, harder.
	Balanced
)

// Options of Open. The zero value of each field but Dir has a default.
type Options struct {
	// Dir is the data folder. It is created where it is missing. Ignored in memory mode.
	Dir string
	// Memory keeps everything in memory; nothing survives Close.
	Memory bool
	// FS is the file system; nil is the operating system's, or a fresh one in memory mode. With an FS, Dir is
	// used in memory mode too, so that tests can reopen what they wrote.
	FS vfs.FS
	// FirstLSN is the first LSN that a scope without a stored ceiling issues; 0 is 1.
	FirstLSN uint64
	// CacheBytes is the size of the block cache; 0 is 64 MB. It fills up as data is read.
	CacheBytes int64
	// Compression of the tables; Fastest by default.
	Compression Compression
	// DiskReserve is the number of bytes kept free on the disk: below it Update refuses to write with
	// engine.ErrDiskFull. A transaction that deletes more keys than it sets may go down to half of it, so
	// that a full database can be emptied. 0 is an eighth of the disk, at most 64 MiB; negative switches the
	// check off.
	DiskReserve int64
	// AcceptDamagedLog opens a folder whose logs of writes are damaged or missing, without what lies behind
	// the damage: acknowledged writes are lost. The files are kept beside, and the logger is told. Without it
	// Open fails with engine.ErrDamagedLog.
	AcceptDamagedLog bool
	// ReadOnly changes nothing in the folder, which must hold a database already: what the opening and the
	// user write goes to memory, is seen by this Engine alone and lost by Close. The folder is locked all the
	// same, so that nobody else writes to it. Nothing is compacted. It goes together with AcceptDamagedLog,
	// to see what that would leave.
	ReadOnly bool
	// Strict makes an iterator that is still open when its function returns an error of View or Update.
	// Without it the iterator is closed and the mistake is logged.
	Strict bool
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
	// Now is the clock by which the free space is looked at once a second; nil looks at it by bytes written
	// only.
	Now func() time.Time

	// lsnBlock and memTable are made small by tests, to reach in a few writes what otherwise takes many.
	lsnBlock uint64
	memTable uint64
}

// ErrOptions is returned by Open for options that cannot be.
var ErrOptions = errors.New("engine/pebble: bad options")

const (
	// maxLSN is the first number that is no LSN.
	maxLSN = engine.MaxLSN + 1

	// defaultLSNBlock is how many LSNs one move of a ceiling allows. A crash skips at most two blocks, so
	// even a crash a minute uses up the LSNs of a scope in 16 years only.
	defaultLSNBlock = 1 << 12

	defaultCache       = 64 << 20
	defaultDiskReserve = 64 << 20

	// defaultMemTable trades write amplification against memory and start-up. Two tables of this size stay
	// allocated in an idle process that has written (the active one, and one kept for reuse), and a start
	// after a crash replays about as much log.
	defaultMemTable = 8 << 20

	// formatVersion is the on-disk format that Open creates, and moves older folders to. It is pinned, so
	// that a newer Pebble in go.mod does not change the format of a user's data by the way.
	formatVersion = pebble.FormatValueSeparation
)

// withDefaults fills in what was left zero and refuses what cannot be.
func (o Options) withDefaults() (Options, error) {
	if o.FS == nil {
		o.FS = vfs.Default
		if o.Memory {
			o.FS = vfs.NewMem()
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
		o.CacheBytes = defaultCache
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

// library translates the options into Pebble's.
func (o Options) library() *pebble.Options {
	p := &pebble.Options{
		FS:                 o.FS,
		Comparer:           pebble.DefaultComparer, // plain byte order, as the contract says
		FormatMajorVersion: formatVersion,
		CacheSize:          o.CacheBytes,

		MemTableSize: o.memTable,
		// Writers stall at 64 MB of tables that wait to be flushed.
		MemTableStopWritesThreshold: 8,

		// Compact level 0 early, which keeps point reads short, but never stop writers for it: the writes of
		// this store are paced by the disk's syncs, and a stall that waits for a compaction could last for
		// ever once compactions fail. CockroachDB runs with the same limit.
		L0CompactionThreshold: 2,
		L0StopWritesThreshold: 1000,
		LBaseMaxBytes:         64 << 20,

		MaxOpenFiles: openTables(),
		// A short manifest is quick to read at start.
		MaxManifestFileSize: 4 << 20,

		// A dropped container is one range delete: flush it soon, so that its tables can go.
		FlushDelayDeleteRange: 10 * time.Second,

		CompactionConcurrencyRange: func() (lower, upper int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
	}
	// A table that a range delete covers whole is dropped unread. Cutting one that it covers in part would be
	// possible as well (EnableDeleteOnlyCompactionExcises), but stays off: where Pebble 2.1 cannot read the
	// block at the cut, it takes the rest of the table for empty, and keys that nobody deleted are gone.
	p.Experimental.EnableDeleteOnlyCompactionExcises = func() bool { return false }

	// A Get asks each level from the top for its key, and all but one do not have it: the filters answer that
	// without reading a block, at 10 bits a key and 1 % wrong guesses. The lowest level gets none: Pebble
	// does not consult it in a Get, and it holds nine tenths of the keys.
	for i := range p.Levels[:len(p.Levels)-1] {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	p.Levels[len(p.Levels)-1].FilterPolicy = pebble.NoFilterPolicy

	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		if o.Compression == Balanced {
			return pebble.DBCompressionBalanced
		}
		return pebble.DBCompressionFastest
	})
	return p
}
