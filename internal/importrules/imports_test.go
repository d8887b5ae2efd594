package importrules

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// An imported is one import of one file.
type imported struct {
	pkg  string // of the file, relative to the module
	file string // relative to the module
	imp  string // as a rule names it
	test bool   // the file is a test
}

// moduleImports reads the imports of every Go file of the module.
func moduleImports(t *testing.T) []imported {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	var out []imported
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(root, path)
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		found, err := fileImports(root, path)
		out = append(out, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// skipFolder leaves out what the go command leaves out: hidden folders, testdata,
// and other modules.
func skipFolder(root, path string) error {
	if path == root {
		return nil
	}
	name := filepath.Base(path)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return fs.SkipDir
	}
	return nil
}

func fileImports(root, path string) ([]imported, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	var out []imported
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", rel, spec.Path.Value, err)
		}
		out = append(out, imported{
			pkg:  filepath.ToSlash(filepath.Dir(rel)),
			file: rel,
			imp:  short(imp),
			test: strings.HasSuffix(rel, "_test.go"),
		})
	}
	return out, nil
}

// short names an import as the rules do.
func short(imp string) string {
	if imp == module {
		return "./."
	}
	if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
		return "./" + ours
	}
	return imp
}
