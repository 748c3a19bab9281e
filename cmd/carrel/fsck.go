package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

// fsckReport is what fsck found, as it is printed for programs.
type fsckReport struct {
	// OK says that nothing is lost.
	OK bool `json:"ok"`
	*workspace.Checked
}

func (c *cli) fsck() *cobra.Command {
	var a asking
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "Check the data directory: records, contents, caches and refs",
		Long: "Replay every stream of every project and check every record, content, checkpoint, copy, repository and\n" +
			"ref. It says what is wrong, where, how bad, and what to do, and changes nothing; other processes may\n" +
			"go on meanwhile. The status is 1 if something is lost, or cannot be read.\n\n" +
			"--rebuild drops what can be made anew, which is checkpoints and indexes, and makes it anew.",
		Example: "  carrel fsck\n" +
			"  carrel fsck --rebuild --json",
		Args: usageArgs(cobra.NoArgs, "fsck takes no arguments"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			checked, err := c.examine(ctx, rebuild)
			if err != nil {
				return err
			}
			if a.json {
				err = c.printJSON(fsckReport{checked.Lossless(), checked})
			} else {
				err = c.print(fsckText(checked))
			}
			if err == nil && !checked.Lossless() {
				err = workspace.Errorf(workspace.Corrupt, "something is lost, or cannot be read")
			}
			return err
		}),
	}
	a.jsonFlag(cmd)
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "make checkpoints and indexes anew")
	return cmd
}

// examine checks the data directory as it is.
func (c *cli) examine(ctx context.Context, rebuild bool) (checked *workspace.Checked, err error) {
	h, err := c.open(ctx, homeOptions{asIs: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	tell, end := c.progress()
	defer end()
	checked, err = h.host.Fsck(ctx, workspace.Fsck{Rebuild: rebuild, Progress: tell})
	if err != nil {
		return nil, err
	}
	left, err := h.leftovers(ctx)
	checked.Findings = append(checked.Findings, left...)
	return checked, err
}

// leftovers looks for what dead processes have left in the data directory.
func (h *home) leftovers(ctx context.Context) ([]workspace.Finding, error) {
	const hint = "`carrel gc` removes it, and so does the next command."
	dead, err := h.data.Dead(ctx)
	if err != nil {
		return nil, err
	}
	var found []workspace.Finding
	for _, name := range dead {
		found = append(found, workspace.Finding{Kind: workspace.ProcessDead, Severity: workspace.Leftover,
			Text: fmt.Sprintf("the process %s has died", name), Hint: hint})
	}
	files, uploads, err := h.large.Abandoned(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		found = append(found, workspace.Finding{Kind: workspace.FileAbandoned, Severity: workspace.Leftover,
			Text: fmt.Sprintf("a process died while it stored a content in %s", name), Hint: hint})
	}
	for _, name := range uploads {
		found = append(found, workspace.Finding{Kind: workspace.FileAbandoned, Severity: workspace.Leftover, ID: name,
			Text: "a process died while it sent a content to the blob store", Hint: "`carrel gc` removes it."})
	}
	repos, err := h.repos.Unfinished()
	if repos > 0 {
		found = append(found, workspace.Finding{Kind: workspace.FileAbandoned, Severity: workspace.Leftover,
			Text: fmt.Sprintf("%s died while it made a managed repository", count(repos, "process", "processes")), Hint: "`carrel gc` removes it."})
	}
	return found, err
}

// fsckText is a report for a person.
func fsckText(checked *workspace.Checked) string {
	var b strings.Builder
	bad := map[workspace.Severity]int{}
	for _, f := range checked.Findings {
		bad[f.Severity]++
		state := string(f.Severity)
		if f.Mended {
			state = "mended"
		}
		fmt.Fprintf(&b, "%-9s%s%s: %s\n", state, f.Kind, where(f), printable(f.Text))
		if !f.Mended {
			fmt.Fprintf(&b, "         %s\n", printable(f.Hint))
		}
	}
	fmt.Fprintf(&b, "checked: %s, %s, %s, %s (%s), %s, %s, %s\n",
		count(checked.Projects, "project", "projects"), count(checked.Streams, "stream", "streams"), count(int(checked.Records), "record", "records"),
		count(checked.Contents, "content", "contents"), bytesText(checked.Bytes), count(checked.Checkpoints, "checkpoint", "checkpoints"),
		count(checked.Repos, "repo", "repos"), count(checked.Refs, "ref", "refs"))
	if checked.Rebuilt > 0 {
		fmt.Fprintf(&b, "made anew: %s\n", count(checked.Rebuilt, "checkpoint", "checkpoints"))
	}
	if len(checked.Findings) == 0 {
		return b.String() + "nothing is wrong"
	}
	return b.String() + fmt.Sprintf("found: %s, %s, %s", count(bad[workspace.Loss], "loss", "losses"),
		count(bad[workspace.Fault], "fault", "faults"), count(bad[workspace.Leftover], "leftover", "leftovers"))
}

// where says what a finding is about.
func where(f workspace.Finding) string {
	var b strings.Builder
	add := func(text string) {
		if text != "" {
			b.WriteString(" " + printable(text))
		}
	}
	if f.Project != defaultProject {
		add(f.Project)
	}
	add(f.Stream)
	if f.Seq > 0 {
		add(fmt.Sprintf("@%d", f.Seq))
	}
	add(string(f.Path))
	add(string(f.Repo))
	add(f.Ref)
	add(f.ID)
	return b.String()
}

// count is a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// bytesText is a size for a person.
func bytesText(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", size, units[unit])
}
