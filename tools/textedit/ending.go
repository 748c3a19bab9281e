package textedit

import (
	"bytes"
	"strings"
)

// ending returns the line ending that most lines of the text have, of two as
// frequent the one that comes first, or "" if it has none.
func (t text) ending() string {
	switch {
	case t.crlf == 0 && t.lf == 0:
		return ""
	case t.crlf > t.lf:
		return "\r\n"
	case t.crlf < t.lf:
		return "\n"
	}
	if at := bytes.IndexByte(t.raw, '\n'); at > 0 && t.raw[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// rendering is a new text in the endings of a file.
type rendering struct {
	t      text
	plain  []byte   // with the file's usual ending
	usual  string   // that ending
	lines  []string // of the new text; nil if plain is right everywhere
	origin []int    // by line: the line of the old text whose ending it keeps, or -1
	most   int      // length that it takes at most
}

// render prepares a new text, to stand in place of old. In a file without line
// endings it is taken as it was sent. Elsewhere CRs before an LF are part of the
// ending, also if there are several, unless the old text has such lines too.
func (t text) render(old, replacement string) *rendering {
	r := &rendering{t: t, usual: t.ending()}
	if r.usual == "" {
		r.plain, r.most = []byte(replacement), len(replacement)
		return r
	}
	flat := flatten(replacement)
	if !strings.Contains(old, "\r\n") {
		flat = trimCRs(flat)
	}
	r.plain = []byte(strings.ReplaceAll(flat, "\n", r.usual))
	r.most = len(flat) + strings.Count(flat, "\n")
	if t.crlf > 0 && t.lf > 0 && strings.Contains(flat, "\n") {
		r.lines = strings.Split(flat, "\n")
		r.origin = keptEndings(strings.Split(old, "\n"), r.lines)
	}
	return r
}

// trimCRs removes the CRs before every LF.
func trimCRs(s string) string {
	if !strings.Contains(s, "\r\n") {
		return s
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(s, "\n") {
		if body, ok := strings.CutSuffix(line, "\n"); ok {
			line = strings.TrimRight(body, "\r") + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// at returns the new text for the raw bytes from start to end.
func (r *rendering) at(start, end int) []byte {
	out := r.plain
	if r.lines != nil {
		out = r.mixed(r.t.raw[start:end])
	}
	if start == r.t.body && r.t.body > 0 {
		out = bytes.TrimPrefix(out, []byte(bom)) // the file has one already
	}
	if after := r.t.raw[end:]; r.usual != "" && (bytes.HasPrefix(after, []byte("\n")) || bytes.HasPrefix(after, []byte("\r\n"))) {
		out = bytes.TrimRight(out, "\r") // half an ending, before one
	}
	return out
}

// mixed writes the new text with the endings of a region where its lines were
// there, and the usual one elsewhere.
func (r *rendering) mixed(region []byte) []byte {
	endings := endingsOf(region)
	var out []byte
	for i, line := range r.lines {
		out = append(out, line...)
		switch {
		case i == len(r.lines)-1:
		case r.origin[i] >= 0:
			out = append(out, endings[r.origin[i]]...)
		default:
			out = append(out, r.usual...)
		}
	}
	return out
}

// endingsOf lists the line endings of a region.
func endingsOf(region []byte) []string {
	var all []string
	for line := range bytes.Lines(region) {
		switch {
		case bytes.HasSuffix(line, []byte("\r\n")):
			all = append(all, "\r\n")
		case bytes.HasSuffix(line, []byte("\n")):
			all = append(all, "\n")
		}
	}
	return all
}

// keptEndings returns, for each line of a new text but the last, which has no
// ending, the line of the old text whose ending it keeps, or -1.
func keptEndings(old, replacement []string) []int {
	a := aligner{old: old[:len(old)-1], now: replacement[:len(replacement)-1]}
	a.origin = make([]int, len(a.now))
	for i := range a.origin {
		a.origin[i] = -1
	}
	a.align(span{0, len(a.old)}, span{0, len(a.now)})
	return a.origin
}

// aligner finds the lines that an old and a new text share.
type aligner struct {
	old, now []string
	origin   []int
}

// span is a range of lines.
type span struct{ from, to int }

func (s span) len() int { return s.to - s.from }

// align pairs equal lines: those at both ends, then those of a longest common
// subsequence. Between them as many lines as were there are taken for the same
// lines, changed.
func (a *aligner) align(old, now span) {
	for old.len() > 0 && now.len() > 0 && a.old[old.from] == a.now[now.from] {
		a.origin[now.from] = old.from
		old.from, now.from = old.from+1, now.from+1
	}
	for old.len() > 0 && now.len() > 0 && a.old[old.to-1] == a.now[now.to-1] {
		old.to, now.to = old.to-1, now.to-1
		a.origin[now.to] = old.to
	}
	const most = 1 << 20 // cells of the table that is filled
	if old.len()*now.len() <= most {
		old, now = a.alignCommon(old, now)
	}
	a.pair(old, now)
}

// pair takes the lines of two spans for the same ones, if they are as many.
func (a *aligner) pair(old, now span) {
	if old.len() == now.len() {
		for i := range now.len() {
			a.origin[now.from+i] = old.from + i
		}
	}
}

// alignCommon pairs the lines of a longest common subsequence and what is between
// them. It returns what is left after the last of them.
func (a *aligner) alignCommon(old, now span) (restOld, restNow span) {
	width := now.len() + 1
	longest := make([]int32, (old.len()+1)*width) // of what follows line i and line j
	for i := old.len() - 1; i >= 0; i-- {
		for j := now.len() - 1; j >= 0; j-- {
			if a.old[old.from+i] == a.now[now.from+j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	restOld, restNow = old, now
	for i, j := 0, 0; i < old.len() && j < now.len(); {
		switch {
		case a.old[old.from+i] == a.now[now.from+j]:
			a.pair(span{restOld.from, old.from + i}, span{restNow.from, now.from + j})
			a.origin[now.from+j] = old.from + i
			i, j = i+1, j+1
			restOld.from, restNow.from = old.from+i, now.from+j
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return restOld, restNow
}
