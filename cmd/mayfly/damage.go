package main

import (
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
)

// acceptDamagedLog is the flag that opens a folder without the contents of a damaged write-ahead log.
const acceptDamagedLog = "accept-damaged-log"

// withRemedy adds to the error of a damaged log how to continue, and what is lost by that.
func withRemedy(err error, dir string) error {
	if !errors.Is(err, engine.ErrDamagedLog) {
		return err
	}
	return fmt.Errorf("%w. Nothing was changed. Bring the folder back from a backup, or go on without the acknowledged writes that lie behind "+
		"the damage: `mayfly check --%s %s` tells what is left, `mayfly serve --%[2]s` gives up the rest, and keeps the damaged files beside",
		err, acceptDamagedLog, dir)
}
