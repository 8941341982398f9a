package eval

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strings"
)

// HTML is the report as one page that needs nothing from anywhere: no script, no font, no link.
func (r Report) HTML() []byte {
	var b bytes.Buffer
	if err := page.Execute(&b, r); err != nil {
		panic("eval: the report page cannot be written: " + err.Error()) // a bug in the template
	}
	return b.Bytes()
}

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"bars":     barsSVG,
	"forest":   forestSVG,
	"curve":    curveSVG,
	"signed":   signed,
	"share":    share,
	"multihop": func(list []Ablation) bool { return list[0].Difference["recall@10 multi-hop"].N > 0 },
	"columns":  func() []string { return shownMeasures },
	"cell": func(m map[string]Estimate, k string) string {
		e, ok := m[k]
		if !ok {
			return ""
		}
		return fmt.Sprintf("%.3f", e.Mean)
	},
	"interval": func(m map[string]Estimate, k string) string {
		e := m[k]
		return fmt.Sprintf("%.3f to %.3f, n=%d", e.Low, e.High, e.N)
	},
	"get": func(m map[string]Estimate, k string) Estimate { return m[k] },
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>magma-mcp eval: {{.Data}}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child,td:nth-child(2){text-align:left}
tr.ours td{font-weight:600}svg{max-width:100%;height:auto}h2{margin-top:2.5rem}.note{color:#555;font-size:13px}
svg text{font:12px system-ui,sans-serif;fill:currentColor}
@media (prefers-color-scheme:dark){body{background:#161616;color:#e8e8e8}td,th{border-color:#333}.note{color:#aaa}}
</style></head><body>
<h1>magma-mcp eval</h1>
<p>{{.Data}}: {{.Conversations}} conversations, {{.Turns}} turns. {{.Version}}, {{.Made.Format "2006-01-02 15:04 MST"}}.
{{range .Degraded}}<br>Degraded: {{.}}{{end}}</p>
{{range .Tables}}
<h2>{{.Title}}</h2>
<p class="note">Whiskers and intervals: 95 % by bootstrap over {{.Clusters}} clusters ({{.ClusteredBy}}).</p>
{{bars . "recall@10"}}
{{bars . "evidence≤1000"}}
<table><tr><th>system</th><th>questions</th><th>n</th>{{range columns}}<th>{{.}}</th>{{end}}</tr>
{{range $s := .Systems}}{{range .Categories}}{{$m := .Measures}}<tr{{if eq $s.Name "magma"}} class="ours"{{end}}><td>{{$s.Name}}</td><td>{{.Name}}</td><td>{{(get $m "MRR").N}}</td>{{range columns}}<td title="{{interval $m .}}">{{cell $m .}}</td>{{end}}</tr>
{{end}}{{if .Why}}<tr><td>{{.Name}}</td><td>asking why</td><td>{{(get .Why "any@10").N}}</td><td></td><td>{{cell .Why "recall@10"}}</td><td></td><td></td><td>{{cell .Why "any@10"}}</td></tr>
{{end}}{{end}}</table>
<h3>Difference to the floors, question by question</h3>
<table><tr><th>floor</th><th>questions</th><th>recall@10</th><th>all@10</th><th>MRR</th><th>evidence≤1000</th></tr>
{{range .Differences}}<tr><td>{{.Floor}}</td><td>{{.Category}}</td><td>{{signed (get .Measures "recall@10")}}</td><td>{{signed (get .Measures "all@10")}}</td><td>{{signed (get .Measures "MRR")}}</td><td>{{signed (get .Measures "evidence≤1000")}}</td></tr>
{{end}}</table>
{{end}}
{{if .Ablations}}<h2>Ablations</h2>
<p class="note">Answerable questions; recall@10 of each setting minus that of the engine as it is. An interval that crosses the line shows no effect on these questions.</p>
<h3>recall@10</h3>{{forest .Ablations "recall@10"}}
{{if multihop .Ablations}}<h3>recall@10 of questions that need several memories</h3>{{forest .Ablations "recall@10 multi-hop"}}{{end}}
<table><tr><th>setting</th><th></th><th>recall@10</th><th>difference</th><th>all@10</th><th>MRR</th><th>multi-hop recall@10</th></tr>
{{range .Ablations}}<tr><td>{{.Setting.Name}}</td><td></td><td>{{cell .Measures "recall@10"}}</td><td>{{signed (get .Difference "recall@10")}}</td><td>{{signed (get .Difference "all@10")}}</td><td>{{signed (get .Difference "MRR")}}</td><td>{{signed (get .Difference "recall@10 multi-hop")}}</td></tr>
{{end}}</table>{{end}}
{{if .Corruption}}<h2>A graph made wrong</h2>
<p class="note">Recall@10 against the share of edges rewired; dashed: without the graph. Where the curve falls under it, the graph does harm.</p>{{curve .Corruption}}{{end}}
<h2>Knowing that nothing answers</h2>
<table><tr><th>asked</th><th></th><th>share</th></tr>
<tr><td>evidence found, confident</td><td></td><td>{{share .Confidence.FoundTrusted}}</td></tr>
<tr><td>single-hop, confident</td><td></td><td>{{share .Confidence.SingleTrusted}}</td></tr>
<tr><td>question of another conversation, not confident</td><td></td><td>{{share .Confidence.ForeignRefused}}</td></tr>
<tr><td>the same with names of this one, not confident</td><td></td><td>{{share .Confidence.RenamedRefused}}</td></tr>
<tr><td>asked of the wrong person, not confident</td><td></td><td>{{share .Confidence.WrongPersonRefused}}</td></tr></table>
<h2>Latency, ms</h2>
<table><tr><th>call</th><th></th><th>n</th><th>p50</th><th>p95</th><th>p99</th></tr>
<tr><td>remember</td><td></td><td>{{.Remember.N}}</td><td>{{printf "%.2f" .Remember.P50}}</td><td>{{printf "%.2f" .Remember.P95}}</td><td>{{printf "%.2f" .Remember.P99}}</td></tr>
<tr><td>recall</td><td></td><td>{{.Recall.N}}</td><td>{{printf "%.2f" .Recall.P50}}</td><td>{{printf "%.2f" .Recall.P95}}</td><td>{{printf "%.2f" .Recall.P99}}</td></tr>
{{range .Floors}}<tr><td>{{.Name}}</td><td></td><td>{{.N}}</td><td>{{printf "%.2f" .P50}}</td><td>{{printf "%.2f" .P95}}</td><td>{{printf "%.2f" .P99}}</td></tr>
{{end}}</table>
{{if .JudgeRefused}}<h2>Answers</h2><p>Not judged: {{.JudgeRefused}}.</p>{{end}}
{{if .Answers}}<h2>Answers</h2><table><tr><th>arm</th><th></th><th>tokens read</th><th>judge</th><th>at least 0.9</th><th>F1</th><th>BLEU-1</th></tr>
{{range .Answers}}<tr><td>{{.Name}}</td><td></td><td>{{printf "%.0f" .TokensRead}}</td><td>{{with .Judge}}{{share .}}{{end}}</td><td>{{with .Good}}{{share .}}{{end}}</td><td>{{share .F1}}</td><td>{{share .BLEU}}</td></tr>
{{end}}</table>{{end}}
</body></html>
`))

// palette holds one colour for each system; they keep their distance for the common colour blindnesses (Okabe and Ito).
var palette = []string{"#d55e00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7"}

// barsSVG draws one measure by category, one bar for each system, with whiskers.
func barsSVG(t Table, measure string) template.HTML {
	const width, height, left, bottom, top = 960.0, 300.0, 40.0, 40.0, 30.0
	var cats []string
	if len(t.Systems) > 0 {
		for _, c := range t.Systems[0].Categories {
			if _, ok := c.Measures[measure]; ok {
				cats = append(cats, c.Name)
			}
		}
	}
	if len(cats) == 0 {
		return ""
	}
	y := func(v float64) float64 { return top + (height-top-bottom)*(1-v) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s by category">`, width, height, template.HTMLEscapeString(measure))
	fmt.Fprintf(&b, `<text x="%g" y="16">%s</text>`, left, template.HTMLEscapeString(measure))
	for v := 0.0; v <= 1; v += .2 {
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#9994"/><text x="%g" y="%.1f" text-anchor="end">%.1f</text>`, left, width, y(v), y(v), left-4, y(v)+4, v)
	}
	slot := (width - left) / float64(len(cats))
	bar := slot * .8 / float64(len(t.Systems))
	for i, cat := range cats {
		x := left + float64(i)*slot
		for j, s := range t.Systems {
			for _, c := range s.Categories {
				e, ok := c.Measures[measure]
				if c.Name != cat || !ok {
					continue
				}
				bx := x + slot*.1 + float64(j)*bar
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s, %s: %.3f (%.3f to %.3f)</title></rect>`,
					bx, y(e.Mean), bar*.9, y(0)-y(e.Mean), palette[j%len(palette)], template.HTMLEscapeString(s.Name), template.HTMLEscapeString(cat), e.Mean, e.Low, e.High)
				if e.High > e.Low {
					fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="currentColor"/>`, bx+bar*.45, bx+bar*.45, y(e.Low), y(e.High))
				}
			}
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, x+slot/2, height-bottom+18, template.HTMLEscapeString(cat))
	}
	for j, s := range t.Systems {
		fmt.Fprintf(&b, `<rect x="%g" y="6" width="10" height="10" fill="%s"/><text x="%g" y="16">%s</text>`, 300+float64(j)*110, palette[j%len(palette)], 314+float64(j)*110, template.HTMLEscapeString(s.Name))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// forestSVG draws the differences of the ablations in one measure, with their intervals, about a line at
// zero. What lies past a fifth is drawn at the edge, so that the small ones can be told apart.
func forestSVG(list []Ablation, measure string) template.HTML {
	const width, row, left, most = 960.0, 22.0, 300.0, .2
	reach := .02
	for _, a := range list {
		e := a.Difference[measure]
		reach = min(most, max(reach, math.Abs(e.Low), math.Abs(e.High), math.Abs(e.Mean)))
	}
	x := func(v float64) float64 { return left + (width-left-40)*(max(-reach, min(reach, v))/reach+1)/2 }
	height := row*float64(len(list)) + 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="ablations: %s">`, width, height, template.HTMLEscapeString(measure))
	for _, v := range []float64{-reach, -reach / 2, 0, reach / 2, reach} {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="0" y2="%g" stroke="#9996"/><text x="%.1f" y="%g" text-anchor="middle">%+.3f</text>`, x(v), x(v), height-20, x(v), height-4, v)
	}
	for i, a := range list {
		e, y := a.Difference[measure], row*float64(i)+row/2
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end">%s</text><line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="2"/><circle cx="%.1f" cy="%.1f" r="4" fill="%s"><title>%s</title></circle>`,
			left-10, y+4, template.HTMLEscapeString(a.Setting.Name), x(e.Low), x(e.High), y, y, palette[0], x(e.Mean), y, palette[0], signed(e))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// curveSVG draws recall@10 against the share of wrong edges, and what is found without the graph as a line across.
