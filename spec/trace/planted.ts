// A gateway process with a secret in every place that can hold one, and everything that it emits at the highest log level.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { freePort } from '../../conformance/gateway-process.ts'
import { uiApiPath, UI_API_NAMES } from '../../lib/core/well-known-paths.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { post } from '../support/llm/asking.ts'
import type { LlmRequestOptions, LlmResponse } from '../support/llm/asking.ts'
import { Program } from '../support/program.ts'

const WAIT_MS = 30_000

/** What the admin interface and the statistics show by default. */
const ADMIN_PATHS = [
  ...['/config_dump', '/debug/tasks', '/memory', '/logging', '/'],
  ...UI_API_NAMES.filter((part) => part !== 'trace' && part !== 'live').map(uiApiPath),
]

/** The topics of the page's event stream; each is sent at the start. */
const TOPICS = ['runtime', 'logs', 'limits', 'mcp', 'config']

/** `config.trace.redactBodies`: the members that have a planted secret of a client or backend. */
const BODY_SECRETS = [
  ...['password', 'client_secret', 'access_token', 'refresh_token', 'token', 'tokens'],
  'credentials',
]

/** `exact`: without `config.trace.redactBodies`. */
type PlantedBodies = 'redacted' | 'exact'

export class Planted {
  readonly port: number
  /** Everything it emitted, except what is meant for the client. */
  emitted = ''
  /** The traces alone, with their decoded bodies. */
  traces = ''
  readonly #admin: number
  readonly #stats: number
  readonly #folder = new Folder()
  readonly #program: Program

  private constructor(traffic: object, bodies: PlantedBodies, ports: readonly number[]) {
    const [port, admin, stats] = ports as [number, number, number]
    this.port = port
    this.#admin = admin
    this.#stats = stats
    const config = {
      adminAddr: `127.0.0.1:${admin}`,
      statsAddr: `127.0.0.1:${stats}`,
      readinessAddr: 'off',
      logging: { level: 'trace' },
      sensitiveHeaders: ['X-My-Secret', 'Set-Cookie'],
      ...(bodies === 'redacted' && { trace: { redactBodies: BODY_SECRETS } }),
    }
    const gateways = { default: { port, address: '127.0.0.1' } }
    const file = this.#folder.write('c.json', JSON.stringify({ config, gateways, ...traffic }))
    this.#program = new Program('gateway', ['-f', file], {
      ADMIN_ADDR: undefined,
      STATS_ADDR: undefined,
    })
  }

  static async start(traffic: object, bodies: PlantedBodies = 'redacted'): Promise<Planted> {
    const ports = [await freePort(), await freePort(), await freePort()]
    const planted = new Planted(traffic, bodies, ports)
    await planted.#program.prints(/started bind/)
    return planted
  }

  /** Sends one traced request. The response of a backend is for the client; an error comes from the gateway. */
  async ask(body: string, options: LlmRequestOptions): Promise<LlmResponse> {
    const trace = textOf(await this.#watch())
    const response = await post(this, body, options)
    const shown = decoded(await trace)
    this.traces += shown
    this.emitted += shown
    if (response.status >= 400)
      this.emitted += `${JSON.stringify(response.headers)}\n${response.text}\n`
    return response
  }

  /** Everything that was emitted, after the process has exited. */
  async end(): Promise<string> {
    for (const path of ADMIN_PATHS) this.emitted += await this.#get(this.#admin, path)
    this.emitted += await this.#listen()
    this.emitted += await this.#get(this.#stats, '/metrics')
    this.#program.signal('SIGTERM')
    await this.#program.exit()
    return this.emitted + this.#program.stdout + this.#program.stderr
  }

  async close(): Promise<void> {
    await this.#program.kill()
    this.#folder.close()
  }

  async #get(port: number, path: string): Promise<string> {
    return textOf(await open({ port, path, method: 'GET' }))
  }

  /** The first events of the page's stream. */
  async #listen(): Promise<string> {
    const path = `${uiApiPath('live')}?topics=${TOPICS.join()}`
    const events = await open({ port: this.#admin, path, method: 'GET' })
    let text = ''
    const received = new Promise<void>((resolve) => {
      events.setEncoding('utf8').on('data', (part: string) => {
        text += part
        if (TOPICS.every((topic) => text.includes(`event: ${topic}\n`))) resolve()
      })
    })
    await deadline(received, WAIT_MS, 'an event of each topic')
    events.destroy()
    return text
  }

  /** Waits for the next request. */
  async #watch(): Promise<IncomingMessage> {
    return open({ port: this.#admin, path: '/debug/trace', method: 'POST' })
  }
}

async function open(options: { port: number; path: string; method: string }) {
  const sent = request({ host: '127.0.0.1', agent: false, ...options })
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject)
  })
  sent.end()
  return deadline(response, WAIT_MS, `a response of ${options.path}`)
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8').on('data', (part: string) => (text += part))
  const ended = new Promise<void>((resolve) => response.on('close', resolve))
  await deadline(ended, WAIT_MS, 'the end of a response')
  return text
}

/** The text, followed by its decoded bodies. */
function decoded(text: string): string {
  const bodies = [...text.matchAll(/"body":"([^"]*)"/g)]
  return [text, ...bodies.map(([, body = '']) => Buffer.from(body, 'base64').toString())].join('\n')
}
