package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// outcome is what a row came to.
type outcome struct {
	Row         string   `json:"row"`
	Title       string   `json:"title"`
	About       string   `json:"about"`
	Contestants []scores `json:"contestants"`
	Lines       []ratio  `json:"lines,omitempty"`
	Facts       []fact   `json:"facts,omitempty"`
	Failed      bool     `json:"failed,omitempty"` // the contestants disagree, or one could not do it
}

// scores are what one contestant came to, by question.
type scores struct {
	Name      string           `json:"name"`
	Missing   string           `json:"missing,omitempty"`
	Questions map[string]score `json:"questions,omitempty"`
	all       score
}

// score is what a contestant took for a question. Samples are nanoseconds, by
// round.
type score struct {
	P50       time.Duration `json:"p50"`
	P95       time.Duration `json:"p95"`
	P99       time.Duration `json:"p99"`
	PerSecond float64       `json:"perSecond"`
	Samples   [][]int64     `json:"samples"`

	count   int
	perTime []float64 // seconds for one, on average, by round
}

// ratio is what a line came to: the subject's time to the peer's.
type ratio struct {
	Subject string  `json:"subject"`
	Peer    string  `json:"peer"`
	Ratio   float64 `json:"ratio"`
	Least   float64 `json:"least"` // of a round
	Most    float64 `json:"most"`
	Target  string  `json:"target,omitempty"`
	Limit   float64 `json:"limit,omitempty"`
	Holds   *bool   `json:"holds,omitempty"` // nil without a target
	Skipped string  `json:"skipped,omitempty"`
	// Throughput says that a time is that of all clients together for one piece of
	// work.
	Throughput bool `json:"throughput,omitempty"`
}

// fact is a figure without a peer.
type fact struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Limit float64 `json:"limit,omitempty"` // it should be less; 0 for none
}

func (f fact) holds() bool { return f.Value < f.Limit }

// fact notes a figure; a limit of 0 is none.
func (s *stage) fact(name string, value float64, unit string, limit float64) {
	s.facts = append(s.facts, fact{name, value, unit, limit})
}

// fill takes in what the contestants took.
func (o *outcome) fill(s *stage) {
	byName := map[string]*scores{}
	for _, c := range s.contestants {
		byName[c.name] = c.scores()
		o.Contestants = append(o.Contestants, *byName[c.name])
	}
	for _, l := range s.lines {
		subject, peer := byName[l.subject], byName[l.peer]
		if subject == nil || peer == nil {
			s.Fatalf("a line is about %s and %s: there are %v", l.subject, l.peer, slices.Sorted(maps.Keys(byName)))
		}
		if subject.Missing == "" && peer.Missing == "" && !slices.Equal(subject.questions(), peer.questions()) {
			s.Fatalf("%s answered %q, %s %q", subject.Name, subject.questions(), peer.Name, peer.questions())
		}
		o.Lines = append(o.Lines, l.compare(subject, peer, s.throughput))
	}
	o.Facts = s.facts
}

// scores adds a contestant's turns up.
func (c *contestant) scores() *scores {
	s := &scores{Name: c.name, Missing: c.missing, Questions: map[string]score{}}
	took, busy := map[string][][]time.Duration{}, map[string][]time.Duration{}
	for _, t := range c.taken {
		for q, d := range t.took {
			for len(took[q]) <= t.round {
				took[q], busy[q] = append(took[q], nil), append(busy[q], 0)
			}
			took[q][t.round] = append(took[q][t.round], d...)
			busy[q][t.round] += t.busy[q]
		}
	}
	var everything, always = make([][]time.Duration, 0), make([]time.Duration, 0)
	for q := range took {
		s.Questions[q] = newScore(took[q], busy[q])
		everything, always = append(everything, took[q]...), append(always, busy[q]...)
	}
	s.all = newScore(everything, always)
	return s
}

func newScore(took [][]time.Duration, busy []time.Duration) score {
	var sc score
	var all []time.Duration
	var total time.Duration
	for round, some := range took {
		ns := make([]int64, len(some))
		for i, d := range some {
			ns[i] = int64(d)
		}
		sc.Samples = append(sc.Samples, ns)
		all = append(all, some...)
		total += busy[round]
		if len(some) > 0 {
			sc.perTime = append(sc.perTime, busy[round].Seconds()/float64(len(some)))
		}
	}
	slices.Sort(all)
	sc.count = len(all)
	sc.P50, sc.P95, sc.P99 = quantile(all, 0.50), quantile(all, 0.95), quantile(all, 0.99)
	if total > 0 {
		sc.PerSecond = float64(len(all)) / total.Seconds()
	}
	return sc
}

// quantile is the sample below which a part of them lies, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// compare holds two contestants against each other.
func (l line) compare(subject, peer *scores, throughput bool) ratio {
	r := ratio{Subject: l.subject, Peer: l.peer, Target: l.want.words, Limit: l.want.ratio, Throughput: throughput}
	for _, s := range []*scores{subject, peer} {
		if s.Missing != "" {
			r.Skipped = s.Name + ": " + s.Missing
			return r
		}
	}
	r.Ratio = overQuestions(subject, peer, func(s score) float64 { return s.typical(throughput) })
	r.Least, r.Most = math.Inf(1), 0
	for round := range subject.rounds() {
		x := overQuestions(subject, peer, func(s score) float64 { return s.inRound(round, throughput) })
		r.Least, r.Most = min(r.Least, x), max(r.Most, x)
	}
	if l.want.ratio > 0 {
		holds := r.Ratio <= l.want.ratio
		r.Holds = &holds
	}
	return r
}

// questions are those that a contestant answered, sorted.
func (s *scores) questions() []string { return slices.Sorted(maps.Keys(s.Questions)) }

func (s *scores) rounds() int {
	for _, q := range s.Questions {
		return len(q.Samples)
	}
	return 0
}

// overQuestions is the geometric mean of the ratios that the questions have.
func overQuestions(a, b *scores, of func(score) float64) float64 {
	sum := 0.0
	for q := range a.Questions {
		sum += math.Log(of(a.Questions[q]) / of(b.Questions[q]))
	}
	return math.Exp(sum / float64(len(a.Questions)))
}

// typical is what one takes, in seconds: the median, or what it comes to when
// many are at work.
func (s score) typical(throughput bool) float64 {
	if throughput {
		return median(s.perTime)
	}
	return s.P50.Seconds()
}

func (s score) inRound(round int, throughput bool) float64 {
	if throughput {
		return s.perTime[round]
	}
	ns := slices.Sorted(slices.Values(s.Samples[round]))
	return float64(ns[(len(ns)-1)/2]) / 1e9
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// inWords says a ratio of times in the form in which it is above 1, and one of
// throughputs as the share that the subject reaches.
func (r ratio) inWords(times float64) string {
	switch {
	case r.Throughput:
		return significant(1/times) + "× the throughput"
	case times < 1:
		return significant(1/times) + "× as fast"
	}
	return significant(times) + "× the time"
}

// significant is a number with about three digits.
func significant(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// duration is a time with about three digits.
func duration(d time.Duration) string {
	switch s := d.Seconds(); {
	case s >= 1:
		return significant(s) + " s"
	case s >= 1e-3:
		return significant(s*1e3) + " ms"
	default:
		return significant(s*1e6) + " µs"
	}
}
