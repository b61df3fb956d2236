// Clients that send requests without pause, some on kept connections and some on new ones, and record every unexpected
// response.

import { Agent, request } from 'node:http'
import { Agent as TlsAgent, request as secureRequest } from 'node:https'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000
const KEEPING = 2
/** The deadline of each client. */
const MOST_REQUESTS = 20_000

interface Target {
  readonly port: number
  readonly isSecure: boolean
}

export class SteadyLoad {
  readonly failures: string[] = []
  answers = 0
  readonly #over: Promise<unknown>
  #state: 'running' | 'over' = 'running'

  constructor(targets: readonly Target[], path: string) {
    const clients: Promise<void>[] = []
    for (const target of targets) {
      for (let i = 0; i < KEEPING; i++) clients.push(this.#run(target, path, 'keep'))
      clients.push(this.#run(target, path, 'fresh'))
    }
    this.#over = Promise.all(clients)
  }

  /** Waits for this many more responses. */
  async more(count: number): Promise<void> {
    const until = performance.now() + WAIT_MS
    const wanted = this.answers + count
    while (this.answers < wanted && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 10))
    if (this.answers < wanted) throw new Error(`${this.answers} answers; ${this.failures[0]}`)
  }

  async stop(): Promise<void> {
    this.#state = 'over'
    await deadline(this.#over, WAIT_MS, 'the clients to stop')
  }

  async #run(target: Target, path: string, manner: 'keep' | 'fresh'): Promise<void> {
    const options = { keepAlive: manner === 'keep', maxSockets: 1, rejectUnauthorized: false }
    const agent = target.isSecure ? new TlsAgent(options) : new Agent(options)
    for (let i = 0; i < MOST_REQUESTS && this.#state === 'running'; i++) {
      const place = { ...target, host: '127.0.0.1', path, agent }
      try {
        const status = await deadline(statusOf(place), WAIT_MS, 'an answer')
        if (status === 200) this.answers++
        else this.failures.push(`status ${status}`)
      } catch (error) {
        this.failures.push(`${manner} ${String(error)}`)
      }
    }
    agent.destroy()
  }
}

/** The status, once the response is complete. */
function statusOf({ isSecure, ...options }: Target & { agent: Agent }): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = (isSecure ? secureRequest : request)(options, (response) => {
      response.on('error', reject)
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.resume()
    })
    sent.on('error', reject)
    sent.end()
  })
}
