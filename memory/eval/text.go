package eval

import (
	"fmt"
	"strings"
)

// shownMeasures are the columns of the printed tables.
var shownMeasures = []string{"recall@5", "recall@10", "recall@20", "all@10", "any@10", "MRR", "nDCG@10", "evidence≤500", "evidence≤1000", "evidence≤2000", "share≤1000"}

// Text is the report for a terminal.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d conversations, %d turns; %s\n", r.Data, r.Conversations, r.Turns, r.Version)
	for _, d := range r.Degraded {
		fmt.Fprintf(&b, "degraded: %s\n", d)
	}
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n%s (95 %% intervals by bootstrap over %d clusters: %s)\n", t.Title, t.Clusters, t.ClusteredBy)
		wide := 14
		for _, c := range t.Systems[0].Categories {
			wide = max(wide, len(c.Name))
		}
		fmt.Fprintf(&b, "%-10s %-*s %5s", "system", wide, "questions", "n")
		for _, m := range shownMeasures {
			fmt.Fprintf(&b, " %13s", m)
		}
		b.WriteByte('\n')
		for _, s := range t.Systems {
			for _, c := range s.Categories {
				fmt.Fprintf(&b, "%-10s %-*s %5d", s.Name, wide, c.Name, c.Measures["MRR"].N)
				for _, m := range shownMeasures {
					cell := ""
					if e, ok := c.Measures[m]; ok {
						cell = fmt.Sprintf("%.3f", e.Mean)
					}
					fmt.Fprintf(&b, " %13s", cell)
				}
				b.WriteByte('\n')
			}
			if s.Why != nil {
				fmt.Fprintf(&b, "%-10s %-*s %5d recall@10 %.3f any@10 %.3f\n", s.Name, wide, "asking why", s.Why["any@10"].N, s.Why["recall@10"].Mean, s.Why["any@10"].Mean)
			}
		}
		b.WriteString("difference to the floors, question by question:\n")
		for _, d := range t.Differences {
			if d.Category == Unanswerable {
				continue
			}
			fmt.Fprintf(&b, "  - %-7s %-*s", d.Floor, wide, d.Category)
			for _, m := range []string{"recall@10", "all@10", "MRR", "evidence≤1000"} {
				if e, ok := d.Measures[m]; ok {
					fmt.Fprintf(&b, "  %s %s", m, signed(e))
				}
			}
			b.WriteByte('\n')
		}
	}
	for _, part := range []struct {
		title string
		list  []Ablation
	}{{"ablations, answerable questions, difference to the engine as it is", r.Ablations}, {"graph made wrong", r.Corruption}} {
		if len(part.list) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", part.title)
		for _, a := range part.list {
			fmt.Fprintf(&b, "  %-38s recall@10 %.3f %s  all@10 %s  MRR %s  multi-hop %s", a.Setting.Name, a.Measures["recall@10"].Mean, signed(a.Difference["recall@10"]),
				signed(a.Difference["all@10"]), signed(a.Difference["MRR"]), signed(a.Difference["recall@10 multi-hop"]))
			if e, ok := a.Difference["evidence≤1000"]; ok {
				fmt.Fprintf(&b, "  evidence≤1000 %s", signed(e))
			}
			if e, ok := a.Why["any@10"]; ok {
				fmt.Fprintf(&b, "  why any@10 %.3f", e.Mean)
			}
			b.WriteByte('\n')
		}
	}
	c := r.Confidence
	fmt.Fprintf(&b, "\nconfident: found evidence trusted %s; foreign questions refused %s, with names swapped in %s; questions without an answer or to the wrong person refused %s, single-hop trusted %s\n",
		share(c.FoundTrusted), share(c.ForeignRefused), share(c.RenamedRefused), share(c.WrongPersonRefused), share(c.SingleTrusted))
	fmt.Fprintf(&b, "remember p50 %.2f p95 %.2f p99 %.2f ms (n=%d); recall p50 %.2f p95 %.2f p99 %.2f ms (n=%d)\n",
		r.Remember.P50, r.Remember.P95, r.Remember.P99, r.Remember.N, r.Recall.P50, r.Recall.P95, r.Recall.P99, r.Recall.N)
	if r.JudgeRefused != "" {
		fmt.Fprintf(&b, "answers are not judged: %s\n", r.JudgeRefused)
	}
	for _, a := range r.Answers {
		fmt.Fprintf(&b, "answers %-8s n=%d tokens read %.0f", a.Name, a.F1.N, a.TokensRead)
		if a.Judge != nil {
			fmt.Fprintf(&b, " judge mean %s, at least 0.9 %s", share(*a.Judge), share(*a.Good))
		}
		fmt.Fprintf(&b, " F1 %s BLEU-1 %s\n", share(a.F1), share(a.BLEU))
	}
	return b.String()
}

func signed(e Estimate) string {
	if e.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", e.Mean, e.Low, e.High)
}

func share(e Estimate) string {
	if e.N == 0 {
		return "-"
	}
	if e.Low == e.High { // of one conversation no interval can be had
		return fmt.Sprintf("%.3f (n=%d)", e.Mean, e.N)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f] (n=%d)", e.Mean, e.Low, e.High, e.N)
}
