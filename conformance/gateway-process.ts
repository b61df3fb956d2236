// One process of the built gateway with the configuration of a case.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deadline } from '../spec/support/deadline.ts'

const START_MS = 30_000
const EXIT_MS = 30_000

export class GatewayProcess {
  /** All output lines of stdout and stderr. */
  readonly lines: string[] = []
  stderr = ''
  readonly exited: Promise<number | null>
  #hasExited = false
  readonly #child: ChildProcess
  readonly #folder: string

  constructor(command: string[], config: string, env: Record<string, string>) {
    this.#folder = mkdtempSync(join(tmpdir(), 'conformance-'))
    const file = join(this.#folder, 'config.yaml')
    writeFileSync(file, config)
    const [program = '', ...args] = command
    // Cases run in parallel with each other and with other programs that use the default ports.
    const offUnlessSet = (key: string): string | undefined =>
      config.includes(key) ? undefined : 'off'
    this.#child = spawn(program, [...args, '-f', file], {
      env: {
        ...process.env,
        ADMIN_ADDR: offUnlessSet('adminAddr'),
        STATS_ADDR: offUnlessSet('statsAddr'),
        READINESS_ADDR: offUnlessSet('readinessAddr'),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', (code) => {
        this.#hasExited = true
        rmSync(this.#folder, { recursive: true, force: true })
        resolve(code)
      })
    })
    this.#child.stdout?.setEncoding('utf8').on('data', this.#createLineReader())
    const reader = this.#createLineReader()
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      reader(text)
    })
  }

  /** Waits until the port accepts connections; false if the process exits instead. */
  async isReady(port: number): Promise<boolean> {
    const until = performance.now() + START_MS
    while (!this.#hasExited) {
      if (await acceptsConnections(port)) return true
      if (performance.now() > until)
        throw new Error(`gateway does not listen:\n${this.lines.join('\n')}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return false
  }

  get isRunning(): boolean {
    return !this.#hasExited
  }

  async exitCode(): Promise<number | null> {
    return deadline(this.exited, EXIT_MS, 'the gateway to exit')
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  async stop(): Promise<void> {
    if (!this.#hasExited) this.#child.kill('SIGKILL')
    await this.exited
  }

  #createLineReader(): (text: string) => void {
    let rest = ''
    return (text) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      this.lines.push(...lines)
    }
  }
}

async function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Below the ports that systems give to outgoing connections. */
const FIRST_PORT = 10_000
const PORTS = 20_000
const PORT_TRIES = 100

/** Gives each port in turn: a port that was given a moment ago still looks free, because nothing listens on it yet. */
class Ports {
  readonly #first: number
  readonly #count: number
  #given: number

  /** `part` as in `2/8`: a process that runs in parallel with others has its own part of the ports. */
  constructor(part: string) {
    const [at = 0, parts = 1] = part === '' ? [] : part.split('/').map(Number)
    this.#count = Math.floor(PORTS / parts)
    this.#first = FIRST_PORT + at * this.#count
    this.#given = Math.floor(Math.random() * this.#count)
  }

  next(): number {
    return this.#first + (this.#given++ % this.#count)
  }
}

const ports = new Ports(process.env['SPEC_PORTS'] ?? '')

/** A port on which nothing listens now. */
export async function freePort(): Promise<number> {
  for (let left = PORT_TRIES; left > 0; left--) {
    const port = ports.next()
    if (await isFree(port)) return port
  }
  throw new Error(`no free port in ${PORT_TRIES} tries`)
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })
}
