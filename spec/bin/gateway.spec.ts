// The built gateway as a process: how it starts, what it logs, and how signals stop it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { formatQuickstartHints } from '../../lib/config/quickstart.ts'
import { Backend } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Program } from '../support/program.ts'
import { RawClient } from '../support/raw-client.ts'
import { reportSkip } from '../support/report-skip.ts'

const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
const QUICKSTART_PORT = 3000

/** Starts the gateway with this configuration, and ends it in every case. */
async function withGateway(text: string, use: (program: Program) => Promise<void>): Promise<void> {
  const file = join(folder, 'config.yaml')
  writeFileSync(file, text)
  await withProgram(new Program('gateway', ['-f', file]), use)
}

async function withProgram(
  program: Program,
  use: (program: Program) => Promise<void>,
): Promise<void> {
  try {
    await use(program)
  } finally {
    await program.kill()
  }
}

/** A request to a backend that does not answer, so that shutdown takes time. */
async function withHeldRequest(use: (program: Program) => Promise<void>): Promise<void> {
  const backend = await Backend.start([{ wait: /\r\n\r\n/ }, { hold: true }])
  const port = await freePort()
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ backends: [{ host: '127.0.0.1:${backend.port}' }] }]
`
  try {
    await withGateway(text, async (program) => {
      await program.prints(/started bind/)
      const client = await RawClient.connect(port)
      client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await backend.until((received) => received.includes('\r\n\r\n'))
      await use(program)
      client.destroy()
    })
  } finally {
    await backend.close()
  }
}

const DIRECT = 'routes: [{ policies: { directResponse: { status: 200, body: here } } }]\n'

const running = suite('gateway process')

running.after(() => rmSync(folder, { recursive: true }))

running('serves a configuration file, logs the request, and exits with 0 on SIGTERM', async () => {
  const port = await freePort()
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }\n${DIRECT}`
  await withGateway(text, async (program) => {
    await program.prints(/loaded config .*started bind bind=bind\/\d+/s)
    const client = await RawClient.connect(port)
    client.send('GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.match(await client.until(/here$/), /^HTTP\/1\.1 200 OK\r\n/)
    await program.prints(/http\.path=\/x .*http\.status=200 .*outcome=complete/)
    program.signal('SIGTERM')
    assert.is(await program.exit(), 0)
    assert.match(program.stdout, /shutting down signal=SIGTERM/)
    assert.match(program.stdout, /stopped\n$/)
    assert.is(program.stderr, '')
  })
})

running('the quickstart answers the requests that it suggests', async () => {
  if (!(await isFree(QUICKSTART_PORT)))
    return reportSkip('the quickstart', `port ${QUICKSTART_PORT} is in use`)
  await withProgram(new Program('gateway', []), async (program) => {
    await program.prints(/start with your own file: npx gateway -f config\.yaml\n/)
    assert.ok(program.stdout.includes(formatQuickstartHints({ kind: 'off' })))
    const urls = [...program.stdout.matchAll(/curl(?: -L)? (http\S+)/g)].map(([, url]) => url!)
    assert.is(urls.length, 3)
    for (const url of urls) assert.is((await fetch(url)).status, 200)
    const [, chat, body] = /curl -i (http\S+) .*\n +-d '(.+)'/.exec(program.stdout)!
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: body! }
    const response = await deadline(fetch(chat!, request), 30_000, 'a chat')
    assert.is(response.headers.get('x-ratelimit-limit'), '100000')
    assert.match(await response.text(), /"total_tokens":\d/)
    const [, mcp] = /--cli (http\S+)/.exec(program.stdout)!
    assert.match(
      await deadline(initialize(mcp!), 30_000, 'an answer at /mcp'),
      /"name":"gateway-demo"/,
    )
    program.signal('SIGTERM')
    assert.is(await program.exit(), 0)
  })
})

running(
  'names the port in use and its setting, and exits even with another port open',
  async () => {
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
    const taken = (holder.address() as AddressInfo).port
    const text = `gateways:
  default: { port: ${await freePort()}, address: 127.0.0.1 }
  second: { port: ${taken}, address: 127.0.0.1 }
${DIRECT}`
    try {
      await withGateway(text, async (program) => {
        assert.is(await program.exit(), 1)
        const message = `cannot listen on 127.0.0.1:${taken} (gateways.second.port): it is in use by another process`
        assert.is(program.stderr, `Error: ${message}\n`)
      })
      const section = `mcp: { port: ${taken}, address: 127.0.0.1, targets: [{ name: a, stdio: { cmd: a } }] }`
      await withGateway(section, async (program) => {
        assert.is(await program.exit(), 1)
        assert.match(program.stderr, `(mcp.port): it is in use by another process`)
      })
    } finally {
      holder.close()
    }
  },
)

running('waits on SIGINT for running requests; a second SIGINT ends it at once', async () => {
  await withHeldRequest(async (program) => {
    program.signal('SIGINT')
    await program.prints(/shutting down signal=SIGINT/)
    assert.not.match(program.stdout, /stopped/)
    program.signal('SIGINT')
    assert.is(await program.exit(), 0)
    assert.not.match(program.stdout, /stopped/)
  })
})

running.run()

async function initialize(url: string): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  }
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  return answer.text()
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
