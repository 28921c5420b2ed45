package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/progress"
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/ttl"
)

// maxImportLine is the maximum length of a line of an import in bytes. A document may have 2 MB; blanks and
// system properties come in addition.
const maxImportLine = 8 << 20

// maxComplaints is the maximum number of refused lines that an import reports one by one.
const maxComplaints = 20

// importer runs one import command.
type importer struct {
	cli.ClientCommandFlags
	create, resume bool
	Parallel       int
	Format         string
	text           []string

	Path     string // path of the file; empty for the standard input, which has no state file
	Name     string // name of the input, for messages
	Out      io.Writer
	Errs     io.Writer
	progress *progress.Bar
	in       *countingReader
	began    time.Time // of this command
	earlier  int       // documents that the continued import has stored

	Note       importState // progress: the documents with a final result
	complained int

	// exists is called for a document that cannot be created because of a conflict. It reports whether the
	// server has the document already. If exists is nil, such a document counts as refused.
	exists   func(ctx context.Context, client *http.Client, document []byte) (existingDocumentMatch, error)
	identity string // identity of the container, if it is checked
}

// refusedDocumentsError reports that some documents were refused.
type refusedDocumentsError struct{ refused, imported int }

func (e *refusedDocumentsError) Error() string {
	return fmt.Sprintf("%s, %d imported", cli.Plural(e.refused, "document was refused",
		"documents were refused"), e.imported)
}

const importLong = "Read the documents of a file, or of the standard input for -, into a container; or, " +
	"without --db and\n" +
	"--container, a whole seed: a folder that an export of everything has written, or any other seed.\n\n" +
	"A file has one JSON value per line, or is one JSON array or CSV; it may be compressed by gzip or\n" +
	"zstd. The format is detected from the file name and the first bytes. The first row of CSV has the\n" +
	"property names: a.b is the property b of the object a. A cell with JSON is that value; other cells\n" +
	"are strings, and so are ids and the columns of --text. An empty cell creates no property.\n\n" +
	"The age of a document is that of its _ts, which exported documents have, or of its property _mayfly,\n" +
	"which has precedence and is not stored: {\"timestamp\": 1700000000}, {\"age\": \"29d\"} or\n" +
	"{\"expiresIn\": \"5m\"}. A document with neither is new.\n\n" +
	"A document replaces the one with its id, unless --create is given. A document that has already\n" +
	"expired is stored but never returned; the reaper removes it. Documents are stored in their order.\n" +
	"A refused document is reported and does not stop the others. If the server is busy, documents are\n" +
	"sent again later; if its disk is full, the import ends.\n\n" +
	"FILE.imported stores the progress. An import that was stopped or killed resumes with --continue;\n" +
	"no document is lost or stored twice.\n\n" +
	"A seed creates what does not exist: databases, containers with policies and settings, scripts,\n" +
	"users, queues and topics, then documents. If the server has a different definition, nothing is\n" +
	"written, and each difference is reported with file and line. A document that exists with different\n" +
	"content or _ts is refused. With --replace, everything is changed to the content of the seed."

// registerImport adds the flags of an import of documents.
func (i *importer) registerImport(flags *pflag.FlagSet) {
	flags.SortFlags = false
	i.Register(flags)
	cli.RegisterResultJSON(flags, &i.JSON)
	flags.BoolVar(&i.create, "create", false, "refuse a document whose id exists instead of replacing it")
	flags.BoolVar(&i.resume, "continue", false,
		"resume an interrupted import of the same file")
	flags.IntVar(&i.Parallel, "parallel", 1,
		"requests of up to 100 documents under way at once, up to 32; with more than one, feeds and\n"+
			"exports have the documents in another order than the file")
	flags.StringVar(&i.Format, "format", "auto", "auto, ndjson, json (an array) or csv")
	flags.StringSliceVar(&i.text, "text", nil, "columns of CSV whose cells are always strings")
}

