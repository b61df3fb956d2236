// The built-in configuration for a start without a file; it listens on loopback only.

import { fileURLToPath } from 'node:url'
import { formatAddress } from './show.ts'
import type { AdminAddress } from './config-types.ts'

export const QUICKSTART_FILE = '<quickstart>'

export const QUICKSTART = `# The configuration that runs when no file is given.
gateways:
  default:
    port: 3000
    address: 127.0.0.1

routes:
  - name: hello
    matches:
      - path: { exact: /hello }
    policies:
      directResponse:
        status: 200
        headers: { content-type: application/json }
        body: |
          {"hello":"from the gateway"}

  - name: demo
    matches:
      - path: { pathPrefix: /mcp }
      - path: { exact: /sse }
    backends:
      - mcp:
          targets:
            - name: demo
              stdio: { cmd: "\${GATEWAY_NODE}", args: ["\${GATEWAY_DEMO}"] }

  - name: chat
    matches:
      - path: { pathPrefix: /v1 }
    policies:
      rateLimit:
        local: [{ tokens: 100000, unit: Minutes }]
    backends:
      - ai: { name: mock, provider: { mock: {} } }

  - name: moved
    matches:
      - path: { pathPrefix: /hi }
    policies:
      requestRedirect:
        path: { full: /hello }
        status: 302

  - name: welcome
    matches:
      - path: { exact: / }
    policies:
      directResponse:
        status: 200
        headers: { content-type: text/html; charset=utf-8 }
        body: |
          <!doctype html>
          <title>The gateway runs</title>
          <h1>The gateway runs</h1>
          <p>It serves its built-in configuration. Try <a href="/hello">/hello</a>,
          or <a href="/hi">/hi</a>, which redirects there.</p>
          <p>An MCP server with a few tools is at <code>http://127.0.0.1:3000/mcp</code>.</p>
          <p>A mock LLM that repeats the prompt is at <code>http://127.0.0.1:3000/v1</code>: chat completions,
          messages and models, with any key.</p>
          <p>Start it with your own file: <code>npx gateway -f config.yaml</code></p>
`

/** Variables of the quickstart: the path of Node and of the built-in MCP demo server. */
export const QUICKSTART_ENV = {
  GATEWAY_NODE: process.execPath,
  GATEWAY_DEMO: fileURLToPath(new URL('../../bin/mcp-demo.js', import.meta.url)),
}

const HINTS = [
  'no config file given: serving the built-in quickstart on http://127.0.0.1:3000',
  'try:',
  '  curl http://127.0.0.1:3000/',
  '  curl http://127.0.0.1:3000/hello',
  '  curl -L http://127.0.0.1:3000/hi',
  '  npx @modelcontextprotocol/inspector --cli http://127.0.0.1:3000/mcp --transport http --method tools/list',
  "  curl -i http://127.0.0.1:3000/v1/chat/completions -H 'content-type: application/json' \\",
  `    -d '{"model":"mock","messages":[{"role":"user","content":"Hello"}]}'`,
]

/** Commands to try; `admin` is the address of the web UI. */
export function formatQuickstartHints(admin: AdminAddress): string {
  const address =
    'port' in admin ? formatAddress({ ...admin }).replace('localhost', '127.0.0.1') : null
  const page =
    address === null ? [] : [`web UI: http://${address}/ui (set ADMIN_ADDR to change the address)`]
  return [...HINTS, ...page, 'start with your own file: npx gateway -f config.yaml'].join('\n')
}
