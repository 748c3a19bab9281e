package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// codes are the error codes of the contract.
var codes = []string{
	"internal", "invalid", "not_exist", "exist", "is_dir", "not_dir", "permission",
	"conflict", "unbound", "closed", "limit", "unavailable", "corrupt", "canceled",
}

// checkResult holds a result against what is promised of every result. client is
// the name of the session's client: those that are known may get text alone.
func (p *play) checkResult(client string, c Call, r Result) error {
	if len(r.Blocks) == 0 {
		return fmt.Errorf("the result has no content")
	}
	facts := r.Meta[metaFacts]
	if r.IsError {
		switch {
		case !slices.Contains(codes, r.Code()):
			return fmt.Errorf("error with the unknown code %q: %s", r.Code(), r.Text(0))
		case r.Code() == "internal":
			return fmt.Errorf("internal error: %s", r.Text(0))
		case strings.TrimSpace(r.Text(0)) == "":
			return fmt.Errorf("error without a text")
		case r.Structured != nil || facts != nil:
			return fmt.Errorf("an error carries fields")
		}
		return p.checkPaths(r)
	}
	if r.Code() != "" {
		return fmt.Errorf("a success has the code %q", r.Code())
	}
	if r.Structured != nil && facts != nil {
		return fmt.Errorf("the facts are given twice")
	}
	if r.Facts() == nil && client == "" {
		return fmt.Errorf("the result has no fields")
	}
	if err := p.checkPaths(r); err != nil || r.Facts() == nil || plain(c.Tool) == "workspace_list" {
		return err
	}
	var named struct{ Workspace string }
	if err := json.Unmarshal(r.Facts(), &named); err != nil {
		return fmt.Errorf("the facts are no object: %.200s", r.Facts())
	}
	if named.Workspace == "" {
		return fmt.Errorf("the result does not name its workspace: %.200s", r.Facts())
	}
	return nil
}

// plain is a tool's name whichever way it is spelled.
func plain(tool string) string { return strings.ReplaceAll(tool, ".", "_") }

// checkPaths fails if a result shows where the files lie.
func (p *play) checkPaths(r Result) error {
	if p.hostPaths {
		return nil
	}
	for _, text := range []string{r.Text(0), string(r.Facts())} {
		if strings.Contains(text, p.env.Dir) {
			return fmt.Errorf("a host path is shown: %s", clipped(text))
		}
	}
	return nil
}
