package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/migrate"
	"github.com/mayflydb/mayfly/internal/progress"
	"github.com/mayflydb/mayfly/ttl"
)

// migrateFlags holds the flags of a migrate command.
type migrateFlags struct {
	from, to       dataLocation
	compare, again bool
	json           bool
	out, errs      io.Writer
}

// migrationResult is what `mayfly migrate` prints: the amount of copied data.
type migrationResult struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Keys    uint64 `json:"keys"`
	Bytes   uint64 `json:"bytes"` // of keys and values
	Written uint64 `json:"written"`
	Differ  uint64 `json:"differ"` // keys that differed in the last comparison
}

func migrateCommand() *cobra.Command {
	var m migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Move a store from a data folder to a database, or back",
		Args:  cobra.NoArgs,
		Long: "Move a store from a data folder to a database, or back: documents, messages, definitions " +
			"and\n" +
			"clocks. No server may use the source. To move a folder while a server uses it, start the " +
			"server\n" +
			"with `mayfly serve --migrate-to postgres://...` instead.\n\n" +
			"The copy is compared with the source before the store changes over. After that the source is\n" +
			"not opened any more; --reopen permits it again. An interrupted migration continues when the\n" +
			"command is repeated. Snapshots and the certificate stay in the folder.",
	}
	flags := cmd.Flags()
	flags.StringVar((*string)(&m.from), "from", "", "data folder or postgres:// address of the source")
	flags.StringVar((*string)(&m.to), "to", "", "data folder or postgres:// address of the empty target")
	flags.BoolVar(&m.compare, "compare", false, "only compare the two; exit code 1 if they differ")
	flags.BoolVar(&m.again, "reopen", false, "only permit that the source is opened again, as it was")
	cli.RegisterResultJSON(flags, &m.json)
	cmd.RunE = cli.Run(func(cmd *cobra.Command, _ []string) error {
		m.out, m.errs = cmd.OutOrStdout(), cmd.ErrOrStderr()
		return m.run(cmd.Context())
	})
	return cmd
}

func (m *migrateFlags) run(ctx context.Context) (err error) {
	if m.from == "" || m.to == "" && !m.again {
		return cli.Misuse("give --from and --to")
	}
	if m.from == m.to {
		return cli.Misuse("--from and --to are the same place")
	}
	log := newLogger(m.errs, "warn", "text")
	o := migrate.Options{}
	if o.SourceName, err = m.from.name(); err != nil {
		return err
	}
	if o.Source, err = m.from.open(ctx, false, log); err != nil {
		if errors.Is(err, engine.ErrLocked) && !m.from.remote() {
			return fmt.Errorf("%w: stop the server, or restart it with --migrate-to", err)
		}
		return err
	}
	defer func() { err = errors.Join(err, o.Source.Close()) }()
	if m.again {
		if err := host.Reopen(ctx, o.Source); err != nil {
			return noStore(err, o.SourceName)
		}
		return cli.PrintResult(m.out, m.json, o.SourceName+" can be opened again",
			map[string]string{"from": o.SourceName})
	}
	if o.TargetName, err = m.to.name(); err != nil {
		return err
	}
	if o.Target, err = m.to.open(ctx, !m.compare, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Target.Close()) }()
	return m.move(ctx, o)
}

func noStore(err error, name string) error {
	if errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("%w: there is no store in %s", engine.ErrNotDatabase, name)
	}
	return err
}

// move migrates the data: it copies them, compares the copy with the original, and makes the copy the data
// that servers open. If the flags say so, it only compares.
func (m *migrateFlags) move(ctx context.Context, o migrate.Options) error {
	bar := progress.New(m.errs, ttl.SystemClock{})
	defer bar.Stop()
	r := migrationResult{From: o.SourceName, To: o.TargetName}
	pass, shown := 0, 0
	o.Report = func(p migrate.Progress) {
		if p.Pass != pass || pass == 0 {
			pass, shown = max(p.Pass, 1), 0
			bar.Start(map[bool]string{true: "copying", false: "comparing"}[p.Pass == 1], -1)
		}
		bar.Step(int(p.Keys) - shown)
		shown = int(p.Keys)
		r.Keys, r.Bytes = p.Keys, p.Bytes
	}
	if m.compare {
		const most = 1000
		_, differ, err := migrate.Compare(ctx, o, most)
		if bar.Stop(); err != nil {
			return err
		}
		r.Differ = differ
		text := fmt.Sprintf("%d keys were compared, %d differ", r.Keys, differ)
		if err := cli.PrintResult(m.out, m.json, text, r); err != nil || differ == 0 {
			return err
		}
		return errors.New("the two places differ")
	}
	x, err := migrate.Start(ctx, o)
	if err == nil {
		err = x.Copy(ctx)
	}
	if err == nil {
		err = x.Finish(ctx)
	}
	if bar.Stop(); err != nil {
		return noStore(err, o.SourceName)
	}
	r.Written = x.Written()
	text := fmt.Sprintf("%d keys (%d MB) are in %s now; %s is not opened any "+
		"more", r.Keys, r.Bytes>>20, r.To, r.From)
	return cli.PrintResult(m.out, m.json, text, r)
}

// openMigrating opens an engine for `serve --migrate-to`. It uses the data in the folder of --data and,
// while the server runs, copies them to the target of --migrate-to.
func (s *serveCommandState) openMigrating(ctx context.Context) (engine.Engine, error) {
	to := dataLocation(s.flags.migrateTo)
	name, err := to.name()
	if err != nil {
		return nil, err
	}
	from, err := dataLocation(s.flags.data).name()
	if err != nil {
		return nil, err
	}
	o := s.engineOptions()
	o.Logger = s.log
	source, err := pebble.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	target, err := to.open(ctx, true, s.log)
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	options := migrate.Options{Target: target, SourceName: from, TargetName: name}
	live, err := migrate.Serve(ctx, source, options, ttl.SystemClock{}, s.log)
	if err != nil {
		return nil, errors.Join(noStore(err, from), source.Close(), target.Close())
	}
	return live, nil
}
