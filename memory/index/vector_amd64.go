package index

import "golang.org/x/sys/cpu"

var dotRows = func() func(q []int16, rows []int8, stride int, out []int32) {
	if !cpu.X86.HasAVX2 {
		return dotGo
	}
	return func(q []int16, rows []int8, stride int, out []int32) {
		if len(out) > 0 && len(q) >= stride && len(rows) >= stride*len(out) {
			dotAVX2(&q[0], &rows[0], len(out), stride, &out[0])
		}
	}
}()

// dotAVX2 is dotGo; stride is a multiple of lane.
//
//go:noescape
func dotAVX2(q *int16, rows *int8, n, stride int, out *int32)
