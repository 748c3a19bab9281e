package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

var update = flag.Bool("update", false, "write the table of settings in README.md anew")

// inForce returns the settings that a command line comes to, each with where it is from.
func (w *world) inForce(args ...string) map[string]string {
	w.Helper()
	got := map[string]string{}
	for line := range strings.Lines(w.carrel(append([]string{"serve", "--check-config"}, args...)...)) {
		if f := strings.Fields(line); f[0] != "SETTING" && f[0] != "data" {
			got[f[0]] = strings.Join(f[1:], " ")
		}
	}
	return got
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	w.write("carrel.yaml", "# ours\naddr: 127.0.0.1:1\nlimit-burst: 7\nlimit-rate: 1.5\ndrain: 3s\nproject: \"12\"\ntokens: true\norigin:\n  - https://a.example\n  - https://b.example\n")
	w.write("other.yaml", "addr: 127.0.0.1:9\n")
	w.Setenv("CARREL_CONFIG", "other.yaml")
	w.Setenv("CARREL_LIMIT_BURST", "8")
	w.Setenv("CARREL_LIMIT_RATE", "2.5")
	w.Setenv("CARREL_OIDC_AUDIENCE", "https://x.example/mcp, y")
	w.Setenv("CARREL_OIDC_ISSUER", "https://issuer.example")
	want := map[string]string{
		"addr": "127.0.0.1:1 carrel.yaml, line 2", "limit-burst": "9 command line", "limit-rate": "2.5 CARREL_LIMIT_RATE",
		"drain": "3s carrel.yaml, line 5", "project": "12 carrel.yaml, line 6", "tokens": "true carrel.yaml, line 7",
		"origin":        "[https://a.example,https://b.example] carrel.yaml, line 8",
		"oidc-audience": "[https://x.example/mcp,y] CARREL_OIDC_AUDIENCE", "oidc-issuer": "https://issuer.example CARREL_OIDC_ISSUER",
	}
	if d := cmp.Diff(want, w.inForce("--config", "carrel.yaml", "--limit-burst", "9")); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	if got := w.inForce()["addr"]; got != "127.0.0.1:9 other.yaml, line 1" {
		t.Errorf("with CARREL_CONFIG: got %q", got)
	}
	// An empty variable is as none, and a flag replaces the whole list of the file.
	w.Setenv("CARREL_LIMIT_BURST", "")
	got := w.inForce("--config", "carrel.yaml", "--origin", "https://c.example")
	if got["limit-burst"] != "7 carrel.yaml, line 3" || got["origin"] != "[https://c.example] command line" {
		t.Errorf("got %v", got)
	}
}

// TestSettingsOfAllCommands finds the data directory and the project of a server by
// its configuration.
func TestSettingsOfAllCommands(t *testing.T) {
	w := newWorld(t)
	w.write("carrel.yaml", "data: elsewhere\nproject: p\naddr: 127.0.0.1:1\n")
	w.Setenv("CARREL_DATA", "")
	w.Setenv("CARREL_CONFIG", "carrel.yaml")
	w.carrel("repo", "add", "app")
	w.has(w.carrel("workspace", "create", "/agents/a"), "/agents/a")
	w.has(w.carrel("__complete", "workspace", "show", "/agents/"), "/agents/a\n")
	w.Setenv("CARREL_CONFIG", "")
	w.has(w.carrel("workspace", "list", "--data", "elsewhere", "--project", "p"), "/agents/a")
	w.Setenv("CARREL_PROJECT", "none")
	w.fails(workspace.NotExist, `there is no project "none"`, "workspace", "list", "--data", "elsewhere")
}