// ImportCommand returns the import command.
func ImportCommand() *cobra.Command {
	var i importer
	var replace bool
	cmd := &cobra.Command{
		Use:   "import PATH",
		Short: "Read documents from a file, or a seed, into a server",
		Args:  cobra.ExactArgs(1),
		Long:  importLong,
		Example: "  mayfly import carts.ndjson.zst --db shop --container carts\n" +
			"  mayfly import carts.csv --text zip,phone --db shop --container carts\n" +
			"  mayfly import everything",
	}
	i.registerImport(cmd.Flags())
	cmd.Flags().BoolVar(&replace, "replace", false,
		"with a seed: change what differs to the content of the seed, instead of refusing it")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		i.Name, i.Out, i.Errs = args[0], cmd.OutOrStdout(), cmd.ErrOrStderr()
		i.began = ttl.SystemClock{}.Now()
		if !slices.Contains(ImportFormats, i.Format) {
			return cli.Misuse("--format is one of " + strings.Join(ImportFormats, ", "))
		}
		if i.Parallel < 1 || i.Parallel > importRequests {
			return cli.Misuse(fmt.Sprintf("--parallel is 1 to %d", importRequests))
		}
		if is, err := i.isSeed(args[0]); err != nil {
			return err
		} else if is {
			return i.seed(cmd.Context(), args[0], replace)
		} else if replace {
			return cli.Misuse("--replace goes with a seed: documents are replaced unless --create is given")
		}
		return i.file(cmd.Context(), args[0], cmd.InOrStdin())
	})
	return cmd
}

// file imports a file, or the standard input for "-".
func (i *importer) file(ctx context.Context, path string, stdin io.Reader) error {
	size := int64(-1)
	if path == "-" {
		if i.resume {
			return cli.Misuse("--continue goes with a file: what has come from the standard input is gone")
		}
		i.Name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size, i.Path = info.Size(), path
		}
		stdin = f
	}
	if i.Database == "" || i.Container == "" {
		return cli.ErrNoContainer
	}
	if i.Path != "" {
		return i.Run(ctx, stdin, size)
	}
	piped := cli.Interruptible(ctx, stdin)
	defer piped.Close()
	return i.Run(ctx, piped, size)
}

// Run imports a stream; size is its length in bytes, -1 if it is not known.
func (i *importer) Run(ctx context.Context, in io.Reader, size int64) error {
	if i.Path != "" {
		// If the container does not exist, the documents are refused as well. That error is better, since
		// it names their line.
		var gone *cli.ResponseError
		into, err := retryBusy(ctx, func() (string, error) { return i.Identity(ctx) })
		if err != nil && !(errors.As(err, &gone) && gone.Code == http.StatusNotFound) {
			return err
		}
		i.identity = into
	}
	if err := i.importStream(ctx, in, size, nil); err != nil {
		return err
	}
	if i.Path != "" {
		if err := forgetImport(i.Path); err != nil {
			return err
		}
	}
	return i.printSummary()
}

// importStream imports a stream, or the documents of docs if that is not nil.
func (i *importer) importStream(ctx context.Context, in io.Reader, size int64, docs documentSource) error {
	i.Note = importState{URL: i.URL, Container: i.Database + "/" + i.Container, Size: size, Identity: i.identity}
	if err := i.begin(); err != nil {
		return err
	}
	i.progress = progress.New(i.Errs, ttl.SystemClock{})
	defer i.progress.Stop()
	i.earlier = i.Note.Imported + i.Note.There
	i.progress.StartTask(progress.Task{Name: "importing", Total: size, Bytes: true, Unit: "documents"})
	i.in = &countingReader{in: in}
	if docs == nil {
		opened, closing, err := openDocuments(i.in, i.Name, i.Format, i.text)
		if err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
		defer closing()
		docs = opened
	}
	return i.documents(ctx, docs)
}

