// Connects to a stdio command with the TypeScript SDK, lists the tools and calls one.
// usage: node stdio-list.mjs COMMAND [ARGS...]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'stdio-list', version: '1' });
const transport = new StdioClientTransport({ command, args, stderr: 'pipe', env: { ...process.env } });
let log = '';
const connecting = client.connect(transport, { timeout: 30000 });
transport.stderr.on('data', d => { log += d; });
let code = 1;
try {
  await connecting;
  const names = (await client.listTools()).tools.map(t => t.name);
  const r = await client.callTool({ name: 'recall', arguments: { query: 'tea', project: 'stdio-list' } });
  if (names.length !== 5 || r.isError || !r.structuredContent) throw new Error(`tools ${names}, answer ${JSON.stringify(r).slice(0, 300)}`);
  console.log(`${names.join(' ')}; recall answered`);
  code = 0;
} catch (e) {
  console.log('FAIL', e.message, log.slice(-800));
}
await client.close();
process.exit(code);