func TestConfigurationRefused(t *testing.T) {
	w := newWorld(t)
	tests := []struct{ text, want string }{
		{"oidc-isuer: https://x.example\n", "carrel.yaml: line 1: there is no setting \"oidc-isuer\"\nDid you mean oidc-issuer?\n"},
		{"addr: 127.0.0.1:1\nOIDC_Issuer: x\n", "line 2: there is no setting \"OIDC_Issuer\"\nDid you mean oidc-issuer?\n"},
		{"zzz: 1\n", "The settings are: "},
		{"config: x\n", "there is no setting \"config\""},
		{"addr: a\naddr: b\n", "line 2: addr stands there twice"},
		{"addr: [a, b]\n", "carrel.yaml, line 1: addr: it takes one value, not a list"},
		{"limit-burst: many\n", "carrel.yaml, line 1: limit-burst: must be an integer"},
		{"tokens: 'yes'\n", "tokens: must be true or false"},
		{"addr:\n", "line 1: addr has no value"},
		{"addr: {host: a}\n", "line 1: addr is neither a value nor a list"},
		{"origin: [[a]]\n", "origin is a list with something other than values in it"},
		{"- addr\n", "line 1: it is no mapping"},
		{"addr: a\n---\naddr: b\n", "more than one document"},
		{"addr: \"\n", "carrel.yaml: yaml: "},
	}
	for _, tt := range tests {
		w.write("carrel.yaml", tt.text)
		w.fails(workspace.Invalid, tt.want, "serve", "--config", "carrel.yaml", "--check-config")
	}
	w.write("carrel.yaml", "# nothing\n")
	w.has(w.carrel("serve", "--config", "carrel.yaml", "--check-config"), "CARREL_DATA")
	w.fails(workspace.Unavailable, "the configuration file: ", "version", "--config", "none.yaml")
	w.Setenv("CARREL_LIMIT_RATE", "fast")
	w.fails(workspace.Invalid, "CARREL_LIMIT_RATE: limit-rate: must be a number", "serve", "--check-config")
}

// TestCheckConfig refuses what carrel serve would refuse.
func TestCheckConfig(t *testing.T) {
	w := newWorld(t)
	w.fails(workspace.Permission, "no authorization is configured", "serve", "--check-config", "--addr", ":7717")
	w.carrel("serve", "--check-config", "--addr", ":7717", "--tokens")
	w.fails(workspace.Invalid, "no URL that clients reach a server by", "serve", "--check-config", "--tokens", "--url", "carrel.example")
	w.write("cert.pem", "none\n")
	r := w.try("", "serve", "--check-config", "--tls-cert", "cert.pem", "--tls-key", "cert.pem")
	if r.status != statusRefused {
		t.Errorf("a certificate that is none: got status %d, %s", r.status, r.stderr)
	}
	w.carrel("serve", "--check-config", "--blobs", "s3://bucket/prefix?region=eu-central-1")
	w.fails(workspace.Invalid, "", "serve", "--check-config", "--blobs", "bucket")
	w.misused("--tls-cert and --tls-key go together", "serve", "--check-config", "--tls-cert", "cert.pem")
	w.misused("--log-level", "serve", "--check-config", "--log-level", "loud")
	if _, err := os.Stat("data"); !os.IsNotExist(err) {
		t.Errorf("the data directory was made: %v", err)
	}
}

// TestSampleConfigurations checks the files that are shown and shipped.
func TestSampleConfigurations(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```yaml\n")
	shown, _, _ := strings.Cut(rest, "```")
	shipped, err := os.ReadFile(filepath.Join("deploy", "carrel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, text := range []string{shown, string(shipped)} {
		w.write("carrel.yaml", text)
		got := w.inForce("--config", "carrel.yaml")
		for _, key := range []string{"addr", "url", "tokens", "log-format"} {
			if !strings.Contains(got[key], "carrel.yaml, line ") {
				t.Errorf("%s is %q in\n%s", key, got[key], text)
			}
		}
	}
}

// The table of settings stands between these lines of README.md.
const (
	tableBegins = "<!-- settings: written by go test ./cmd/carrel -run TestSettingsTable -update -->\n"
	tableEnds   = "<!-- end of settings -->\n"
)

// TestSettingsTable holds the documented table to the flags.
func TestSettingsTable(t *testing.T) {
	serve, _, err := (&cli{}).root().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	want := "| flag | variable | key in the file | default | what it is |\n|---|---|---|---|---|\n" +
		"| `--config` | `CARREL_CONFIG` | | | configuration file, in YAML |\n"
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;")
	for _, f := range settingsOf(serve) {
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		want += fmt.Sprintf("| `--%s` | `%s` | `%s` | %s | %s |\n", f.Name, variableOf(f.Name), f.Name, value, cell.Replace(f.Usage))
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(readme), tableBegins)
	got, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatal("README.md has no table of settings")
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(before+tableBegins+want+tableEnds+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the table in README.md is not that of the flags (-want +got); -update writes it:\n%s", d)
	}
}
