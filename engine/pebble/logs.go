package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/mayflydb/mayfly/engine"
)

// If a write-ahead log is damaged, Pebble takes the damaged position for the end of the log, as after a
// crash. The acknowledged writes after it are lost silently. So the logs are checked before Pebble opens
// them:
//
//   - A valid chunk of the same log after a broken one means that the log does not end at the broken one.
//     After a power cut the log may end there all the same, since a disk may write unsynced data in any
//     order. No program can distinguish the two cases, so the operator decides.
//   - A missing log leaves no trace in its folder. So the folder lists its logs in a marker. The marker is
//     moved after a log is created and before one is removed: see walListFileWriter.

// unsyncedTail is the maximum number of unreadable bytes at the end of a log that count as a group of writes
// which a power cut interrupted before the sync. None of these writes was acknowledged, so they are dropped.
// If a later chunk shows that some of these bytes were synced, they count as damage instead.
const unsyncedTail = 16 << 10

// logSuffix ends the names of logs: 000123.log.
const logSuffix = ".log"

// damagedSuffix is appended to the name of a log that must not be read.
const damagedSuffix = ".damaged"

// checkLogs checks the logs of a folder for damage. If the options accept damage, the logs are cut at the
// first damage: everything after it is kept in files that are never read, and its size is logged.
func checkLogs(o Options, names []string) error {
	present := logNumbers(names)
	noted, err := marker(o, names, logMarker)
	if err != nil {
		return err
	}
	all := append(slices.Clone(present), parseLogs(noted)...)
	slices.Sort(all)
	for i, n := range slices.Compact(all) {
		damage, err := checkLog(o, n, slices.Contains(present, n))
		if err != nil {
			return err
		}
		if damage == nil {
			continue
		}
		if !o.AcceptDamagedLog {
			return damage
		}
		later := slices.DeleteFunc(present, func(p uint64) bool { return p <= n })
		o.Logger.Warn("starting without the writes in damaged logs", "error", damage, "logs set aside",
			len(later), "of", i)
		return damage.accept(o, later)
	}
	return nil
}

// logDamage describes the damage to a log. It is an engine.ErrDamagedLog.
type logDamage struct {
	number   uint64
	missing  bool
	from, to int    // offsets of the damaged bytes
	data     []byte // content of the whole log
}

func (d *logDamage) Error() string {
	name := logName(d.number)
	if d.missing {
		return fmt.Sprintf("%v: %s is missing", engine.ErrDamagedLog, name)
	}
	return fmt.Sprintf("%v: %s is damaged between bytes %d and %d of %d", engine.ErrDamagedLog, name, d.from,
		d.to, len(d.data))
}

// Unwrap returns engine.ErrDamagedLog.
func (d *logDamage) Unwrap() error { return engine.ErrDamagedLog }

// checkLog returns the damage to one log, or nil. present reports whether the log's file exists.
func checkLog(o Options, number uint64, present bool) (*logDamage, error) {
	if !present {
		return &logDamage{number: number, missing: true}, nil
	}
	data, err := readFile(o.FS, o.FS.PathJoin(o.Dir, logName(number)))
	if err != nil {
		return nil, err
	}
	end, at := unreadable(data, number)
	if at < 0 {
		return nil, nil
	}
	own := ofLog(number)
	behind := len(bytes.TrimRight(data[end:], "\x00"))
	if behind <= unsyncedTail &&
		nextChunk(data, at, func(c recordChunkHeader) bool { return own(c) && c.sync > int64(end) }) < 0 {
		o.Logger.Warn("the end of a log of writes is incomplete, as after a power failure; the rest was "+
			"not confirmed as synced and is ignored",
			"log", logName(number), "read", end, "bytes", len(data))
		return nil, nil
	}
	return &logDamage{number: number, from: end, to: at, data: data}, nil
}

