package index

// Times by block: the memories of a window are looked for where the window and the block's own span meet. Memories
// come mostly in the order of time, so that most blocks lie wholly outside.

// timeBlock is how many memories, in the order of writing, share one span.
const timeBlock = 256

type span struct{ start, end int64 }

// widen takes o's times into its block's span. A span does not shrink when a memory is forgotten.
func (s *Shard) widen(o uint32) {
	if int(o)/timeBlock >= len(s.spans) {
		s.spans = append(s.spans, span{maxTime, minTime})
	}
	b, d := &s.spans[int(o)/timeBlock], &s.Docs[o]
	b.start, b.end = min(b.start, d.At), max(b.end, d.Until)
	for _, t := range d.Times {
		if !t.Duration {
			b.start, b.end = min(b.start, t.Start), max(b.end, t.End)
		}
	}
}

// Overlaps reports whether a memory meets [start, end), in Unix seconds, by when it happened or by a time that
// its words name; a duration is no time.
func (s *Shard) Overlaps(o uint32, start, end int64) bool {
	d := &s.Docs[o]
	if d.At < end && d.Until > start {
		return true
	}
	for _, t := range d.Times {
		if t.Start < end && t.End > start && !t.Duration {
			return true
		}
	}
	return false
}

// Within calls f for every memory that Overlaps [start, end), in the order of writing. Forgotten
// ones and long texts, whose segments are what is found, are left out.
func (s *Shard) Within(start, end int64, f func(o uint32)) {
	for i, b := range s.spans {
		if b.start >= end || b.end <= start {
			continue
		}
		for o := i * timeBlock; o < min(len(s.Docs), (i+1)*timeBlock); o++ {
			if s.Docs[o].Flags&(Dead|Whole) == 0 && s.Overlaps(uint32(o), start, end) {
				f(uint32(o))
			}
		}
	}
}
