package main

import (
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
)

// acceptDamagedLog is the name of the flag that opens a data folder although its write-ahead log is
// damaged, without the writes that the damage makes unreadable.
const acceptDamagedLog = "accept-damaged-log"

// withRemedy adds to the error of opening a folder what can be done, if the folder is in use or its log is
// damaged.
func withRemedy(err error, dir string) error {
	if errors.Is(err, engine.ErrLocked) {
		return withHolder(err, dir)
	}
	if !errors.Is(err, engine.ErrDamagedLog) {
		return err
	}
	return fmt.Errorf("%w. Nothing was changed. Bring the folder back from a backup, or go on without the acknowledged writes that lie behind "+
		"the damage: `mayfly check --%s %s` tells what is left, `mayfly serve --%[2]s` gives up the "+
		"rest, and keeps the damaged files beside",
		err, acceptDamagedLog, dir)
}
