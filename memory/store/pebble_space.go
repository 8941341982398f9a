package store

import "context"

// Compact merges all tables. See Compacter.
func (kv *pebbleKV) Compact(ctx context.Context) error {
	if kv.o.ReadOnly {
		return nil
	}
	if err := kv.enter(); err != nil {
		return err
	}
	defer kv.leave()
	ctx, cancel := kv.during(ctx)
	defer cancel()
	return kv.run("compact", func() error { return kv.db.Compact(ctx, []byte{}, lastKey, false) })
}

// lastKey is after every key that is in use: keys begin with the byte of their space, and none has 0xff.
var lastKey = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// during returns ctx, ended as well when the store closes or cancel is called.
func (kv *pebbleKV) during(ctx context.Context) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancel(ctx)
	unhook := context.AfterFunc(kv.ctx, end)
	return ctx, func() { unhook(); end() }
}
