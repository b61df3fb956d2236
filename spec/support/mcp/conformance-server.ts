// The server that the judges run through the gateway, and directly for comparison.
//   node conformance-server.js stdio
//   node conformance-server.js http <port>

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { fixtureServer } from './fixture.ts'

const [transport, port] = process.argv.slice(2)

if (transport === 'http') {
  // Not needed by the many child processes.
  const { serveHttp } = await import('./serve-http.ts')
  serveHttp(Number(port), fixtureServer)
} else {
  await fixtureServer().connect(new StdioServerTransport())
}
