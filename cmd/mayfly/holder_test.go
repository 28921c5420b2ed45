package main

import (
	"strings"
	"testing"
)

// TestHolderOfLockedFile checks that holderOf finds the process that has locked a file in a list in the
// format of /proc/locks.
func TestHolderOfLockedFile(t *testing.T) {
	t.Parallel()
	const locks = "1: POSIX  ADVISORY  WRITE 4711 08:01:131073 0 EOF\n" +
		"1: -> POSIX  ADVISORY  WRITE 99 08:01:131074 0 EOF\n" +
		"2: FLOCK  ADVISORY  WRITE 4712 00:2e:131074 0 EOF\n" +
		"3: OFDLCK ADVISORY  READ -1 08:01:131075 0 EOF\n" +
		"4: POSIX  ADVISORY  WRITE 0 08:01:131076 0 EOF\nend\n"
	for inode, want := range map[uint64]int{131073: 4711, 131074: 4712, 131075: 0, 131076: 0, 1073: 0, 7: 0} {
		if got := holderOf(strings.NewReader(locks), inode); got != want {
			t.Errorf("%d: %d, want %d", inode, got, want)
		}
	}
}
