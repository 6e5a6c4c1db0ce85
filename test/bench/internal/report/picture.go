package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/runspan/runspan/test/bench/internal/results"
)

// Sizes of the picture in pixels.
const (
	panelWidth, panelHeight = 400, 260
	left, right             = 52, 24
	top, bottom             = 34, 40
	columns                 = 2
	legendHeight            = 36
)

// colours of the lines, told apart also by people who see no red or green (Okabe and Ito).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"}

// Picture draws the curves as an SVG: a panel each, both axes logarithmic, so that a slope means the
// same everywhere, and bars for the spread.
func Picture(curves []results.Curve) []byte {
	var out bytes.Buffer
	rows := (len(curves) + columns - 1) / columns
	width, height := columns*panelWidth, legendHeight+rows*panelHeight
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n",
		width, height)
	fmt.Fprintf(&out, `<title>CPU of the collector a span</title>`+"\n"+`<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	legend(&out, curves)
	for i, c := range curves {
		fmt.Fprintf(&out, `<g transform="translate(%d,%d)">`+"\n", i%columns*panelWidth, legendHeight+i/columns*panelHeight)
		newPanel(c).draw(&out)
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func legend(out *bytes.Buffer, curves []results.Curve) {
	if len(curves) == 0 {
		return
	}
	x := left
	for i, s := range curves[0].Series {
		fmt.Fprintf(out, `<path d="M%d 20h20" stroke="%s" stroke-width="2.5"/><text x="%d" y="24">%s</text>`+"\n",
			x, colour(i), x+26, s.Name)
		x += 46 + 7*len(s.Name)
	}
}

func colour(i int) string { return colours[i%len(colours)] }

// panel draws one curve.
type panel struct {
	results.Curve
	x, y scale
}

func newPanel(c results.Curve) panel {
	p := panel{Curve: c}
	p.x = newScale(c.X, left, panelWidth-right)
	var values []float64
	for _, s := range c.Series {
		for _, v := range s.CPU {
			// A spread as large as the median has no place on a logarithmic axis: its bar is cut.
			values = append(values, max(v.Median-v.Spread, v.Median/2), v.Median+v.Spread)
		}
	}
	p.y = newScale(values, panelHeight-bottom, top)
	return p
}

func (p panel) draw(out *bytes.Buffer) {
	fmt.Fprintf(out, `<text x="%d" y="18" font-weight="bold">by %s</text>`+"\n", left, p.Axis)
	for _, v := range p.y.ticks() {
		y := p.y.at(v)
		fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end" fill="#555">%g</text>`+"\n",
			left, y, panelWidth-right, left-6, y+4, v)
	}
	for _, v := range p.X {
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%.0f</text>`+"\n",
			p.x.at(v), panelHeight-bottom+16, v)
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
		(left+panelWidth-right)/2, panelHeight-bottom+32, p.Axis)
	fmt.Fprintf(out, `<text transform="translate(14,%d) rotate(-90)" text-anchor="middle">us a span</text>`+"\n",
		(top+panelHeight-bottom)/2)
	for i, s := range p.Series {
		p.line(out, s, colour(i))
	}
}

func (p panel) line(out *bytes.Buffer, s results.Series, colour string) {
	var line, bars strings.Builder
	for i, v := range s.CPU {
		x, command := p.x.at(p.X[i]), "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", command, x, p.y.at(v.Median))
		fmt.Fprintf(&bars, "M%.1f %.1fV%.1f", x, p.y.at(v.Median-v.Spread), p.y.at(v.Median+v.Spread))
	}
	fmt.Fprintf(out, `<path d="%s" stroke="%s" stroke-width="5" stroke-opacity=".25"/>`+"\n", bars.String(), colour)
	fmt.Fprintf(out, `<path d="%s" stroke="%s" stroke-width="2" fill="none"/>`+"\n", line.String(), colour)
}

// scale puts values on a logarithmic axis between two positions.
type scale struct{ low, high, from, to float64 }

// newScale returns a scale that holds all values and ends at ticks: 1, 2 and 5 times powers of ten,
// but for the x axis, whose ends are its values.
func newScale(values []float64, from, to float64) scale {
	s := scale{low: math.Inf(1), high: math.Inf(-1), from: from, to: to}
	for _, v := range values {
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
	if from > to { // the y axis
		// Upwards is downwards for the reciprocal: 1, 2, 5, 10 turned over are 1, 1/2, 1/5, 1/10.
		s.low, s.high = tickBelow(s.low), 1/tickBelow(1/s.high)
	}
	return s
}

// at returns the position of v; what lies outside of the scale is put at its end.
func (s scale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	if s.low == s.high {
		return (s.from + s.to) / 2
	}
	return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
}

// tickBelow returns the largest of 1, 2 and 5 times the powers of ten that is not above v.
func tickBelow(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{5, 2} {
		if step*power <= v {
			return step * power
		}
	}
	return power
}

func (s scale) ticks() []float64 {
	var ticks []float64
	for power := math.Pow(10, math.Floor(math.Log10(s.low))); power <= s.high; power *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if v := step * power; v >= s.low*0.999 && v <= s.high*1.001 {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}
