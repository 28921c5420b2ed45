package pebble

import (
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// cutCopiedLog cuts the last write-ahead log in dir, a copy of the data folder that Pebble has made, behind
// its last readable record.
//
// Pebble copies this log while it is being written. The copy reads one piece of the file after the other. If
// the log has grown between two reads, the first piece ends with bytes that had not been written yet, and the
// next piece begins with later records. The records before these bytes include everything that was
// acknowledged before the copy began. The later records must be removed, because a log with readable records
// behind unreadable ones counts as damaged: see checkLogs. The other logs do not change any more when they
// are copied.
//
// If the log in the data folder is damaged at the same position, cutCopiedLog fails with a *logDamage.
func (e *Engine) cutCopiedLog(f vfs.FS, dir string) error {
	names, err := f.List(dir)
	if err != nil {
		return err
	}
	logs := logNumbers(names)
	if len(logs) == 0 {
		return nil
	}
	number := logs[len(logs)-1]
	path := f.PathJoin(dir, logName(number))
	data, err := readFile(f, path)
	if err != nil {
		return err
	}
	end, later := unreadable(data, number)
	if later < 0 {
		return nil
	}
	// The log may have been removed since: its records are in tables then.
	source, err := readFile(f, f.PathJoin(e.dir, logName(number)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if from, to := unreadable(source, number); from <= end && to >= 0 {
		return &logDamage{number: number, from: from, to: to, data: source}
	}
	cut := path + ".cut"
	if err := writeFile(f, cut, data[:end]); err != nil {
		return err
	}
	return f.Rename(cut, path)
}

// unreadable returns the offset behind the readable beginning of a log, and the offset of the next readable
// chunk of the same log after it, or -1 if there is none.
func unreadable(data []byte, number uint64) (from, to int) {
	end := logEnd(data, uint32(number))
	return end, nextChunk(data, end+1, ofLog(number))
}

// ofLog returns a function that reports whether a chunk belongs to the log with the given number.
func ofLog(number uint64) func(recordChunkHeader) bool {
	return func(c recordChunkHeader) bool { return c.kind >= logChunk && c.log == uint32(number) }
}
