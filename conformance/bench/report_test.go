package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// report is what a run came to.
type report struct {
	Machine machine    `json:"machine"`
	Rounds  int        `json:"rounds"`
	Rows    []*outcome `json:"rows"`
}

func newReport(t *testing.T) *report {
	return &report{Machine: thisMachine(t.Context()), Rounds: sized(1, *rounds)}
}

// write writes the three files, after each row anew.
func (r *report) write(t *testing.T) {
	t.Helper()
	samples, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(reportDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"bench.md": r.markdown(), "bench.json": string(samples) + "\n", "bench.svg": r.svg()} {
		if err := os.WriteFile(filepath.Join(reportDir(), name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// log says what was played, and with -full the figures and where they are.
func (r *report) log(t *testing.T) {
	skipped := 0
	for _, o := range r.Rows {
		for _, c := range o.Contestants {
			if c.Missing != "" {
				skipped++
				t.Logf("skipped: %s: %s: %s", o.Row, c.Name, c.Missing)
			}
		}
	}
	t.Logf("%d rows, %d contestants skipped", len(r.Rows), skipped)
	if *full {
		t.Logf("%s\nwritten to %s", r.markdown(), reportDir())
	}
}

func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("# Carrel against its peers\n\n")
	for _, m := range r.Machine {
		fmt.Fprintf(&b, "- %s: %s\n", m[0], m[1])
	}
	fmt.Fprintf(&b, "- rounds: %d, taken in turn\n\n%s", r.Rounds, r.summary())
	for _, o := range r.Rows {
		o.markdown(&b)
	}
	return b.String()
}

// summary is every line with its target, in one table.
func (r *report) summary() string {
	var b strings.Builder
	b.WriteString("A ratio is that of the medians; in brackets the least and the greatest of a round.\n\n" +
		"| row | Carrel | against | ratio | target | holds |\n|---|---|---|---|---|---|\n")
	for _, o := range r.Rows {
		if o.Failed {
			fmt.Fprintf(&b, "| %s | | | **failed** | | |\n", o.Row)
		}
		for _, l := range o.Lines {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", o.Row, l.Subject, l.Peer, l.words(), dash(l.Target), l.verdict())
		}
		for _, f := range o.Facts {
			if f.Limit > 0 {
				fmt.Fprintf(&b, "| %s | %s | | %s | less than %s | %s |\n", o.Row, f.Name, f.words(), amount(f.Limit, f.Unit), verdict(f.holds()))
			}
		}
	}
	return b.String()
}

func (o *outcome) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s: %s\n\n%s\n\n", o.Row, o.Title, o.About)
	if questions := o.questions(); len(questions) > 1 {
		o.byQuestion(b, questions)
	} else {
		o.byContestant(b)
	}
	b.WriteByte('\n')
	for _, l := range o.Lines {
		fmt.Fprintf(b, "- %s against %s: %s", l.Subject, l.Peer, l.words())
		if l.Target != "" {
			fmt.Fprintf(b, "; target %s: %s", l.Target, l.verdict())
		}
		b.WriteByte('\n')
	}
	for _, f := range o.Facts {
		fmt.Fprintf(b, "- %s: %s", f.Name, f.words())
		if f.Limit > 0 {
			fmt.Fprintf(b, "; target less than %s: %s", amount(f.Limit, f.Unit), verdict(f.holds()))
		}
		b.WriteByte('\n')
	}
}

// questions are those that somebody answered, sorted.
func (o *outcome) questions() []string {
	all := map[string]bool{}
	for _, c := range o.Contestants {
		for q := range c.Questions {
			all[q] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// byContestant is the table of a row with one question.
func (o *outcome) byContestant(b *strings.Builder) {
	b.WriteString("| who | p50 | p95 | p99 | a second | samples |\n|---|---|---|---|---|---|\n")
	for _, c := range o.Contestants {
		if c.Missing != "" {
			fmt.Fprintf(b, "| %s | skipped: %s | | | | |\n", c.Name, c.Missing)
		}
		for _, s := range c.Questions {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |\n", c.Name, duration(s.P50), duration(s.P95), duration(s.P99), significant(s.PerSecond), s.count)
		}
	}
}

// byQuestion is the table of a row with several: the median and, behind the
// stroke, the 95th percentile.
func (o *outcome) byQuestion(b *strings.Builder, questions []string) {
	b.WriteString("| p50 / p95 |")
	for _, c := range o.Contestants {
		fmt.Fprintf(b, " %s |", c.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(o.Contestants)) + "\n")
	for _, q := range questions {
		fmt.Fprintf(b, "| `%s` |", strings.ReplaceAll(q, "|", `\|`))
		for _, c := range o.Contestants {
			if s, ok := c.Questions[q]; ok {
				fmt.Fprintf(b, " %s / %s |", duration(s.P50), duration(s.P95))
			} else {
				fmt.Fprintf(b, " %s |", dash(c.Missing))
			}
		}
		b.WriteByte('\n')
	}
}

// words is the ratio with its spread.
func (r ratio) words() string {
	if r.Skipped != "" {
		return "skipped, " + r.Skipped
	}
	least, most := r.inWords(r.Least), r.inWords(r.Most)
	if r.Ratio < 1 || r.Throughput {
		least, most = most, least // the smaller number first
	}
	return fmt.Sprintf("%s (%s – %s)", r.inWords(r.Ratio), least, most)
}

func (r ratio) verdict() string {
	if r.Holds == nil {
		return "–"
	}
	return verdict(*r.Holds)
}

func verdict(holds bool) string {
	if holds {
		return "yes"
	}
	return "**no**"
}

func (f fact) words() string { return amount(f.Value, f.Unit) }

func amount(x float64, unit string) string { return significant(x) + " " + unit }

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
