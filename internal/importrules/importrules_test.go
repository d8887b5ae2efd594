package importrules

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestImportsKeepTheRules(t *testing.T) {
	imports := moduleImports(t)
	if len(imports) < 100 {
		t.Fatalf("only %d imports read; the module has more: nothing would be checked", len(imports))
	}
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.name, " ", "-"), func(t *testing.T) { check(t, r, imports) })
	}
}

func check(t *testing.T, r rule, imports []imported) {
	t.Helper()
	bound := map[string]bool{}
	for _, i := range imports {
		if !r.applies(i.pkg) || i.test && !r.tests {
			continue
		}
		bound[i.pkg] = true
		if r.forbids(i.imp) {
			t.Errorf("%s: package %s imports %s; %s: %s", i.file, i.pkg, i.imp, r.name, r.reason)
		}
	}
	if len(bound) == 0 {
		t.Error("the rule binds no package of the module: it cannot fail")
	}
	t.Logf("binds %d packages", len(bound))
}

// A rule whose pattern is wrong would forbid nothing, or everything.
func TestRulesForbidWhatTheySay(t *testing.T) {
	for _, r := range rules {
		if !r.forbids(r.witness) {
			t.Errorf("%s: does not forbid %s", r.name, r.witness)
		}
		if r.forbids(r.innocent) {
			t.Errorf("%s: forbids %s", r.name, r.innocent)
		}
	}
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath string
	Standard   bool
	CgoFiles   []string
}

// Who embeds the stack builds the root package and all it imports: that must be
// little, the same everywhere, and Go.
func TestRootPackageBringsLittle(t *testing.T) {
	unwanted := under("github.com/google/gopacket", "github.com/spf13", "github.com/vishvananda",
		"github.com/stretchr", "pgregory.net", "./xdp", "./bpf", "./link/raw", "./link/auto", "./cmd", "testing")
	for _, system := range []string{"linux", "darwin", "windows"} {
		deps := dependencies(t, system)
		t.Logf("%s: %d packages", system, len(deps))
		for _, p := range deps {
			if unwanted(short(p.ImportPath)) {
				t.Errorf("%s: the root package brings %s; find it with go mod why -m, or go list -deps", system, p.ImportPath)
			}
			if !p.Standard && len(p.CgoFiles) > 0 {
				t.Errorf("%s: the root package brings C in %s", system, p.ImportPath)
			}
		}
	}
}

// dependencies lists the root package and all that it imports, directly or not.
func dependencies(t *testing.T, system string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,CgoFiles", module)
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=1")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v: %s", module, err, said.String())
	}
	var deps []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return deps
		} else if err != nil {
			t.Fatal(err)
		}
		deps = append(deps, p)
	}
}
