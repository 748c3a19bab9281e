package bench

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The plot, in pixels. Bars begin at the line where Carrel and its peer take the
// same time, to the right where Carrel is the faster one.
const (
	plotWidth  = 1100
	labelWidth = 470
	barHeight  = 14
	lineHeight = 34
	plotTop    = 64
)

// Both a light and a dark page show these: the colours are in the middle, and the
// text follows the reader's scheme.
const plotStyle = `<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .small { font-size: 11px; fill: #57606a }
  .axis { stroke: #8c959f; stroke-width: 1 }
  .grid { stroke: #8c959f; stroke-opacity: .25 }
  .met { fill: #2da44e } .missed { fill: #d1542c } .none { fill: #6e7fa3 }
  .spread { stroke: #24292f; stroke-width: 1.5 }
  .target { stroke: #9a6700; stroke-width: 2.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9da7b3 } .spread { stroke: #e6edf3 } .target { stroke: #e3b341 }
  }
</style>
`

// svg plots how many times as fast as its peers Carrel is, on a logarithmic scale.
func (r *report) svg() string {
	type bar struct {
		row string
		ratio
	}
	var bars []bar
	low, high := 0.1, 10.0
	for _, o := range r.Rows {
		for _, l := range o.Lines {
			if l.Skipped != "" || l.Ratio == 0 {
				continue
			}
			bars = append(bars, bar{o.Row, l})
			low, high = min(low, 1/l.Most), max(high, 1/l.Least)
			if l.Limit > 0 {
				low, high = min(low, 1/l.Limit), max(high, 1/l.Limit)
			}
		}
	}
	from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	x := func(speed float64) float64 {
		return labelWidth + (math.Log10(speed)-from)/(to-from)*(plotWidth-labelWidth-70)
	}
	height := plotTop + lineHeight*len(bars) + 16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", plotWidth, height, plotWidth, height)
	b.WriteString("<title>How many times as fast as its peers Carrel is</title>\n" + plotStyle)
	b.WriteString(`<text x="8" y="20" font-weight="bold">How many times as fast as its peers Carrel is</text>` + "\n")
	b.WriteString(`<text x="8" y="38" class="small">green: the target holds; red: it does not; blue: no target. The thick stroke is the target, the thin one the spread over the rounds.</text>` + "\n")
	for e := from; e <= to; e++ {
		class := "grid"
		if e == 0 {
			class = "axis"
		}
		at := x(math.Pow(10, e))
		fmt.Fprintf(&b, `<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="small" x="%.1f" y="%d" text-anchor="middle">%s×</text>`+"\n",
			class, at, at, plotTop, height-12, at, plotTop-6, power(e))
	}
	for i, l := range bars {
		plotBar(&b, plotTop+lineHeight*i+6, l.row, l.ratio, x)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// power is a power of ten as it is read.
func power(e float64) string { return fmt.Sprintf("%.*f", int(max(0, -e)), math.Pow(10, e)) }

// plotBar draws a line of the report at a height. x is where a speed is.
func plotBar(b *strings.Builder, y int, row string, l ratio, x func(speed float64) float64) {
	class := "none"
	if l.Holds != nil && *l.Holds {
		class = "met"
	} else if l.Holds != nil {
		class = "missed"
	}
	one, is := x(1), x(1/l.Ratio)
	left, right := min(one, is), max(one, is)
	middle := y + barHeight/2
	fmt.Fprintf(b, `<text x="8" y="%d">%s: %s</text>`+"\n", y+6, html.EscapeString(row), html.EscapeString(l.Subject))
	fmt.Fprintf(b, `<text class="small" x="8" y="%d">against %s</text>`+"\n", y+20, html.EscapeString(l.Peer))
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", class, left, y, max(1, right-left), barHeight)
	fmt.Fprintf(b, `<line class="spread" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", x(1/l.Most), x(1/l.Least), middle, middle)
	if l.Limit > 0 {
		at := x(1 / l.Limit)
		fmt.Fprintf(b, `<line class="target" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", at, at, y-3, y+barHeight+3)
	}
	fmt.Fprintf(b, `<text class="small" x="%.1f" y="%d">%s×</text>`+"\n", max(right, x(1/l.Least))+6, middle+4, significant(1/l.Ratio))
}