// printSummary prints the results of a finished import.
func (i *importer) printSummary() error {
	imported, refused := i.Note.Imported, i.Note.Refused
	if refused == 0 || i.JSON {
		line := cli.Plural(imported, "document", "documents") + " imported" + i.speed(imported)
		result := map[string]int{"imported": imported, "refused": refused}
		if err := cli.PrintResult(i.Out, i.JSON, line, result); err != nil {
			return err
		}
	}
	if refused > 0 {
		return &refusedDocumentsError{refused, imported}
	}
	return nil
}

// speed returns the time of this command, and its rate for the given number of documents, as text.
func (i *importer) speed(documents int) string {
	return progress.Speed(documents-i.earlier, "documents", ttl.SystemClock{}.Now().Sub(i.began))
}

// begin reads the progress of an earlier import, if this one continues it.
func (i *importer) begin() error {
	if !i.resume || i.Path == "" {
		return nil
	}
	state, err := readImportState(i.Path)
	if err != nil || state.Documents == 0 && state.Sent == 0 {
		return err
	}
	if now := i.Note; state.URL != now.URL || state.Container != now.Container || state.Size != now.Size {
		return cli.Misuse(fmt.Sprintf(
			"%s is of an import of %d bytes into %s at %s: begin anew without --continue",
			importStateOf(i.Path), state.Size, state.Container, state.URL))
	}
	if i.Note.Identity != state.Identity { // the container of the earlier import has been deleted
		return nil
	}
	i.Note = state
	return nil
}

// documents imports the documents of a source, in requests of several documents each.
func (i *importer) documents(ctx context.Context, docs documentSource) (err error) {
	w := newImportWindow(ctx, i)
	defer w.close()
	skip, again := i.Note.Documents, i.Note.Sent
	for read := 0; ; read++ {
		at, body, err := docs.Next()
		at.File = i.Name
		if ended := ctx.Err(); ended != nil {
			return i.stopped(ended, w.settleAll())
		}
		line := inputDocument{at: at, resent: read < again}
		var bad *badDocumentError
		switch {
		case err == io.EOF:
			return w.flush()
		case errors.As(err, &bad):
			line.why = bad.why
		case err != nil:
			return i.ended(at, errors.Join(err, w.settleAll()), "")
		default:
			line.body = bytes.Clone(body)
		}
		if read < skip {
			continue
		}
		if err := w.add(line); err != nil {
			return err
		}
	}
}

// stopped returns the error for an import that was interrupted, with its progress. If a running request has
// failed for another reason (met), the error includes this reason.
func (i *importer) stopped(why, met error) error {
	if met != nil && !errors.Is(met, why) {
		why = errors.Join(why, met)
	}
	return fmt.Errorf("%s: %w (%s imported before%s)", i.Name, why,
		cli.Plural(i.Note.Imported, "document was", "documents were"), i.howToContinue())
}

// ended returns the error for an import that ends at a position in its input, with its progress and how to
// continue it.
func (i *importer) ended(at tree.FilePosition, why error, onward string) error {
	return fmt.Errorf("%s: %w (%s imported before%s)", at, why,
		cli.Plural(i.Note.Imported, "document was", "documents were"), onward)
}

// howToContinue returns a text that says how to continue an import of which a part is done, or "" if that
// is not possible.
func (i *importer) howToContinue() string {
	if i.Path == "" || i.Note.Imported == 0 {
		return ""
	}
	return "; --continue goes on there"
}

// reportRefused reports a refused document. After maxComplaints documents it only counts them.
func (i *importer) reportRefused(at tree.FilePosition, why string) {
	i.Note.Refused++
	switch i.complained++; {
	case i.complained <= maxComplaints:
		fmt.Fprintf(i.Errs, "%s: %s\n", at, why)
	case i.complained == maxComplaints+1:
		fmt.Fprintln(i.Errs, "more documents were refused")
	}
}
