// Drives the server with the official TypeScript SDK client, every method once and some of them hard.
// usage: node sdk-check.mjs stdio COMMAND [ARGS...] | http URL | sse URL        (MAGMA_TOKEN: the bearer token)
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js';

const [kind, where, ...rest] = process.argv.slice(2);
const headers = process.env.MAGMA_TOKEN ? { Authorization: `Bearer ${process.env.MAGMA_TOKEN}` } : {};
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: where, args: rest, env: { ...getDefaultEnvironment(), ...process.env }, stderr: 'inherit' })
  : kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(where), { requestInit: { headers } })
    : new SSEClientTransport(new URL(where), { requestInit: { headers }, eventSourceInit: { fetch: (u, i) => fetch(u, { ...i, headers: { ...i.headers, ...headers } }) } });

const client = new Client({ name: 'sdk-check', version: '1' }, { capabilities: { roots: {}, sampling: {}, elicitation: {} } });
const project = `sdk-check-${kind}`;
let passed = 0, failed = 0;

async function check(name, run) {
  try {
    const r = await run();
    passed++;
    console.log('ok  ', name, JSON.stringify(r)?.slice(0, 140) ?? '');
  } catch (e) {
    failed++;
    console.log('FAIL', name, String(e.message).slice(0, 300));
  }
}
const want = (cond, text) => { if (!cond) throw new Error(text); };
async function refused(run, ...codes) {
  let r;
  try { r = await run(); } catch (e) {
    want(!codes.length || codes.includes(e.code), `code ${e.code}, want ${codes}: ${e.message}`);
    return { code: e.code };
  }
  throw new Error(`accepted: ${JSON.stringify(r).slice(0, 200)}`);
}
const call = (name, args, options) => client.callTool({ name, arguments: { project, ...args } }, undefined, options);

const began = performance.now();
await client.connect(transport);
console.log(`connected in ${(performance.now() - began).toFixed(1)} ms`, JSON.stringify(client.getServerVersion()));

await check('ping', () => client.ping());
await check('tools/list', async () => {
  const names = (await client.listTools()).tools.map(t => t.name).sort();
  want(names.join() === 'forget,recall,remember,when,why', `tools ${names}`);
  return names;
});
let id;
await check('tools/call; the client validates the output schema', async () => {
  const r = await call('remember', { content: 'Ann drank green tea yesterday.', occurred_at: '2026-03-10', speaker: 'Ann' });
  want(!r.isError && r.structuredContent.status === 'stored', JSON.stringify(r));
  id = r.structuredContent.id;
  const q = await call('recall', { query: 'What did Ann drink?' });
  want(q.structuredContent.memories.some(m => m.id === id), 'what was remembered is not recalled');
  for (const [tool, args] of [['why', { query: 'Why tea?' }], ['when', { query: 'When did Ann drink tea?' }], ['recall', { query: 'kubernetes ingress' }]]) {
    const a = await call(tool, args);
    want(!a.isError && a.structuredContent, `${tool}: ${JSON.stringify(a).slice(0, 200)}`);
  }
  return r.structuredContent.ref;
});
await check('tools/call without a needed argument gives isError', async () => {
  const r = await call('remember', {});
  want(r.isError, 'no isError');
  return r.content[0].text;
});
await check('tools/call of an unknown tool is a protocol error', () => refused(() => client.callTool({ name: 'nope', arguments: {} }), -32602));
await check('resources/list', async () => (await client.listResources()).resources.map(r => r.uri));
await check('resources/read', async () => {
  const r = await client.readResource({ uri: `memory://${project}/memories/${id}` });
  want(JSON.parse(r.contents[0].text).content === 'Ann drank green tea yesterday.', r.contents[0].text);
  return r.contents.length;
});
await check('resources/read of what is not there', () => refused(() => client.readResource({ uri: 'memory://nowhere/nothing/here' }), -32002, -32602));
await check('resources/templates/list', async () => (await client.listResourceTemplates()).resourceTemplates.map(t => t.uriTemplate));
await check('prompts/list', async () => (await client.listPrompts()).prompts.map(p => p.name));
await check('prompts/get', async () => (await client.getPrompt({ name: 'answer_with_memory', arguments: { question: 'What did Ann drink?', project } })).messages.length);
await check('prompts/get without a needed argument', () => refused(() => client.getPrompt({ name: 'answer_with_memory' }), -32602));
await check('unknown method', () => refused(() => client.request({ method: 'bogus/x' }, EmptyResultSchema), -32601));
await check('50 calls at once', async () => {
  const rs = await Promise.all(Array.from({ length: 50 }, (_, i) => call('remember', { content: `note number ${i}`, source: `n${i}` })));
  const ids = new Set(rs.map(r => r.structuredContent.id));
  want(ids.size === 50, `${ids.size} different ids`);
  const back = await Promise.all(rs.map(r => client.readResource({ uri: `memory://${project}/memories/${r.structuredContent.id}` })));
  back.forEach((r, i) => want(JSON.parse(r.contents[0].text).content === `note number ${i}`, `answer ${i} is another's`));
  return ids.size;
});
await check('1 MB argument', async () => {
  const content = 'x'.repeat(1e6);
  const r = await call('remember', { content });
  want(!r.isError, r.content[0].text);
  return r.structuredContent.ref;
});
await check('a cancelled call does not break the session', async () => {
  const stop = new AbortController();
  const p = call('recall', { query: 'c' }, { signal: stop.signal });
  stop.abort();
  try { await p; } catch { /* as asked */ }
  return client.ping();
});
await check('close', () => client.close());
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
