// A gateway as a process with a secret in every place that can hold one, talking as much as it can, and everything it says.

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

/** What the admin interface and the statistics show without being asked for anything. */
const SHOWN = [
  ...['/config_dump', '/debug/tasks', '/memory', '/logging', '/'],
  ...UI_API_NAMES.filter((part) => part !== 'trace' && part !== 'live').map(uiApiPath),
]

/** What the page hears: each topic has come once when there are as many events. */
const TOPICS = ['runtime', 'logs', 'limits', 'mcp', 'config']

export class Planted {
  readonly port: number
  /** All that left it, but for what the client is meant to have. */
  emitted = ''
  readonly #admin: number
  readonly #stats: number
  readonly #folder = new Folder()
  readonly #program: Program

  private constructor(traffic: object, ports: readonly number[]) {
    const [port, admin, stats] = ports as [number, number, number]
    this.port = port
    this.#admin = admin
    this.#stats = stats
    const config = {
      adminAddr: `127.0.0.1:${admin}`,
      statsAddr: `127.0.0.1:${stats}`,
      readinessAddr: 'off',
      logging: { level: 'trace' },
      sensitiveHeaders: ['X-My-Secret'],
    }
    const gateways = { default: { port, address: '127.0.0.1' } }
    const file = this.#folder.write('c.json', JSON.stringify({ config, gateways, ...traffic }))
    this.#program = new Program('gateway', ['-f', file], {
      ADMIN_ADDR: undefined,
      STATS_ADDR: undefined,
    })
  }

  static async start(traffic: object): Promise<Planted> {
    const ports = [await freePort(), await freePort(), await freePort()]
    const planted = new Planted(traffic, ports)
    await planted.#program.prints(/started bind/)
    return planted
  }

  /** One request that is watched. What a backend answers is the client's to have; errors are the gateway's words. */
  async ask(body: string, options: LlmRequestOptions): Promise<LlmResponse> {
    const trace = textOf(await this.#watch())
    const told = await post(this, body, options)
    this.emitted += decoded(await trace)
    if (told.status >= 400) this.emitted += `${JSON.stringify(told.headers)}\n${told.text}\n`
    return told
  }

  /** Everything, once it has ended. */
  async end(): Promise<string> {
    for (const path of SHOWN) this.emitted += await this.#get(this.#admin, path)
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

  /** All that the page hears at first. */
  async #listen(): Promise<string> {
    const path = `${uiApiPath('live')}?topics=${TOPICS.join()}`
    const events = await open({ port: this.#admin, path, method: 'GET' })
    let text = ''
    const heard = new Promise<void>((resolve) => {
      events.setEncoding('utf8').on('data', (part: string) => {
        text += part
        if (TOPICS.every((topic) => text.includes(`event: ${topic}\n`))) resolve()
      })
    })
    await deadline(heard, WAIT_MS, 'an event of each topic')
    events.destroy()
    return text
  }

  /** Waits for the next request. */
  async #watch(): Promise<IncomingMessage> {
    return open({ port: this.#admin, path: '/debug/trace', method: 'POST' })
  }
}

async function open(options: { port: number; path: string; method: string }) {
  const asked = request({ host: '127.0.0.1', agent: false, ...options })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve).on('error', reject)
  })
  asked.end()
  return deadline(answered, WAIT_MS, `an answer of ${options.path}`)
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  answer.setEncoding('utf8').on('data', (part: string) => (text += part))
  const ended = new Promise<void>((resolve) => answer.on('close', resolve))
  await deadline(ended, WAIT_MS, 'the end of an answer')
  return text
}

/** Bodies stand behind it, as people read them. */
function decoded(text: string): string {
  const bodies = [...text.matchAll(/"body":"([^"]*)"/g)]
  return [text, ...bodies.map(([, body = '']) => Buffer.from(body, 'base64').toString())].join('\n')
}
