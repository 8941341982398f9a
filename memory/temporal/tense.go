package temporal

// Tense: does the sentence around a time expression look back or ahead?
//
// The evidence are forms, not meanings: past tenses and have look back; will, going to, be with -ing, plan,
// hope and the like look ahead. The nearest form inside the clause decides, then the nearest in the
// sentence; a form before the expression counts as nearer than one after it.

// tense gives -1, +1 or 0 for the sentence that holds tokens [i, j).
func (p *parser) tense(i, j int) int8 {
	best, dist := int8(0), 1<<30
	note := func(dir int8, d int) {
		if dir != 0 && d < dist {
			best, dist = dir, d
		}
	}
	penalty := 0
	for k := i - 1; k >= 0 && k > i-40; k-- {
		if b := p.boundary(k); b == 2 {
			break
		} else if b == 1 {
			penalty += 12
		}
		note(p.form(k), (i-1-k)+penalty)
	}
	penalty = 2
	for k := j; k < len(p.toks) && k < j+40; k++ {
		if b := p.boundary(k); b == 2 {
			break
		} else if b == 1 {
			penalty += 12
		}
		note(p.form(k), (k-j)+penalty)
	}
	return best
}

// boundary is 2 where token k ends a sentence, 1 where it parts clauses, else 0.
func (p *parser) boundary(k int) int {
	t := &p.toks[k]
	if t.kind == aWord {
		if t.w != nil && (t.w.s == "but" || t.w.s == "so") {
			return 1
		}
		return 0
	}
	switch t.mark {
	case '.', '!', '?':
		if t.mark == '.' && k+1 < len(p.toks) && !p.toks[k+1].space {
			return 0 // inside a number or an abbreviation
		}
		return 2
	case ';', ':', '\n':
		return 1
	case ',', '(', ')':
		return 1
	case '-':
		if t.space {
			return 1
		}
	}
	return 0
}

// form is the tense that token k is evidence of.
func (p *parser) form(k int) int8 {
	w := p.toks[k].w
	if w == nil {
		return 0
	}
	switch {
	case w.cls&(cPast|cHave) != 0:
		// "left" and "lost" are past; "is left", "to have" and "will have" are not evidence of it
		if w.cls&cHave != 0 && k > 0 && (p.is(k-1, "to") || p.has(k-1, cFuture)) {
			return +1
		}
		if w.cls&cHave != 0 && !p.perfect(k) {
			return 0
		}
		return -1
	case w.cls&cFuture != 0:
		if k > 0 && (p.has(k-1, cHave|cPast) || p.is(k-1, "been")) { // had planned, was planning
			return -1
		}
		return +1
	case w.cls&cGerund != 0:
		for b := k - 1; b >= 0 && b >= k-3; b-- {
			if p.has(b, cPast) {
				return -1
			}
			if p.has(b, cBe) {
				return +1
			}
			if p.boundary(b) != 0 {
				break
			}
		}
		if p.is(k, "going") && p.is(k+1, "to") {
			return +1
		}
	case w.cls&cPresent != 0 && w.cls&cBe == 0:
		if w.s == "starts" || w.s == "start" || w.s == "begins" || w.s == "begin" || w.s == "opens" || w.s == "leaves" || w.s == "leave" || w.s == "arrives" || w.s == "arrive" || w.s == "open" {
			return +1
		}
	case w.cls&cBe != 0 && !p.has(k, cAmPm):
		// "the meeting is on Friday": be right before the expression
		for b := k + 1; b < k+3; b++ {
			if p.has(b, cWeekday|cMonth) {
				return +1
			}
			if !p.has(b, cPrep) && !p.is(b, "the") {
				break
			}
		}
	}
	return 0
}

// perfect reports whether the have at k is followed by a participle within three words ("have just been").
func (p *parser) perfect(k int) bool {
	for b := k + 1; b < len(p.toks) && b <= k+3; b++ {
		if p.has(b, cPast) {
			return true
		}
		if p.boundary(b) != 0 {
			return false
		}
	}
	return false
}
