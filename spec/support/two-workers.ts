// The built gateway with two workers and one MCP server, its parsed log, and an SDK client that opens a connection for
// every request, so that requests reach both workers.

import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { Agent, buildConnector, fetch } from 'undici'
import type { RequestInit } from 'undici'
import { childFile } from './children/child-file.ts'
import { deadline } from './deadline.ts'
import { Program } from './program.ts'

const WAIT_MS = 30_000

export type Logged = Readonly<Record<string, unknown>>

export class TwoWorkers {
  readonly program: Program
  port = 0
  readonly #folder = mkdtempSync(join(tmpdir(), 'gateway-two-'))
  readonly #stats = join(this.#folder, 'stats')

  /** `tls` of the only listener, in YAML; '' for none. */
  constructor(tls = '') {
    const args = JSON.stringify([childFile('mcp-server')])
    const stdio = `{ cmd: ${JSON.stringify(process.execPath)}, args: ${args} }`
    const text = `
config: { workers: 2, logging: { format: json } }
gateways: { default: { port: 0, address: 127.0.0.1${tls === '' ? '' : `, tls: ${tls}`} } }
routes: [{ name: mcp, backends: [{ mcp: { targets: [{ name: one, stdio: ${stdio} }] } }] }]
`
    this.program = new Program('gateway', ['-c', text], { STATS_ADDR: `unix:${this.#stats}` })
  }

  /** The sum over all workers. */
  metrics(): Promise<string> {
    return new Promise((resolve, reject) => {
      get({ socketPath: this.#stats, path: '/metrics' }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.once('end', () => resolve(text))
      }).once('error', reject)
    })
  }

  async start(): Promise<this> {
    await this.program.prints(/started workers/)
    await this.program.prints((text) => text.match(/"port":\d+/g)?.length === 2)
    this.port = Number(/"port":(\d+)/.exec(this.program.stdout)?.[1])
    return this
  }

  /** The request lines so far that fit. */
  logged(fits: (line: Logged) => boolean = () => true): Logged[] {
    const lines = this.program.stdout.split('\n').filter((line) => line.includes('"http.status"'))
    return lines.flatMap((line) => (isWhole(line) ? [JSON.parse(line) as Logged] : [])).filter(fits)
  }

  /** Waits for this many of them. */
  async lines(count: number, fits: (line: Logged) => boolean): Promise<Logged[]> {
    await this.program.prints(() => this.logged(fits).length >= count)
    return this.logged(fits)
  }

  async stop(): Promise<void> {
    try {
      this.program.signal('SIGTERM')
      await this.program.exit()
    } finally {
      await this.program.kill()
      rmSync(this.#folder, { recursive: true })
    }
  }
}

function isWhole(line: string): boolean {
  return line.endsWith('}')
}

/** A client that uses every connection once, and records their local addresses. */
export class FreshClient {
  readonly client = new Client({ name: 'fresh', version: '1' })
  readonly requests: string[] = []
  readonly addresses: string[] = []
  readonly #transport: StreamableHTTPClientTransport | SSEClientTransport

  constructor(url: string, transport: 'streamable' | 'old' = 'streamable') {
    const connect = buildConnector({ rejectUnauthorized: false })
    const once: FetchLike = (target, init) => {
      this.requests.push(init?.method ?? 'GET')
      const dispatcher = new Agent({
        pipelining: 0,
        connect: (options, done) =>
          connect(options, (...[error, socket]) => {
            if (error !== null) return done(error, null)
            this.addresses.push(`127.0.0.1:${socket.localPort}`)
            return done(null, socket)
          }),
      })
      const asked = { ...init, dispatcher } as unknown as RequestInit
      return fetch(target, asked) as unknown as ReturnType<FetchLike>
    }
    this.#transport =
      transport === 'old'
        ? new SSEClientTransport(new URL(url), { fetch: once, eventSourceInit: { fetch: once } })
        : new StreamableHTTPClientTransport(new URL(url), { fetch: once })
  }

  get sessionId(): string {
    const id = 'sessionId' in this.#transport ? this.#transport.sessionId : undefined
    return id ?? ''
  }

  async connect(): Promise<this> {
    await deadline(this.client.connect(this.#transport as Transport), WAIT_MS, 'a session')
    return this
  }

  async call(name: string, given: Record<string, unknown> = {}): Promise<string> {
    const asked = this.client.callTool({ name, arguments: given })
    const { content } = await deadline(asked, WAIT_MS, name)
    return (content as { text: string }[])[0]?.text ?? ''
  }

  /** Ends the session at the server. */
  async end(): Promise<void> {
    if (this.#transport instanceof StreamableHTTPClientTransport)
      await deadline(this.#transport.terminateSession(), WAIT_MS, 'the end of a session')
    await deadline(this.client.close(), WAIT_MS, 'a client to close')
  }
}
