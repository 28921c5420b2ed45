package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

const module = "github.com/mayflydb/mayfly"

// pageWriter writes the Markdown page of one package.
type pageWriter struct {
	bytes.Buffer
	fset    *token.FileSet
	pkg     *doc.Package
	anchors map[string]bool // of the headings of functions, types and methods
}

// page returns the page of a package as Markdown.
func page(root string, s documentedPackage) ([]byte, error) {
	d := pageWriter{fset: token.NewFileSet(), anchors: map[string]bool{}}
	names, err := filepath.Glob(filepath.Join(root, s.dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(d.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if d.pkg, err = doc.NewFromFiles(d.fset, files, path.Join(module, s.dir)); err != nil {
		return nil, err
	}
	for _, f := range d.pkg.Funcs {
		d.anchors[anchor(funcTitle(f))] = true
	}
	for _, t := range d.pkg.Types {
		d.anchors[anchor("type "+t.Name)] = true
		for _, f := range append(t.Funcs, t.Methods...) {
			d.anchors[anchor(funcTitle(f))] = true
		}
	}
	if err := d.write(); err != nil {
		return nil, fmt.Errorf("%s: %w", d.pkg.ImportPath, err)
	}
	return append(bytes.TrimRight(d.Bytes(), "\n"), '\n'), nil
}

func (d *pageWriter) write() error {
	fmt.Fprintf(d, "# Package %s\n\n", d.pkg.Name)
	d.code("go", fmt.Sprintf("import %q", d.pkg.ImportPath))
	d.text(d.pkg.Doc)
	if err := d.examples(d.pkg.Examples); err != nil {
		return err
	}
	if err := d.values("Constants", d.pkg.Consts); err != nil {
		return err
	}
	if err := d.values("Variables", d.pkg.Vars); err != nil {
		return err
	}
	if len(d.pkg.Funcs) > 0 {
		d.WriteString("## Functions\n\n")
	}
	if err := d.funcs(d.pkg.Funcs); err != nil {
		return err
	}
	for _, t := range d.pkg.Types {
		fmt.Fprintf(d, "## type %s\n\n", t.Name)
		if err := d.declaration(t.Decl); err != nil {
			return err
		}
		d.text(t.Doc)
		if err := d.values("", t.Consts); err != nil {
			return err
		}
		if err := d.values("", t.Vars); err != nil {
			return err
		}
		if err := d.examples(t.Examples); err != nil {
			return err
		}
		if err := d.funcs(append(t.Funcs, t.Methods...)); err != nil {
			return err
		}
	}
	return nil
}

func (d *pageWriter) values(title string, list []*doc.Value) error {
	if title != "" && len(list) > 0 {
		fmt.Fprintf(d, "## %s\n\n", title)
	}
	for _, v := range list {
		if err := d.declaration(v.Decl); err != nil {
			return err
		}
		d.text(v.Doc)
	}
	return nil
}

func (d *pageWriter) funcs(list []*doc.Func) error {
	for _, f := range list {
		fmt.Fprintf(d, "### %s\n\n", funcTitle(f))
		if err := d.declaration(f.Decl); err != nil {
			return err
		}
		d.text(f.Doc)
		if err := d.examples(f.Examples); err != nil {
			return err
		}
	}
	return nil
}

// declaration writes a declaration without its doc comment, which the caller writes as text.
func (d *pageWriter) declaration(decl ast.Decl) error {
	var b bytes.Buffer
	if err := format.Node(&b, d.fset, decl); err != nil {
		return err
	}
	d.code("go", b.String())
	return nil
}

// outputComment matches the beginning of the comment with an example's output.
var outputComment = regexp.MustCompile(`(?im)^[ \t]*// (unordered )?output:`)

// examples writes the bodies of examples, each with its output.
func (d *pageWriter) examples(list []*doc.Example) error {
	for _, e := range list {
		d.WriteString("Example:\n\n")
		var b bytes.Buffer
		err := format.Node(&b, d.fset, &printer.CommentedNode{Node: e.Code, Comments: e.Comments})
		if err != nil {
			return err
		}
		body := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(b.String(), "{"), "}"), "\n")
		if at := outputComment.FindStringIndex(body); at != nil {
			body = body[:at[0]]
		}
		d.code("go", strings.ReplaceAll(body, "\n\t", "\n"))
		if e.Output != "" {
			d.code("text", e.Output)
		}
	}
	return nil
}

func (d *pageWriter) code(language, text string) {
	fmt.Fprintf(d, "```%s\n%s\n```\n\n", language, strings.TrimSpace(text))
}

// text writes a doc comment. Code in it is written between fences, since not every Markdown renderer treats
// indented lines as code. A link to another symbol of the page becomes a link to its heading, or plain text
// if the symbol has no heading.
func (d *pageWriter) text(text string) {
	p := d.pkg.Printer()
	p.HeadingLevel = 2
	p.HeadingID = func(*comment.Heading) string { return "" }
	p.DocLinkURL = func(l *comment.DocLink) string {
		title := "type " + l.Name
		switch {
		case l.ImportPath != "":
			return ""
		case l.Recv != "":
			title = "func (" + l.Recv + ") " + l.Name
		case !d.anchors[anchor(title)]:
			title = "func " + l.Name
		}
		if !d.anchors[anchor(title)] {
			return ""
		}
		return "#" + anchor(title)
	}
	content := d.pkg.Parser().Parse(text)
	for _, block := range content.Content {
		if code, is := block.(*comment.Code); is {
			d.code("go", code.Text)
			continue
		}
		d.Write(p.Markdown(&comment.Doc{Content: []comment.Block{block}, Links: content.Links}))
		d.WriteString("\n")
	}
}

// funcTitle returns the heading of a function or method.
func funcTitle(f *doc.Func) string {
	if f.Recv == "" {
		return "func " + f.Name
	}
	return "func (" + strings.TrimPrefix(f.Recv, "*") + ") " + f.Name
}

var noWord = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchor returns the anchor of a heading, as GitHub and the documentation site generate it.
func anchor(title string) string {
	return strings.ReplaceAll(strings.ToLower(noWord.ReplaceAllString(title, "")), " ", "-")
}
