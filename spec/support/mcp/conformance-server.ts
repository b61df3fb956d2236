// The server that the judges put behind the gateway, and once in front of themselves, for comparison.
//   node conformance-server.js stdio
//   node conformance-server.js http <port>

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { fixtureServer } from './fixture.ts'

const [transport, port] = process.argv.slice(2)

if (transport === 'http') {
  // Not needed by the children, of which there are many.
  const { serveHttp } = await import('./serve-http.ts')
  serveHttp(Number(port), fixtureServer)
} else {
  await fixtureServer().connect(new StdioServerTransport())
}