func curveSVG(list []Ablation) template.HTML {
	const width, height, left, bottom = 700.0, 280.0, 60.0, 40.0
	low, high := math.Inf(1), math.Inf(-1)
	for _, a := range list {
		e, d := a.Measures["recall@10"], a.Difference["recall@10"]
		low, high = min(low, e.Low, e.Mean-d.Mean), max(high, e.High, e.Mean-d.Mean)
	}
	if high <= low {
		high = low + .01
	}
	most := .01
	for _, a := range list {
		most = max(most, a.Setting.Share)
	}
	x := func(share float64) float64 { return left + (width-left-20)*share/most }
	y := func(v float64) float64 { return 10 + (height-bottom-10)*(high-v)/(high-low) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="recall against wrong edges">`, width, height)
	for i := 0; i <= 4; i++ {
		v := low + (high-low)*float64(i)/4
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#9994"/><text x="%g" y="%.1f" text-anchor="end">%.3f</text>`, left, width, y(v), y(v), left-6, y(v)+4, v)
	}
	e := list[0].Measures["recall@10"].Mean - list[0].Difference["recall@10"].Mean
	path := fmt.Sprintf("M%.1f %.1f", x(0), y(e))
	for _, a := range list {
		m := a.Measures["recall@10"]
		if a.Setting.Corrupt == "" {
			fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="6 4"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
				left, width-20, y(m.Mean), y(m.Mean), palette[0], width-22, y(m.Mean)-5, template.HTMLEscapeString(a.Setting.Name))
			continue
		}
		path += fmt.Sprintf(" L%.1f %.1f", x(a.Setting.Share), y(m.Mean))
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s"/><circle cx="%.1f" cy="%.1f" r="4" fill="%s"/><text x="%.1f" y="%g" text-anchor="middle">%.3g %%</text>`,
			x(a.Setting.Share), x(a.Setting.Share), y(m.Low), y(m.High), palette[1], x(a.Setting.Share), y(m.Mean), palette[1], x(a.Setting.Share), height-bottom+18, a.Setting.Share*100)
	}
	fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/></svg>`, path, palette[1])
	return template.HTML(b.String())
}
