package laboratory

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/internal/seed"
	"github.com/mayflydb/mayfly/internal/tree"
)

// SeedFiles is the content of the server, without documents and messages, in the form of a seed: a set of
// files.
type SeedFiles struct {
	Files   map[string]string       `json:"files" nullable:"false" description:"Text of each file, by path."`
	Folders []ContainerFolderInSeed `json:"folders" nullable:"false" description:"Folder of each container."`
	Left    []string                `json:"left" nullable:"false" description:"Objects that a seed cannot contain."`
}

// ContainerFolderInSeed is the path of the folder for the files of a container, including its documents.
type ContainerFolderInSeed struct {
	Database  string `json:"database"`
	Container string `json:"container"`
	Path      string `json:"path"`
}

// Verbatim marks the response as one whose text is sent unchanged: the characters <, > and & are not escaped
// in its JSON. It implements route.VerbatimResponse.
func (*SeedFiles) Verbatim() {}

func (l *Laboratory) getSeed(ctx context.Context, _ *route.NoBody) (SeedFiles, error) {
	d, err := seed.Describe(ctx, l.db, l.opt.Queues)
	if err != nil {
		return SeedFiles{}, ofQueues(err)
	}
	out := SeedFiles{Files: d.Files, Folders: make([]ContainerFolderInSeed, len(d.Folders)), Left: d.Left}
	for i, f := range d.Folders {
		out.Folders[i] = ContainerFolderInSeed(f)
	}
	for _, f := range l.opt.Faults.List() {
		out.Left = append(out.Left, "the fault on demand '"+f.ID+"'")
	}
	if out.Left == nil {
		out.Left = []string{}
	}
	return out, nil
}

// seedFileTexts maps the path of a file to its text.
type seedFileTexts map[string]string

// DecodeMember decodes the files of a seed from a JSON object that maps the path of each file to its text. It
// fails with status 400 for any other value.
func (f *seedFileTexts) DecodeMember(name string, v jsondoc.Value) error {
	*f = seedFileTexts{}
	good := v.Kind() == jsondoc.Object
	v.Each(func(path string, text jsondoc.Value) bool {
		good = good && text.Kind() == jsondoc.String
		(*f)[path] = text.Str()
		return good
	})
	if !good {
		return route.BadRequest("'" + name +
			"' must be an object that maps the paths of files to their texts.")
	}
	return nil
}

// JSONSchema returns the JSON schema of the files of a seed: an object that maps the path of each file to its
// text. It implements jsonschema.Exposer.
func (seedFileTexts) JSONSchema() (s jsonschema.Schema, err error) {
	text := new(jsonschema.Schema)
	text.AddType(jsonschema.String)
	s.AddType(jsonschema.Object)
	s.WithAdditionalProperties(text.ToSchemaOrBool())
	s.WithExamples(map[string]any{"shop/carts/container.yaml": "partitionKey: /user"})
	return s, nil
}

type applySeedRequest struct {
	Files   seedFileTexts `json:"files" missing:"The body must have 'files'." nullable:"false"`
	File    string        `json:"file,omitempty" description:"Path of the seed file, if it is not a folder."`
	Root    string        `json:"root,omitempty" description:"Prefix of the paths in error messages."`
	Replace bool          `json:"replace,omitempty" description:"Change definitions that differ. Default: fail."`
	Check   bool          `json:"check,omitempty" description:"Only compare; fail if definitions differ."`
	_       struct{}      `takes:"a seed is planted with %" body:"large"`
	_       struct{}      `additionalProperties:"false"`
}

// SeedResult is the response to a request that loads a seed: the number of changes.
type SeedResult struct {
	Made    int `json:"made" description:"Number of databases, containers, scripts and so on created."`
	Changed int `json:"changed" description:"Number of existing ones changed."`
}

// plantSeed creates what a seed defines, except for its documents. If existing definitions differ from the
// seed and Replace is not set, it fails with a list of all of them and writes nothing. Seeds are loaded one
// at a time, so that none is compared with a half-loaded one. Once loading has begun, it continues even if
// the client disconnects, so that no seed is loaded by half.
func (l *Laboratory) plantSeed(ctx context.Context, in *applySeedRequest) (SeedResult, error) {
	s, err := seed.OpenFiles(in.Files, cmp.Or(in.File, "."), in.Root)
	if err != nil {
		return SeedResult{}, route.BadRequest(err.Error())
	}
	select {
	case l.seeding <- struct{}{}:
		defer func() { <-l.seeding }()
	case <-ctx.Done():
		return SeedResult{}, ctx.Err()
	}
	to := seed.ApplyTarget{DB: l.db, Queues: l.opt.Queues, CheckWebhook: l.opt.CheckWebhook,
		Keep: !in.Replace}
	if in.Check {
		return SeedResult{}, l.ofSeed(s.Check(ctx, to))
	}
	r, err := s.Apply(context.WithoutCancel(ctx), to)
	return SeedResult{r.Made, r.Changed}, l.ofSeed(err)
}

// ofSeed converts an error of package seed to a *route.Error, or to another error that the server can send.
func (l *Laboratory) ofSeed(err error) error {
	var different *seed.DifferencesError
	var placed *tree.ErrorAtFilePosition
	switch {
	case err == nil:
		return nil
	case errors.As(err, &different):
		return &route.Error{Status: http.StatusConflict, Message: err.Error()}
	case errors.Is(err, seed.ErrNoQueues):
		return route.BadRequest(err.Error())
	case errors.As(err, &placed):
		status := http.StatusBadRequest
		if placed.Err != nil {
			f := l.opt.Classify(ofQueues(placed.Err))
			if f.Status != http.StatusInternalServerError && f.Status != http.StatusConflict {
				status = f.Status // a conflict: existing data differ from the seed
			}
		}
		return &route.Error{Status: status, Message: err.Error()}
	}
	return ofQueues(err)
}

func ofSeeds() routeTable {
	return routeTable{
		on(get, root+"/seed", "Everything on the server except documents and messages, as the files of a "+
			"seed",
			(*Laboratory).getSeed),
		on(post, root+"/seed", "Create what a seed defines, except its documents", (*Laboratory).plantSeed).
			Failing(409),
	}
}
