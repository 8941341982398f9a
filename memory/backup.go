package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// BackupReport says what a backup is.
type BackupReport struct {
	Path    string      `json:"path"`
	Check   CheckReport `json:"check"`
	Removed []string    `json:"removed,omitempty"` // older ones, over the number to keep
}

// backupName is a backup's folder: the time it was made, in UTC, so that names sort by age.
var backupName = regexp.MustCompile(`^magma-[0-9]{8}-[0-9]{6}$`)

const (
	backupLayout = "magma-20060102-150405"
	partialName  = ".partial-" // in front of the name until the backup is known to be good
)

// Backup copies the store while it is used into a new folder in dir, named by the time, opens the copy,
// checks every row of it, and only then counts it as a backup and removes what is more than keep of them
// (0: none is removed). dir is a folder for this store's backups alone. Files that do not change are shared
// with the store by hard links where they can be. A purge does not reach into earlier backups.
func (b *Bank) Backup(ctx context.Context, dir string, keep int) (BackupReport, error) {
	rep := BackupReport{}
	done, err := b.enter(ctx)
	if err != nil {
		return rep, err
	}
	defer done()
	rep, err = b.backup(ctx, dir, keep)
	return rep, storageError("backing up", err)
}

func (b *Bank) backup(ctx context.Context, dir string, keep int) (rep BackupReport, err error) {
	c, ok := b.kv.(store.Checkpointer)
	if !ok {
		return rep, Errorf(CodeInvalid, "backup: this storage backend has a way of its own")
	}
	o := b.o.Pebble
	if err := store.MakeFolder(dir, o); err != nil {
		return rep, err
	}
	name := b.o.Now().UTC().Format(backupLayout)
	have, err := store.Folders(dir, o)
	if err != nil {
		return rep, err
	}
	for _, n := range have {
		if n == name {
			return rep, Errorf(CodeBusy, "backup: one was made this second; try again")
		}
		if len(n) > len(partialName) && n[:len(partialName)] == partialName && backupName.MatchString(n[len(partialName):]) {
			if err := store.RemoveFolder(o.PathIn(dir, n), o); err != nil { // of a process that was killed
				return rep, err
			}
		}
	}
	partial := o.PathIn(dir, partialName+name)
	if err := c.Checkpoint(partial); err != nil {
		return rep, err
	}
	rep.Path = o.PathIn(dir, name)
	rep.Check, err = checkFolder(ctx, partial, b.o)
	if err == nil && len(rep.Check.Problems) > 0 {
		err = Errorf(CodeStorage, "the copy is not sound (%s): run `magma-mcp check` on the store", rep.Check.Problems[0])
	}
	if err == nil {
		err = store.RenameFolder(partial, rep.Path, o)
	}
	if err != nil {
		return rep, errors.Join(err, store.RemoveFolder(partial, o))
	}
	if keep > 0 {
		have = append(slices.DeleteFunc(have, func(n string) bool { return !backupName.MatchString(n) }), name)
		slices.Sort(have)
		for _, n := range have[:max(0, len(have)-keep)] {
			if n == name { // a clock that went back: the new one stays
				continue
			}
			if err := store.RemoveFolder(o.PathIn(dir, n), o); err != nil {
				return rep, err
			}
			rep.Removed = append(rep.Removed, n)
		}
	}
	return rep, nil
}

// Backups lists the backups in a folder, oldest first.
func Backups(dir string, o Options) ([]string, error) {
	have, err := store.Folders(dir, o.Pebble)
	if err != nil {
		return nil, storageError("looking for backups", err)
	}
	return slices.DeleteFunc(have, func(n string) bool { return !backupName.MatchString(n) }), nil
}

