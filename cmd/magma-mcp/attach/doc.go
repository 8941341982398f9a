// Package attach answers: how do many processes work on one store when only one may open it?
//
// A desktop client, two editor windows and a terminal each start a whole MCP server of their own, and
// Pebble lets one process in. So the first process to take a lock file owns the engine and listens on
// a local socket; every later one attaches to it. The cut is at memory.Engine, not at the byte stream
// of MCP: sessions, schemas, default projects and subscriptions stay with the process that has them,
// and only the engine behind them is remote. When the owner goes, an attached process takes the lock,
// opens the store, and everybody's calls go on; nothing of a client's session is lost.
//
//	     Engine (what the tools see)
//	        |  invoke: wait for a holder, call, retry when the holder went
//	  +-----+------+
//	owned        link            one of the two at a time, chosen by Engine.run
//	  |            |
//	the store    socket ------> owned.serve of the process that owns
//
// # Taking the store
//
// The local socket is a Unix socket, on Windows a named pipe (place_unix.go, place_windows.go).
//
// The order is fixed and is what makes stale files harmless: take the lock (owner.lock, an flock that
// the system drops with the process), then unlink the old socket and bind a new one, then write where
// it is into owner.json, then open the store. A socket that is bound answers the handshake at once;
// calls wait until the store is open. On the way out the order is the other way round, and the socket
// is unlinked while the lock is still held, so that nobody ever unlinks a successor's.
//
// # A write happens once
//
// Each remember and forget carries a request id: the process's random id and a count. It is the same on
// every try. Three cases:
//
//   - The connection broke but the owner lives. The owner keeps the answers of recent writes by request
//     id (see journal); the second try gets the first one's answer, or waits for it.
//   - The owner died before the commit. Nothing was stored; the second try is the first to happen.
//   - The owner died after the commit and before its answer arrived. Only the store can know. An engine
//     that offers Once commits the request id in the batch of the write itself, and answers the same id
//     with the same answer for a while, across restarts. The second try goes through it.
//
// The request id is not the note's idempotency key: a key is the caller's, lasts for ever, conflicts
// with other content, and a second use of it is a second sighting. A retry is none of that; the caller
// never learns that there was one. Where an engine does not offer Once, a retry in the third case shows
// as a duplicate with one more sighting, or as a forget that removed nothing more: still never two
// memories, because identity is exact.
//
// A first try in the process that owns the store carries no id: if that process dies, so does its caller.
//
// # Wire
//
// Frames are a four-byte big-endian length and a JSON object, at most maxFrame bytes. hello, welcome,
// handover and bye keep their shape for ever, so that any two versions can at least agree on who owns.
// The rest may change with the protocol number.
package attach
