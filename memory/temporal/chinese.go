package temporal

import "time"

func (r *Resolver) chinese(text string, ref time.Time) []Mention { return nil }
