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

// Where a log of writes is damaged, Pebble takes the place for the log's end, as a crash leaves one, and what
// was acknowledged behind it is gone without a word. So logs are looked at before Pebble does:
//
//   - A chunk of the same log behind a broken one shows that this is not the end. After a power cut it may be one all the same, since
//     a disk may write what has not been synced in any order; no program can tell that from damage, so a person decides.
//   - A log that is missing leaves no trace in its folder. Therefore the folder says which there are, in a marker that is
//     moved after a log was made and before one is removed: see logBook.

// unsyncedTail is how many bytes at the end of a log may be in pieces and be taken for what a power cut
// leaves of a group of writes that was not synced, unless a chunk says that they were. Nobody was told of
// those writes.
const unsyncedTail = 16 << 10

// logSuffix ends the names of logs: 000123.log.
const logSuffix = ".log"

// setAside is added to the name of a log that is not to be read.
const setAside = ".damaged"

// checkLogs looks for damage in the logs of a folder. Where accepted, logs end where the first damage begins:
// what lies behind it is set aside, in files that nobody reads, and the log reports how much that is.
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
		o.Logger.Warn("going on without the writes that damaged logs held", "error", damage, "logs set aside",
			len(later), "of", i)
		return damage.accept(o, later)
	}
	return nil
}

// logDamage is an engine.ErrDamagedLog.
type logDamage struct {
	number   uint64
	missing  bool
	from, to int    // the bytes that are damaged
	data     []byte // of the whole log
}

func (d *logDamage) Error() string {
	name := logName(d.number)
	if d.missing {
		return fmt.Sprintf("%v: %s is missing", engine.ErrDamagedLog, name)
	}
	return fmt.Sprintf("%v: %s is damaged between bytes %d and %d of %d", engine.ErrDamagedLog, name, d.from,
		d.to, len(d.data))
}

// Unwrap makes it what it is.
func (d *logDamage) Unwrap() error { return engine.ErrDamagedLog }

// checkLog looks at one log.
func checkLog(o Options, number uint64, present bool) (*logDamage, error) {
	if !present {
		return &logDamage{number: number, missing: true}, nil
	}
	data, err := readFile(o.FS, o.FS.PathJoin(o.Dir, logName(number)))
	if err != nil {
		return nil, err
	}
	end := logEnd(data, uint32(number))
	own := func(c chunk) bool { return c.kind >= logChunk && c.log == uint32(number) }
	at := nextChunk(data, end+1, own)
	if at < 0 {
		return nil, nil
	}
	behind := len(bytes.TrimRight(data[end:], "\x00"))
	if behind <= unsyncedTail &&
		nextChunk(data, at, func(c chunk) bool { return own(c) && c.sync > int64(end) }) < 0 {
		o.Logger.Warn("a log of writes ends in pieces, as a power cut leaves it; what lies behind was not known to be synced and is not read",
			"log", logName(number), "read", end, "bytes", len(data))
		return nil, nil
	}
	return &logDamage{number: number, from: end, to: at, data: data}, nil
}

// accept ends the log where the damage begins, and sets it and the later ones aside.
func (d *logDamage) accept(o Options, later []uint64) error {
	path := func(n uint64) string { return o.FS.PathJoin(o.Dir, logName(n)) }
	// the last first: a crash in between leaves what can be accepted again
	for i := len(later) - 1; i >= 0; i-- {
		if err := o.FS.Rename(path(later[i]), path(later[i])+setAside); err != nil {
			return err
		}
	}
	if !d.missing {
		kept := path(d.number) + ".kept"
		if err := writeFile(o.FS, kept, d.data[:d.from]); err != nil {
			return err
		}
		if err := errors.Join(writeFile(o.FS, path(d.number)+setAside, d.data),
			o.FS.Rename(kept, path(d.number))); err != nil {
			return err
		}
	}
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return err
	}
	for _, name := range names { // nothing is missing any more
		if strings.HasPrefix(name, "marker."+logMarker+".") {
			err = errors.Join(err, o.FS.Remove(o.FS.PathJoin(o.Dir, name)))
		}
	}
	return errors.Join(err, syncDir(o.FS, o.Dir))
}

func logName(n uint64) string { return fmt.Sprintf("%06d%s", n, logSuffix) }

// logNumber returns the number of the log with this name.
func logNumber(name string) (n uint64, ok bool) { return numberIn(name, "", logSuffix) }

// numberIn returns the number in the name of a file or folder, between prefix and suffix.
func numberIn(name, prefix, suffix string) (n uint64, ok bool) {
	text, begins := strings.CutPrefix(name, prefix)
	text, ends := strings.CutSuffix(text, suffix)
	if !begins || !ends {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// logNumbers are the numbers of the logs among the names of files, in order.
func logNumbers(names []string) (out []uint64) {
	for _, name := range names {
		if n, ok := logNumber(name); ok {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// logMarker names the marker that lists the logs: their numbers, joined by '-'; "none" for none.
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

// parseLogs reads the marker's value. A folder of an older release has none, and nothing is known of its
// logs.
func parseLogs(value string) (out []uint64) {
	for _, text := range strings.Split(value, "-") {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// logBook keeps the marker of one folder. Its methods are called by the fence, with files of Pebble's about
// to change, and it writes through the fence: a marker that cannot be moved is the end of writing.
type logBook struct {
	fs  *fence
	dir string
	log *slog.Logger

	mu     sync.Mutex
	marker *atomicfs.Marker // nil before the first log
	live   []uint64
}

// made notes a log that is there now, before anything is written to it. Its entry in the folder is synced
// first: after a power cut a marker must not name a log of which the disk knows nothing.
func (b *logBook) made(n uint64) error {
	if err := syncDir(b.fs, b.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.change(func(live []uint64) []uint64 {
		return append(slices.DeleteFunc(live, func(l uint64) bool { return l == n }), n)
	})
}

// removed notes that a log is about to be removed.
func (b *logBook) removed(n uint64) error {
	return b.change(func(live []uint64) []uint64 {
		return slices.DeleteFunc(live, func(l uint64) bool { return l == n })
	})
}

// rest notes that no log holds anything which is not in a table as well: whoever opens the folder next misses
// none.
func (b *logBook) rest() error {
	return b.change(func([]uint64) []uint64 { return nil })
}

func (b *logBook) change(to func(live []uint64) []uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marker == nil {
		names, err := b.fs.List(b.dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a folder that is being removed
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

// close lets go of the folder.
func (b *logBook) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marker != nil {
		if err := b.marker.Close(); err != nil {
			b.log.Warn("closing the marker of the logs", "error", err)
		}
	}
}
