package engine

// ScanPageSizer determines how many rows of a scan a remote engine reads in a round trip. Pages grow, so that
// a long scan takes few round trips, and a short one reads few rows that it does not need.
type ScanPageSizer struct {
	size    int  // rows of the last page; 0: none yet
	expect  int  // see ReadAheadIterator; 0: not set
	sought  bool // the next page begins at a seek
	average int  // bytes of a row of the last page that had rows, rounded up; 0: there was none
}

const (
	firstPage   = 32 // rows of a first page
	pageGrowth  = 4
	mostPage    = 8192     // rows of any page
	mostBytes   = 4 << 20  // bytes of any page
	soughtBytes = 32 << 10 // bytes of a page after a seek, within the next limits
	leastSought = 8        // rows
	mostSought  = 1024
)

// Expect sets how many rows will probably be read from the current position on.
func (p *ScanPageSizer) Expect(rows int) { p.expect = rows }

// Sought records that a seek has moved the iterator, so that the next page does not continue where the
// last one ended. Such a page has a size of its own and does not grow with the pages before it.
func (p *ScanPageSizer) Sought() { p.sought = true }

// Next returns the number of rows of the next page.
func (p *ScanPageSizer) Next() int {
	n := firstPage
	switch {
	case p.expect > 0:
		n = p.expect
	case p.sought && p.average > 0:
		n = min(max(soughtBytes/p.average, leastSought), mostSought)
	case p.size > 0 && !p.sought:
		n = min(pageGrowth*p.size, mostPage)
	}
	if p.average > 0 {
		n = max(1, min(n, mostBytes/p.average))
	}
	p.size, p.expect, p.sought = n, 0, false
	return n
}

// Read records that a page has been read: the number of its rows, and the bytes of their keys and values
// together. From these it computes how many rows fit in the next page.
func (p *ScanPageSizer) Read(rows, bytes int) {
	if rows > 0 {
		p.average = bytes/rows + 1
	}
}
