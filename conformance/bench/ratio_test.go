package bench

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// scored is a contestant that took so many milliseconds for each sample, by
// question and round.
func scored(name string, took map[string][][]int) *contestant {
	c := &contestant{name: name}
	for q, rounds := range took {
		for round, samples := range rounds {
			t := newTurn(context.Background(), round, 0)
			for _, ms := range samples {
				t.sample(q, time.Duration(ms)*time.Millisecond)
			}
			c.taken = append(c.taken, t)
		}
	}
	return c
}

// TestRatio compares contestants by figures that a person can work out.
func TestRatio(t *testing.T) {
	tests := []struct {
		name           string
		subject, peer  map[string][][]int
		throughput     bool
		want           target
		ratio          float64
		least, most    float64
		holds, decides bool
	}{
		{
			"medians, not means", map[string][][]int{"": {{1, 2, 900}, {3, 4, 5}}}, map[string][][]int{"": {{1, 1, 1}, {8, 8, 8}}}, false,
			atMost(3), 3, 0.5, 2, true, true,
		},
		{
			"missed", map[string][][]int{"": {{20}, {20}}}, map[string][][]int{"": {{10}, {5}}}, false,
			faster(2), 4, 2, 4, false, true,
		},
		{
			"the geometric mean of questions", map[string][][]int{"a": {{1}}, "b": {{8}}}, map[string][][]int{"a": {{2}}, "b": {{1}}}, false,
			target{}, 2, 2, 2, false, false,
		},
		{
			"what all do in a time", map[string][][]int{"": {{1, 9}}}, map[string][][]int{"": {{1, 1}}}, true,
			throughputOf(0.25), 5, 5, 5, false, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := line{"us", "them", tt.want}.compare(scored("us", tt.subject).scores(), scored("them", tt.peer).scores(), tt.throughput)
			for _, x := range []struct {
				what      string
				got, want float64
			}{{"ratio", r.Ratio, tt.ratio}, {"least", r.Least, tt.least}, {"most", r.Most, tt.most}} {
				if math.Abs(x.got-x.want) > 1e-9 {
					t.Errorf("the %s is %v, want %v", x.what, x.got, x.want)
				}
			}
			if (r.Holds != nil) != tt.decides || tt.decides && *r.Holds != tt.holds {
				t.Errorf("the target: %s", r.verdict())
			}
		})
	}
}

func TestDifference(t *testing.T) {
	one, other := newTurn(context.Background(), 0, 0), newTurn(context.Background(), 0, 0)
	one.saw("a", []byte("x"))
	one.saw("b", nil)
	other.saw("a", []byte("y"))
	if err := difference(one.found, one.found); err != nil {
		t.Errorf("from itself: %v", err)
	}
	for want, got := range map[string][]item{"another content": other.found, "not 2": one.found[:1], `"b", not "a"`: one.found[1:]} {
		if err := difference(one.found, got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestReport has a report of a row of each kind be readable: the plot is XML, the
// samples are all there, and what is missed is said.
func TestReport(t *testing.T) {
	us, them := scored("us & co", map[string][][]int{"": {{4}}}), scored("them", map[string][][]int{"": {{2}}})
	s := &stage{T: t, contestants: []*contestant{us, them, {name: "gone", missing: "not installed"}}}
	s.hold("us & co", "them", atMost(1.5))
	s.hold("us & co", "gone", atMost(1.5))
	s.fact("memory", 400, "MiB", 300)
	o := &outcome{Row: "row", Title: "A row"}
	o.fill(s)
	r := &report{Rounds: 1, Rows: []*outcome{o, {Row: "broken", Failed: true}}}

	md := r.markdown()
	for _, want := range []string{
		"2.00× the time (2.00× the time – 2.00× the time) | at most 1.5× the time | **no**", "skipped, gone: not installed",
		"400 MiB | less than 300 MiB | **no**", "**failed**",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("the report does not say %q:\n%s", want, md)
		}
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"samples":[[4000000]]`) {
		t.Errorf("%v: %s", err, b)
	}
	plot, bars := xml.NewDecoder(strings.NewReader(r.svg())), 0
	for {
		token, err := plot.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bars++
		}
	}
	if bars != 1 {
		t.Errorf("the plot has %d bars, want 1", bars)
	}
}
