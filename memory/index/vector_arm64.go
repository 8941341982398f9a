package index

// Every arm64 processor that Go runs on has these instructions.
func dotRows(q []int16, rows []int8, stride int, out []int32) {
	if len(out) > 0 && len(q) >= stride && len(rows) >= stride*len(out) {
		dotNEON(&q[0], &rows[0], len(out), stride, &out[0])
	}
}

// dotNEON is dotGo; stride is a multiple of lane.
//
//go:noescape
func dotNEON(q *int16, rows *int8, n, stride int, out *int32)
