package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// poisoned are the paths of files that lead out of a repo, or into git's own files.
var poisoned = []string{
	".git/config", "sub/.GIT/hooks/x", "git~1/x", "GIT~1/config", ".git./x", ".git /x", ".git", "sub/.gIt", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x", "x\x00y",
}

// escapes are paths that resolve to somewhere else, or follow a link, if anything can.
var escapes = []string{
	"a/../../b", "../../../../etc/passwd", "../lib/f", "l/new", "l2/new", "l", "l2", "../app-evil/x", "./../app/../../repos/../etc/passwd", "a/x", "..",
	"%2e%2e/%2e%2e/etc/passwd", "..\\..\\etc\\passwd",
}

// files tries poisoned paths with every tool that takes one, in both eras: nothing of
// the machine is read, and nothing lands where git keeps its own.
func files(t *testing.T, s *site) {
	token := s.token("--allow", everything)
	headers := s.begin("/mcp", token)
	s.ask("POST", "/mcp", call(3, "workspace.create", `{"path":"/agents/files"}`), headers...)
	quote := func(p string) string { b, _ := json.Marshal(p); return string(b) }
	for _, p := range poisoned {
		p = quote("/repos/app/" + p)
		for tool, args := range writing(p) {
			a := s.ask("POST", "/mcp", call(5, tool, args), headers...)
			if a.status != 200 || !strings.Contains(a.body, `"isError":true`) || strings.Contains(a.body, `"code":"internal"`) {
				t.Errorf("%s %s: %+v", tool, args, a)
			}
		}
	}
	for _, p := range append(escapes, poisoned...) {
		for _, top := range []string{"/repos/app/", "/workspace/", "", "/", "/repos/app/l/../"} {
			p := quote(top + p)
			for tool, args := range reading(p) {
				one, bound := s.ask("POST", "/mcp", call(6, tool, args), headers...), s.stateless("/agents/files/mcp", token, tool, args)
				if strings.HasPrefix(tool, "workspace.") {
					bound = one // not offered there
				}
				for _, a := range []answer{one, bound} {
					if a.status != 200 || strings.Contains(a.body, "root:") || strings.Contains(a.body, `"code":"internal"`) || strings.Contains(a.body, s.data) {
						t.Errorf("%s %s: %+v", tool, args, a)
					}
				}
			}
		}
		for tool, args := range writing(quote("/repos/app/" + p)) {
			if tool == "workspace.configure" {
				continue // a mount may be anywhere in the workspace
			}
			s.ask("POST", "/mcp", call(7, tool, args), headers...)
		}
	}
	for _, args := range []string{`{"path":"/repos/app/l/new","content":"x"}`, `{"path":"/repos/app/l2/new","content":"x"}`} {
		if a := s.ask("POST", "/mcp", call(8, "writeFile", args), headers...); !strings.Contains(a.body, "not_dir") {
			t.Errorf("a write through a link: %s", a.body)
		}
	}
	a := s.ask("POST", "/mcp", call(9, "listAllFiles", `{}`), headers...)
	for _, bad := range []string{".git/", ".GIT", "git~1", `\n/etc`, `"/etc`} {
		if strings.Contains(a.body, bad) {
			t.Errorf("afterwards there is %s: %s", bad, a.body)
		}
	}
	s.ask("POST", "/mcp", call(10, "git.commit", `{"message":"`+secretContent+`"}`), headers...)
}

// writing are calls of every tool that makes something at a path.
func writing(p string) map[string]string {
	return map[string]string{
		"writeFile": fmt.Sprintf(`{"path":%s,"content":%q}`, p, secretContent), "writeFileBytes": fmt.Sprintf(`{"path":%s,"base64":"AAEC"}`, p),
		"edit":  fmt.Sprintf(`{"path":%s,"oldString":"a","newString":"b"}`, p),
		"mkdir": fmt.Sprintf(`{"path":%s}`, p), "symlink": fmt.Sprintf(`{"path":%s,"target":"/etc/passwd"}`, p),
		"cp": fmt.Sprintf(`{"from":"/repos/app/a","to":%s}`, p), "mv": fmt.Sprintf(`{"from":"/repos/app/d/x","to":%s}`, p),
		"batch":               fmt.Sprintf(`{"changes":[{"op":"writeFile","path":%s,"content":"x"}]}`, p),
		"workspace.configure": fmt.Sprintf(`{"mounts":{%s:{"repoPath":"/repos/app","policy":"branch"}}}`, p),
	}
}

// reading are calls of every tool that shows what is at a path.
func reading(p string) map[string]string {
	return map[string]string{
		"readFile": `{"path":` + p + `}`, "readFileBytes": `{"path":` + p + `}`, "readFiles": `{"paths":[` + p + `]}`, "stat": `{"path":` + p + `}`, "exists": `{"path":` + p + `}`,
		"readDir": `{"path":` + p + `}`, "glob": `{"pattern":` + p + `}`, "grep": `{"pattern":"root","path":` + p + `}`, "git.diff": `{"path":` + p + `}`,
		"git.log": `{"scope":"/repos/app","path":` + p + `}`, "git.status": `{"scope":` + p + `}`, "deleteFile": `{"path":` + p + `}`, "revert": `{"path":` + p + `}`,
		"workspace.open": `{"path":` + p + `}`, "workspace.delete": `{"path":` + p + `}`, "git.commit": `{"message":"m","scope":` + p + `}`,
	}
}
