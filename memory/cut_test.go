package memory

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// cutEverywhere does something to a copy of f's store again and again, and cuts the power at one of its writes: at each in
// the long form, else at one of every few. look sees each store that was left, open, once with nothing kept that was not
// synced and once with all of it. f is closed before. It gives the number of cuts.
func (f *fixture) cutEverywhere(few int64, do func(b *Bank) error, look func(k int64, g *fixture)) (crashes int) {
	f.t.Helper()
	if err := f.Close(); err != nil {
		f.t.Fatal(err)
	}
	if long {
		few = 1
	}
	for k := 1 + rand.Int64N(few); ; k += few {
		after := f.cutAt(k, do)
		for _, fs := range after {
			crashes++
			g := &fixture{t: f.t, fs: fs, clock: f.clock, opts: f.opts}
			g.reopen()
			look(k, g)
			g.check()
			if err := g.Close(); err != nil {
				f.t.Fatal(err)
			}
		}
		if len(after) == 0 {
			return crashes
		}
	}
}

// cutAt is what the disk holds where the power goes at the k-th write of do; nothing where do makes fewer.
func (f *fixture) cutAt(k int64, do func(b *Bank) error) (after []*vfs.MemFS) {
	f.t.Helper()
	mem := f.fs.CrashClone(vfs.CrashCloneCfg{})
	var count atomic.Int64
	var on atomic.Bool
	b, err := Open("store", withFS(f.opts, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && count.Add(1) == k {
			for _, percent := range []int{0, 100} {
				after = append(after, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(k), 3))}))
			}
		}
		return nil
	}))))
	if err != nil {
		f.t.Fatal(err)
	}
	on.Store(true)
	err = do(b)
	on.Store(false)
	if e := b.Close(); err == nil {
		err = e
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return after
}
