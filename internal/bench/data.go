package bench

import (
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// expiringDataset is a closed, compacted store of --docs documents, which several sections use in turn.
// The documents are divided into epochs: those of one epoch were written in the same second, and so expire
// together.
type expiringDataset struct {
	dir       string
	epochs    []sameSecondDocumentRange
	end       time.Time // after the last epoch
	asWritten int64     // bytes on disk when it was closed
	compacted int64     // bytes on disk now
}

// sameSecondDocumentRange is an epoch, a group of documents that were all written in the same second. Their
// numbers are at least from and less than to. at is the time of the writes.
type sameSecondDocumentRange struct {
	from, to int
	at       time.Time
}

const (
	epochGap  = time.Second
	allEpochs = 60
	// purgeSlices is the number of epochs, groups of documents written in the same second, that are purged
	// one by one.
	purgeSlices = benchSlices + 1
	// maxPurgeSlice is the maximum number of documents of an epoch (documents written in the same second)
	// that is purged in one slice of the measurement.
	maxPurgeSlice = 20_000
)

// data returns the data set of expiring documents that several sections share. The first call creates it.
func (b *BenchmarkRun) data(ctx context.Context) (*expiringDataset, error) {
	if b.shared != nil {
		return b.shared, nil
	}
	d := &expiringDataset{dir: b.path("data"), epochs: b.epochs()}
	d.end = d.epochs[len(d.epochs)-1].at.Add(epochGap)
	clock := ttl.NewManual(d.epochs[0].at)
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: d.dir},
		store: store.Options{Clock: clock, ManualReaper: true}})
	if err != nil {
		return nil, err
	}
	b.progress.Start("filling the data set", b.docs())
	for _, e := range d.epochs {
		clock.Set(e.at)
		if err := b.load(ctx, c, e.from, e.to); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	if d.asWritten, err = folderBytes(d.dir); err != nil {
		return nil, err
	}
	b.progress.Start("compacting the data set", 1)
	if err := compactFolder(ctx, d.dir); err != nil {
		return nil, err
	}
	b.progress.Stop()
	d.compacted, err = folderBytes(d.dir)
	b.shared = d
	return d, err
}

// epochs divides the documents into groups; all documents of a group are written, and so expire, in the same
// second. All write times are in the past, so that the data can be served with the system's clock.
func (b *BenchmarkRun) epochs() []sameSecondDocumentRange {
	at := b.clock.Now().Add(-(allEpochs + 1) * epochGap).Truncate(time.Second)
	size := min(b.docs()/40, maxPurgeSlice)
	sliced := purgeSlices * size
	var all []sameSecondDocumentRange
	from := 0
	for i := range allEpochs {
		to := from + size
		if i >= purgeSlices {
			to = sliced + (b.docs()-sliced)*(i-purgeSlices+1)/(allEpochs-purgeSlices)
		}
		all = append(all, sameSecondDocumentRange{from, to, at.Add(time.Duration(i) * epochGap)})
		from = to
	}
	return all
}

// copyOf copies the data set for a section that modifies it.
func (b *BenchmarkRun) copyOf(d *expiringDataset, name string) (dir string, err error) {
	b.progress.Start("copying the data set", 1)
	defer b.progress.Stop()
	dir = b.path(name)
	return dir, copyFolder(dir, d.dir)
}
