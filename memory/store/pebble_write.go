package store

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// commit is a batch on its way.
type commit struct {
	kv   *pebbleKV
	b    *pebble.Batch
	once sync.Once
	err  error
}

func (c *commit) Wait() error {
	c.once.Do(func() {
		if c.b == nil {
			return
		}
		err := c.b.SyncWait()
		if err != nil {
			c.kv.fault.set("write", err)
		}
		c.err = c.kv.fault.get()
		_ = c.b.Close()
		c.b = nil
	})
	return c.err
}

func (kv *pebbleKV) Apply(ops []Op) (Commit, error) {
	c, err := kv.apply(ops, true)
	if err != nil {
		return nil, err // not a nil *commit in an interface
	}
	return c, nil
}

func (kv *pebbleKV) ApplyUnsynced(ops []Op) error {
	_, err := kv.apply(ops, false)
	return err
}

func (kv *pebbleKV) apply(ops []Op, synced bool) (c *commit, err error) {
	if kv.o.ReadOnly {
		return nil, fmt.Errorf("write: %w", ErrReadOnly)
	}
	if err := kv.enter(); err != nil {
		return nil, err
	}
	defer kv.leave()
	kv.write.Lock()
	defer kv.write.Unlock()
	if len(ops) == 0 {
		return &commit{kv: kv}, nil
	}
	size := 0
	for _, op := range ops {
		size += len(op.Key) + len(op.Value) + 12
	}
	b := kv.db.NewBatchWithSize(size)
	for _, op := range ops {
		switch op.Kind {
		case Set:
			err = b.Set(op.Key, op.Value, nil)
		case Delete:
			kv.deletes++
			err = b.Delete(op.Key, nil)
		case DeleteRange:
			if bytes.Compare(op.Key, op.Value) < 0 {
				kv.deletes += tidyDeletes // who knows how many
				err = b.DeleteRange(op.Key, op.Value, nil)
			}
		default:
			err = fmt.Errorf("op of kind %d: a bug in this program", op.Kind)
		}
		if err != nil {
			_ = b.Close()
			return nil, fmt.Errorf("gather a batch: %w", err)
		}
	}
	if b.Empty() {
		return &commit{kv: kv}, b.Close()
	}
	if err := kv.makeRoom(int64(b.Len())); err != nil {
		_ = b.Close()
		return nil, err
	}
	return kv.commit(b, synced)
}

// commit hands a batch to Pebble; kv.write is held and a call has begun.
func (kv *pebbleKV) commit(b *pebble.Batch, synced bool) (c *commit, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, kv.panicked("write", p)
		}
	}()
	if synced {
		err = kv.db.ApplyNoSyncWait(b, pebble.Sync)
	} else {
		err = kv.db.Apply(b, pebble.NoSync)
	}
	if err != nil {
		kv.fault.set("write", err)
	}
	if err := kv.fault.get(); err != nil {
		return nil, err
	}
	if !synced {
		return nil, b.Close()
	}
	return &commit{kv: kv, b: b}, nil
}

// Sync waits for all that was applied.
func (kv *pebbleKV) Sync() error {
	if kv.o.ReadOnly {
		return nil
	}
	if err := kv.enter(); err != nil {
		return err
	}
	defer kv.leave()
	return kv.run("sync", func() error { return kv.db.LogData(nil, pebble.Sync) })
}

// How much may wait to be written before Apply waits too. Memtables: two being flushed while one is
// filled keep a fast writer going; each costs memory and, after a crash, time to replay. Sublevels of L0:
// each is one more table for every read to look into; Pebble's own limit is 12.
const (
	backlogMemtables = 3
	backlogSublevels = 16
)

// makeRoom waits while the backlog is too long, as Pebble would inside the commit. kv.write is held.
func (kv *pebbleKV) makeRoom(n int64) error {
	if kv.unstalled += n; kv.unstalled < kv.o.MemtableBytes/4 {
		return nil
	}
	kv.unstalled = 0
	for {
		kv.stallMu.Lock()
		ended := kv.stall
		kv.stallMu.Unlock()
		m := kv.db.Metrics()
		if int64(m.MemTable.Size) < backlogMemtables*kv.o.MemtableBytes && m.Levels[0].Sublevels < backlogSublevels {
			return nil
		}
		select {
		case <-ended:
		case <-kv.ctx.Done():
			return ErrClosed
		case <-kv.fault.down:
			return kv.fault.get()
		}
	}
}

// wake tells makeRoom that the backlog may be shorter.
func (kv *pebbleKV) wake() {
	kv.stallMu.Lock()
	close(kv.stall)
	kv.stall = make(chan struct{})
	kv.stallMu.Unlock()
}

// flush makes tables of all that is in memory.
func (kv *pebbleKV) flush() error {
	return kv.run("flush", kv.db.Flush)
}
