// MCP sessions over stdio, each with its own server: the figures without a peer.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { INITIALIZE, INITIALIZED, answerFault, callText } from './mcp-messages.ts'
import type { McpSession, SessionEvents } from './mcp-session.ts'

const EXIT_DEADLINE_MS = 2_000

export async function openStdio(
  command: readonly string[],
  events: SessionEvents,
): Promise<McpSession> {
  const began = nowMicros()
  const server = new Server(command, events)
  await server.greet()
  const greeting = nowMicros() - began
  return { greeting, call: (id) => server.write(callText(id)), end: async () => server.end() }
}

class Server {
  readonly #child: ChildProcess & { stdin: Writable; stdout: Readable }
  readonly #events: SessionEvents
  readonly #greeted = new Deferred()
  #state: 'greeting' | 'open' | 'over' = 'greeting'
  /** The start of a line that is not complete yet. */
  #begun = ''

  constructor([program = '', ...args]: readonly string[], events: SessionEvents) {
    this.#events = events
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child.on('error', (error) => this.#fail(error))
    this.#child.on('exit', () => this.#fail(new Error('the server ended')))
    this.#child.stdin.on('error', (error) => this.#fail(error))
    this.#child.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
  }

  async greet(): Promise<void> {
    this.write(INITIALIZE)
    await this.#greeted.promise
    this.#state = 'open'
    this.write(INITIALIZED)
  }

  write(message: string): void {
    this.#child.stdin.write(`${message}\n`, 'latin1')
  }

  async end(): Promise<void> {
    this.#state = 'over'
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), EXIT_DEADLINE_MS)
    const over = once(this.#child, 'exit')
    this.#child.stdin.end()
    await over
    clearTimeout(timer)
  }

  #read(chunk: Buffer): void {
    const lines = (this.#begun + chunk.toString('latin1')).split('\n')
    this.#begun = lines.pop() ?? ''
    for (const line of lines) {
      if (this.#state === 'greeting') this.#greeted.resolve()
      else if (this.#state === 'open') this.#answered(line)
    }
  }

  #answered(line: string): void {
    const { id } = JSON.parse(line) as { id: number }
    const fault = answerFault(line, id)
    if (fault === null) this.#events.answered(id)
    else this.#fail(new Error(fault))
  }

  #fail(error: Error): void {
    if (this.#state === 'over') return
    this.#greeted.reject(error)
    this.#events.failed(error)
  }
}