// accept gives up the writes that follow the damage in a write-ahead log: it cuts the log there and renames
// the later logs, so that they are not read. It keeps a copy of the damaged log.
func (d *logDamage) accept(o Options, later []uint64) error {
	path := func(n uint64) string { return o.FS.PathJoin(o.Dir, logName(n)) }
	// The last log is renamed first: after a crash in between, the damage can be accepted again.
	for i := len(later) - 1; i >= 0; i-- {
		if err := o.FS.Rename(path(later[i]), path(later[i])+damagedSuffix); err != nil {
			return err
		}
	}
	if !d.missing {
		kept := path(d.number) + ".kept"
		if err := writeFile(o.FS, kept, d.data[:d.from]); err != nil {
			return err
		}
		if err := errors.Join(writeFile(o.FS, path(d.number)+damagedSuffix, d.data),
			o.FS.Rename(kept, path(d.number))); err != nil {
			return err
		}
	}
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return err
	}
	for _, name := range names { // the logs no longer listed must not count as missing
		if strings.HasPrefix(name, "marker."+logMarker+".") {
			err = errors.Join(err, o.FS.Remove(o.FS.PathJoin(o.Dir, name)))
		}
	}
	return errors.Join(err, syncDir(o.FS, o.Dir))
}

func logName(n uint64) string { return fmt.Sprintf("%06d%s", n, logSuffix) }

// logNumber returns the number of the log with this name. ok is false if the name is not that of a log.
func logNumber(name string) (n uint64, ok bool) { return numberIn(name, "", logSuffix) }

// numberIn returns the number in the name of a file or folder, between prefix and suffix. ok is false if the
// name has another form.
func numberIn(name, prefix, suffix string) (n uint64, ok bool) {
	text, begins := strings.CutPrefix(name, prefix)
	text, ends := strings.CutSuffix(text, suffix)
	if !begins || !ends {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// logNumbers returns the numbers of the logs among the names of files, in ascending order.
func logNumbers(names []string) (out []uint64) {
	for _, name := range names {
		if n, ok := logNumber(name); ok {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// logMarker is the name of the marker that lists the logs. Its value is their numbers, joined by '-', or
// "none". A marker is a file whose name ends with its value.
const logMarker = "logs"

func formatLogs(numbers []uint64) string {
	if len(numbers) == 0 {
		return "none"
	}
	var b []byte
	for i, n := range numbers {
		if i > 0 {
			b = append(b, '-')
		}
		b = strconv.AppendUint(b, n, 10)
	}
	return string(b)
}

// parseLogs returns the numbers of the logs in the value of the marker that lists them, such as "12-13".
// An empty value, as in a folder of an older release that has no such marker, lists none.
func parseLogs(value string) (out []uint64) {
	for _, text := range strings.Split(value, "-") {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// walListFileWriter maintains the marker file that lists the write-ahead logs of one folder.
// memoryAfterWriteErrorFS calls its methods before it creates or removes a log. If the marker cannot be
// written, memoryAfterWriteErrorFS cuts off the disk.
type walListFileWriter struct {
	fs  *memoryAfterWriteErrorFS
	dir string
	log *slog.Logger

	mu     sync.Mutex
	marker *atomicfs.Marker // nil before the first log
	live   []uint64
}

// recordCreated records a new log, before anything is written to it. It syncs the folder first: after a power
// cut a marker must not name a log that does not exist on disk.
func (b *walListFileWriter) recordCreated(n uint64) error {
	if err := syncDir(b.fs, b.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.change(func(live []uint64) []uint64 {
		return append(slices.DeleteFunc(live, func(l uint64) bool { return l == n }), n)
	})
}

// recordRemoved records that a log is about to be removed.
func (b *walListFileWriter) recordRemoved(n uint64) error {
	return b.change(func(live []uint64) []uint64 {
		return slices.DeleteFunc(live, func(l uint64) bool { return l == n })
	})
}

// recordNoLogs records that all data are in tables, so that the next Open does not report a log as missing.
func (b *walListFileWriter) recordNoLogs() error {
	return b.change(func([]uint64) []uint64 { return nil })
}

func (b *walListFileWriter) change(to func(live []uint64) []uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marker == nil {
		names, err := b.fs.List(b.dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the folder is being removed
		}
		if err != nil {
			return err
		}
		m, _, err := atomicfs.LocateMarkerInListing(b.fs, b.dir, logMarker, names)
		if err != nil {
			return err
		}
		b.marker, b.live = m, logNumbers(names)
	}
	next := to(slices.Clone(b.live))
	slices.Sort(next)
	if slices.Equal(next, b.live) && b.marker.NextIter() > 1 {
		return nil
	}
	b.live = next
	return b.marker.Move(formatLogs(next))
}

// close closes the marker file that lists the write-ahead logs.
func (b *walListFileWriter) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marker != nil {
		if err := b.marker.Close(); err != nil {
			b.log.Warn("the marker of the logs could not be closed", "error", err)
		}
	}
}
