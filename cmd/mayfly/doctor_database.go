package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/ttl"
)

// errUnfit is returned by `mayfly doctor` if Mayfly servers cannot use the PostgreSQL database that it has
// examined.
var errUnfit = errors.New("a server cannot use this database: see what failed above")

// examineDatabase prints what is right and wrong with a PostgreSQL database that a server is to use. It
// returns errUnfit if a server cannot use it.
func examineDatabase(cmd *cobra.Command, url string, asJSON bool) error {
	states := map[postgres.FindingSeverity]string{postgres.Fine: findingOK, postgres.Warning: findingWarn,
		postgres.Failure: findingFail}
	var list []doctorCheckResult
	for _, f := range postgres.Examine(cmd.Context(), postgres.Options{URL: url}, ttl.SystemClock{}.Now) {
		list = append(list, doctorCheckResult{f.Check, states[f.Severity], f.Found, f.Remedy})
	}
	if err := printFindings(cmd.OutOrStdout(), asJSON, list); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(f doctorCheckResult) bool { return f.State == findingFail }) {
		return errUnfit
	}
	return nil
}
