// Sends odd and broken JSON-RPC lines to the server on stdio and judges what comes back.
// usage: node fuzz-stdio.mjs COMMAND [ARGS...]
import { spawn } from 'node:child_process';

const tool = 'remember';
const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
let pending = Buffer.alloc(0), lines = [], dead = null, passed = 0, failed = 0;
server.on('exit', (code, signal) => { dead = code ?? signal; });
server.stdout.on('data', d => {
  pending = Buffer.concat([pending, d]);
  for (let i; (i = pending.indexOf(10)) >= 0; pending = pending.subarray(i + 1)) lines.push(pending.subarray(0, i).toString());
});
const sleep = ms => new Promise(r => setTimeout(r, ms));

// A change of the lists may be told at any time and answers nothing.
const notification = l => /^\{"jsonrpc":"2\.0","method":"notifications\/[a-z_/]+"[^]*\}$/.test(l) && JSON.parse(l).id === undefined;

// send writes raw and gathers the answers that come within wait ms; want of them are enough.
async function send(raw, wait, want) {
  lines = [];
  if (dead !== null) return [];
  server.stdin.write(raw);
  const answers = () => lines.filter(l => !notification(l));
  for (let t = 0; t < wait && answers().length < want && dead === null; t += 5) await sleep(5);
  if (lines.length) await sleep(20); // one too many would come now
  return answers().map(l => { try { return JSON.parse(l); } catch { return { NOTJSON: l.slice(0, 80) }; } });
}
async function check(name, raw, judge, { wait = 2000, want = 1 } = {}) {
  const r = await send(raw, wait, want);
  const good = dead === null && judge(r);
  good ? passed++ : failed++;
  console.log(good ? 'ok  ' : 'FAIL', name, '->', JSON.stringify(r).slice(0, 160), dead !== null ? `PROCESS EXITED ${dead}` : '');
}
const line = o => JSON.stringify(o) + '\n';
const rpc = (id, method, params) => line({ jsonrpc: '2.0', id, method, ...(params !== undefined ? { params } : {}) });
const call = (id, args) => rpc(id, 'tools/call', { name: tool, arguments: args });

const error = (...codes) => r => r.length === 1 && r[0].error && (!codes.length || codes.includes(r[0].error.code));
const silence = r => r.length === 0;
const result = r => r.length === 1 && r[0].result;
const fault = r => error()(r) || (result(r) && r[0].result.isError);
const json = r => r.every(x => !x.NOTJSON);
const quiet = { wait: 250 };

await check('a call before initialize is answered or refused', rpc(90, 'tools/list'), json);
await check('initialize', rpc(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } }), result);
await check('the initialized notification gets no answer', line({ jsonrpc: '2.0', method: 'notifications/initialized' }), silence, quiet);
await check('not JSON: -32700', 'hello\n', error(-32700));
await check('half JSON: -32700', '{"jsonrpc":"2.0","id":1,\n', error(-32700));
await check('an empty line is ignored', '\n', silence, quiet);
await check('spaces are ignored', '   \n', silence, quiet);
await check('JSON that is no object: -32600', '42\n', error(-32600));
await check('an empty batch: an error', '[]\n', error(-32600));
await check('a batch (gone since 2025-06-18) is answered or refused', '[' + rpc(2, 'ping').trim() + ']\n', json);
await check('wrong jsonrpc version: -32600', line({ jsonrpc: '1.0', id: 3, method: 'ping' }), error(-32600));
await check('no method', line({ jsonrpc: '2.0', id: 4 }), json);
await check('id null', line({ jsonrpc: '2.0', id: null, method: 'ping' }), json);
await check('a string id comes back', rpc('abc', 'ping'), r => result(r) && r[0].id === 'abc');
await check('a large id is kept', rpc(9007199254740991, 'ping'), r => result(r) && r[0].id === 9007199254740991);
await check('an unknown method: -32601', rpc(5, 'no/such'), error(-32601));
await check('an unknown notification is ignored', line({ jsonrpc: '2.0', method: 'notifications/no-such' }), silence, quiet);
await check('params a string: an error', rpc(6, 'tools/call', 'x'), error());
await check('params null', rpc(7, 'tools/list', null), r => r.length === 1 && json(r));
await check('tools/call without a name: an error', rpc(8, 'tools/call', {}), error());
await check('an unknown tool: -32602', rpc(9, 'tools/call', { name: 'nope', arguments: {} }), error(-32602));
await check('arguments an array', call(10, [1]), fault);
await check('arguments a string', call(11, '{"content":"x"}'), r => r.length === 1 && json(r));
await check('arguments missing', rpc(12, 'tools/call', { name: tool }), fault);
await check('an unknown cursor: -32602', rpc(13, 'tools/list', { cursor: 'zzz' }), error(-32602));
await check('an unknown resource', rpc(14, 'resources/read', { uri: 'x://nope' }), error(-32002, -32602));
await check('a lone surrogate is refused', call(15, { content: 'a\u0000b \u{1F600} \ud800' }), fault);
await check('invalid UTF-8 is refused', Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":"${tool}","arguments":{"content":"`), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from('"}}}\n')]), fault);
await check('10,000 levels deep', `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"${tool}","arguments":{"content":${'['.repeat(10000)}${']'.repeat(10000)}}}}\n`, r => r.length === 1 && json(r), { wait: 5000 });
await check('a line of 8 MB', call(18, { content: 'x'.repeat(8e6) }), fault, { wait: 10000 });
await check('two requests in one write', rpc(19, 'ping') + rpc(20, 'ping'), r => r.length === 2, { want: 2 });
await check('a CRLF line end', rpc(21, 'ping').replace('\n', '\r\n'), result);
await check('the cancellation of an unknown request is ignored', line({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 999 } }), silence, quiet);
await check('an id used twice is answered twice', rpc(22, 'ping') + rpc(22, 'ping'), r => r.length === 2, { want: 2 });
await check('a second initialize', rpc(23, 'initialize', { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: { name: 'f', version: '1' } }), json);
await check('still alive: ping', rpc(24, 'ping'), result);
server.stdin.end();
for (let t = 0; t < 2000 && dead === null; t += 10) await sleep(10);
dead !== null ? passed++ : failed++;
console.log(dead !== null ? 'ok  ' : 'FAIL', 'ends by itself within 2 s when stdin closes', dead);
if (dead === null) server.kill();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