// BackupEvery makes a backup whenever the newest one in dir is older than every, until ctx ends; the owner
// of the Bank runs it. What fails is told to the log and tried again after a tenth of the time. It returns
// nil when ctx ends or the Bank is closed.
func (b *Bank) BackupEvery(ctx context.Context, dir string, every time.Duration, keep int) error {
	if every <= 0 {
		return Errorf(CodeInvalid, "backup: every %v; it has to be longer than nothing", every)
	}
	for {
		wait, err := b.backupDue(dir, every)
		if err == nil && wait <= 0 {
			wait = every
			var rep BackupReport
			if rep, err = b.Backup(ctx, dir, keep); err == nil {
				b.o.Logger.Info("backed up", "folder", rep.Path, "memories", rep.Check.Records, "removed", len(rep.Removed))
			}
		}
		switch {
		case ctx.Err() != nil || CodeOf(err) == CodeClosed:
			return nil
		case err != nil:
			b.lastError.Store("backup: " + err.Error())
			b.o.Logger.Error("back up", "error", err)
			wait = every / 10
		}
		timer := time.NewTimer(max(wait, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// backupDue is how long the newest backup is still good for.
func (b *Bank) backupDue(dir string, every time.Duration) (time.Duration, error) {
	have, err := Backups(dir, b.o)
	if err != nil || len(have) == 0 {
		return 0, err
	}
	last, err := time.Parse(backupLayout, have[len(have)-1])
	if err != nil {
		return 0, nil // 32 January: no time at all
	}
	now := b.o.Now().UTC()
	if last.After(now.Add(every)) { // made under a clock that was wrong
		return 0, nil
	}
	return last.Add(every).Sub(now), nil
}

// reading makes a Bank that only reads, on a store that is not its own to change.
func reading(kv store.KV, o Options) (*Bank, error) {
	b := &Bank{o: o, kv: kv, projects: map[string]store.Project{}, names: map[store.Project]string{}, models: map[uint32]string{}, loads: make(chan struct{}, loadsAtOnce), shards: map[store.Project]*resident{}, tallies: map[store.Project]tally{}}
	b.analysts.New = func() any { return &analyst{words: text.New()} }
	if _, err := kv.Get(store.SettingKey("format")); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("%w: it is no store of magma-mcp", store.ErrCorrupt)
		}
		return nil, err
	}
	return b, b.load()
}

// checkFolder opens the store in dir for reading and checks it.
func checkFolder(ctx context.Context, dir string, o Options) (rep CheckReport, err error) {
	err = withFolder(dir, o, func(_ store.KV, b *Bank) (err error) {
		rep, err = b.Check(ctx)
		return err
	})
	return rep, err
}

// withFolder opens the store in dir for reading, for the time of f.
func withFolder(dir string, o Options, f func(store.KV, *Bank) error) error {
	p := o.Pebble
	p.ReadOnly, p.OnFault = true, nil
	kv, err := store.OpenPebble(dir, p)
	if err != nil {
		return err
	}
	b, err := reading(kv, o)
	if err == nil {
		err = f(kv, b)
	}
	return errors.Join(err, kv.Close())
}

// RestoreReport says what was restored.
type RestoreReport struct {
	From  string      `json:"from"`
	Check CheckReport `json:"check"`
	// Aside is the folder in the data folder to which the store that was there was moved; "" where there was none.
	Aside string `json:"aside,omitempty"`
}

// asideLayout names the folder of a store that was replaced.
const asideLayout = "20060102-150405"

// Restore puts a copy of the backup in the folder from in the place of the store in dir, which nobody may
// have open. The copy is made and checked before anything is replaced. A store that holds memories is only
// replaced where replace says so, and stays beside in a folder of its own (RestoreReport.Aside).
func Restore(ctx context.Context, dir, from string, replace bool, o Options) (rep RestoreReport, err error) {
	rep.From = from
	o = offline(o)
	had, err := occupied(dir, o)
	if err != nil && !replace {
		return rep, storageError("looking at the store that is there (--replace moves it aside)", err)
	}
	if had && !replace {
		return rep, Errorf(CodeRefused, "restore: the store in %s holds memories; --replace moves it aside and puts the backup in its place", dir)
	}
	stamp := o.Now().UTC().Format(asideLayout)
	err = withFolder(from, o, func(kv store.KV, b *Bank) error {
		var err error
		if rep.Check, err = b.Check(ctx); err != nil {
			return err
		}
		if len(rep.Check.Problems) > 0 {
			return Errorf(CodeStorage, "the backup is not sound (%s); nothing was replaced: `magma-mcp repair` can take what is good in it", rep.Check.Problems[0])
		}
		return copyBeside(ctx, dir, "restored-"+stamp, o, o.Pebble, kv)
	})
	if err == nil {
		err = store.Swap(dir, "restored-"+stamp, "before-restore-"+stamp, o.Pebble)
	}
	if err != nil {
		return rep, storageError("restoring (nothing was replaced)", err)
	}
	rep.Aside = o.Pebble.PathIn(dir, "before-restore-"+stamp)
	if ok, err := store.HasStore(rep.Aside, o.Pebble); err == nil && !ok {
		rep.Aside = ""
	}
	return rep, nil
}

// occupied reports whether the store in dir holds anything.
func occupied(dir string, o Options) (bool, error) {
	if err := store.FinishSwap(dir, o.Pebble); err != nil {
		return true, err
	}
	if ok, err := store.HasStore(dir, o.Pebble); err != nil || !ok {
		return false, err
	}
	had := false
	err := withFolder(dir, o, func(_ store.KV, b *Bank) error {
		had = len(b.projects) > 0
		return nil
	})
	return had || err != nil, err
}

// copyBeside copies the rows of src into a new store dir/name and checks it. to is how the copy is to be (its key).
func copyBeside(ctx context.Context, dir, name string, o Options, to store.PebbleOptions, src store.KV) error {
	if err := store.MakeFolder(dir, o.Pebble); err != nil {
		return err
	}
	to.ReadOnly, to.Salvage, to.OnFault = false, false, nil
	beside := o.Pebble.PathIn(dir, name)
	if err := store.CopyStore(ctx, beside, to, src); err != nil {
		return err
	}
	o.Pebble = to
	check, err := checkFolder(ctx, beside, o)
	if err == nil && len(check.Problems) > 0 {
		err = Errorf(CodeStorage, "the copy is not sound (%s)", check.Problems[0])
	}
	if err != nil {
		return errors.Join(err, store.RemoveFolder(beside, to))
	}
	return nil
}

// offline fills in what work on a store that is not open needs.
func offline(o Options) Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Pebble.Logger == nil {
		o.Pebble.Logger = o.Logger
	}
	return o
}

// RekeyReport says what Rekey did.
type RekeyReport struct {
	Encrypted bool        `json:"encrypted"`
	Check     CheckReport `json:"check"`
	// Beside are the folders inside dir in which earlier stores lie, which are as they were: backups, and what
	// a restore or a repair moved aside.
	Beside []string `json:"beside,omitempty"`
}

// Rekey writes the store in dir, which nobody may have open, anew under another key: o.Pebble.Key is the
// present one (nil: none), key the new one (nil: none). The old files are removed once the new store was
// opened and checked in its place; file systems and disks may keep their bytes for a while.
func Rekey(ctx context.Context, dir string, key []byte, o Options) (rep RekeyReport, err error) {
	o = offline(o)
	rep.Encrypted = key != nil
	if err := store.FinishSwap(dir, o.Pebble); err != nil {
		return rep, storageError("encrypting", err)
	}
	if ok, err := store.HasStore(dir, o.Pebble); err != nil || !ok {
		return rep, storageError("encrypting", errors.Join(err, Errorf(CodeNotFound, "there is no store in %s", dir)))
	}
	stamp := o.Now().UTC().Format(asideLayout)
	aside := "before-rekey-" + stamp
	to := o.Pebble
	to.Key = key
	err = withFolder(dir, o, func(kv store.KV, b *Bank) error {
		check, err := b.Check(ctx)
		if err == nil && len(check.Problems) > 0 {
			err = Errorf(CodeStorage, "the store is not sound (%s): run `magma-mcp rebuild` or `magma-mcp repair` first", check.Problems[0])
		}
		if err != nil {
			return err
		}
		// The swap comes after this: the store is open.
		return copyBeside(ctx, dir, "rekeyed-"+stamp, o, to, kv)
	})
	if err == nil {
		err = store.Swap(dir, "rekeyed-"+stamp, aside, to)
	}
	if err != nil {
		return rep, storageError("encrypting (the store is as it was)", err)
	}
	o.Pebble = to
	if rep.Check, err = checkFolder(ctx, dir, o); err == nil && len(rep.Check.Problems) > 0 {
		err = Errorf(CodeStorage, "the new store is not sound (%s); the old one is in %s", rep.Check.Problems[0], aside)
	}
	if err != nil {
		return rep, storageError("checking the new store (the old one is in "+aside+")", err)
	}
	if err := store.RemoveFolder(o.Pebble.PathIn(dir, aside), to); err != nil {
		return rep, storageError("removing the old store", err)
	}
	rep.Beside, err = beside(dir, o)
	return rep, storageError("looking for earlier stores", err)
}

// beside is the folders inside dir, and among its backups, that hold a store.
func beside(dir string, o Options) ([]string, error) {
	var out []string
	for _, in := range []string{"", BackupFolder} {
		names, err := store.Folders(o.Pebble.PathIn(dir, in), o.Pebble)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			n = o.Pebble.PathIn(in, n)
			if ok, err := store.HasStore(o.Pebble.PathIn(dir, n), o.Pebble); err != nil {
				return nil, err
			} else if ok {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

// BackupFolder is where backups lie in a data folder unless they are told another place.
const BackupFolder = "backups"
