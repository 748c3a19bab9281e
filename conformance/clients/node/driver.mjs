// One MCP client of the TypeScript SDKs, driven by commands: a JSON object a line
// on stdin, and the outcome of each a line on stdout. The argument says which
// client: sdk (1.x), client (2.x as it is by default), or client-auto (2.x asked
// to look for the newest revision).
import { createInterface } from 'node:readline';

const flavour = process.argv[2];
const load = flavour === 'sdk'
  ? async () => ({
      ...await import('@modelcontextprotocol/sdk/client/index.js'),
      ...await import('@modelcontextprotocol/sdk/client/stdio.js'),
      ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      ...await import('@modelcontextprotocol/sdk/client/sse.js'),
      ...await import('@modelcontextprotocol/sdk/client/auth.js'),
    })
  : async () => ({
      ...await import('@modelcontextprotocol/client'),
      ...await import('@modelcontextprotocol/client/stdio'),
    });
const sdk = await load();

let source, heard = [];
let client, version, progress = [], updates = [], waiting = () => {};

function transport({ kind, url, command, args, env, token }) {
  const options = token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : {};
  switch (kind) {
    case 'stdio': return new sdk.StdioClientTransport({ command, args, env, stderr: 'inherit' });
    case 'http': return new sdk.StreamableHTTPClientTransport(new URL(url), options);
    case 'sse': return new sdk.SSEClientTransport(new URL(url), options);
  }
  throw new Error(`unknown transport ${kind}`);
}

const commands = {
  async connect(c) {
    const options = flavour === 'client-auto' ? { versionNegotiation: { mode: 'auto' } } : {};
    client = new sdk.Client({ name: 'carrel-conformance', version: '1' }, options);
    const t = transport(c);
    if (flavour === 'sdk') { // it tells the transport only
      const tell = t.setProtocolVersion?.bind(t);
      t.setProtocolVersion = (v) => { version = v; tell?.(v); };
    }
    await client.connect(t);
    // The SDKs forget whose progress it is as soon as they have read a result,
    // though the progress came in front of it. So it is noted where it arrives.
    const { onmessage } = t;
    t.onmessage = (m, extra) => {
      if (m.method === 'notifications/progress') progress.push(m.params.progress);
      if (m.method === 'notifications/resources/updated') {
        updates.push(m.params.uri);
        waiting();
      }
      onmessage.call(t, m, extra);
    };
    return { version: version ?? client.getNegotiatedProtocolVersion(), instructions: client.getInstructions() };
  },
  async tools() {
    return { tools: (await client.listTools()).tools };
  },
  async call({ name, arguments: args }) {
    progress = [];
    const params = { name, arguments: args };
    const options = { onprogress() {} }; // asks for it
    const result = flavour === 'sdk'
      ? await client.callTool(params, undefined, options)
      : await client.callTool(params, options);
    return { result, progress };
  },
  async resources() {
    return { uris: (await client.listResources()).resources.map((r) => r.uri) };
  },
  async templates() {
    return { uris: (await client.listResourceTemplates()).resourceTemplates.map((r) => r.uriTemplate) };
  },
  async read({ uri }) {
    return { text: (await client.readResource({ uri })).contents[0].text };
  },
  async subscribe({ uri }) {
    if (flavour === 'client-auto') await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
    return {};
  },
  async updated({ uri, patience }) {
    const late = setTimeout(() => waiting('late'), patience);
    try {
      for (;;) {
        const i = updates.indexOf(uri);
        if (i >= 0) {
          updates.splice(i, 1);
          return {};
        }
        if (await new Promise((resolve) => { waiting = resolve; }) === 'late') throw new Error(`nobody was told of ${uri}`);
      }
    } finally {
      clearTimeout(late);
    }
  },
  async complete({ template, path, ws }) {
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: template }, argument: { name: 'path', value: path }, context: { arguments: { ws } },
    });
    return { values: completion.values };
  },
  async prompts() {
    return { names: (await client.listPrompts()).prompts.map((p) => p.name) };
  },
  async prompt({ name, arguments: args }) {
    return { text: (await client.getPrompt({ name, arguments: args })).messages[0].content.text };
  },
  // What the SDKs do when they are told that they are not authorized.
  async metadata({ url }) {
    const refused = await fetch(url, { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } });
    const { resourceMetadataUrl } = sdk.extractWWWAuthenticateParams(refused);
    const metadata = await sdk.discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl });
    return { status: refused.status, from: String(resourceMetadataUrl), metadata };
  },
  // EventSource as a browser has it: it comes back by itself, behind the last event.
  async source({ url, token }) {
    const { EventSource } = await import('eventsource');
    const authorized = (init) => ({ ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } });
    source = new EventSource(url, { fetch: (at, init) => fetch(at, authorized(init)) });
    source.post = (body) => fetch(source.endpoint, authorized({ method: 'POST', body, headers: { 'Content-Type': 'application/json' } }));
    source.onmessage = (e) => {
      heard.push(e.data);
      waiting();
    };
    return await new Promise((resolve) => {
      source.addEventListener('endpoint', (e) => {
        source.endpoint = new URL(e.data, url);
        heard.push('');
        waiting();
        resolve({});
      });
    });
  },
  async post({ body }) {
    return { status: (await source.post(body)).status };
  },
  // The next message, empty for a new endpoint.
  async heard({ patience }) {
    const late = setTimeout(() => waiting('late'), patience);
    try {
      while (!heard.length) {
        if (await new Promise((resolve) => { waiting = resolve; }) === 'late') throw new Error('nothing was heard');
      }
      return { data: heard.shift() };
    } finally {
      clearTimeout(late);
    }
  },
  async close() {
    source?.close();
    await client?.close();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const c = JSON.parse(line);
  let outcome;
  try {
    outcome = await commands[c.op](c);
  } catch (e) {
    outcome = { error: [e?.data?.status ?? e?.code, e?.message ?? e].filter((x) => x !== undefined).join(' ') };
  }
  process.stdout.write(JSON.stringify(outcome) + '\n');
  if (c.op === 'close') break;
}
process.exit(0);
