// The built gateway as a process, with the servers of the judges as backends.

import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Test } from 'uvu'
import { freePort } from '../../../conformance/gateway-process.ts'
import { childFile } from '../children/child-file.ts'
import { Folder } from '../folder.ts'
import { Program } from '../program.ts'

const MARK = 'GATEWAY_JUDGED'

const resolve = createRequire(import.meta.url).resolve

/** A target as written in a configuration. */
export interface Target {
  readonly name: string
  readonly stdio?: { cmd: string; args: string[]; env?: Record<string, string> }
  readonly mcp?: { host: string }
  readonly sse?: { host: string }
}

export const FIXTURE: Target = {
  name: 'fixture',
  stdio: { cmd: process.execPath, args: [childFile('../mcp/conformance-server'), 'stdio'] },
}

/** A server from npm, run by this Node. */
export function npmServer(name: string, args: string[] = [], env = {}): Target {
  const file = resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)
  return { name, stdio: { cmd: process.execPath, args: [file, ...args], env } }
}

/** The port is free; the folder is removed when the gateway ends. */
type ConfigOf = (port: number, folder: Folder) => object

export class Judged {
  readonly folder = new Folder()
  readonly #port: number
  /** A variable in the environment of the gateway and of its children. */
  readonly #mark = randomUUID()
  #program: Program | null = null

  private constructor(port: number) {
    this.#port = port
  }

  static async start(configOf: ConfigOf): Promise<Judged> {
    const judged = new Judged(await freePort())
    try {
      const config = configOf(judged.#port, judged.folder)
      const file = judged.folder.write('config.json', JSON.stringify(config))
      judged.#program = new Program('gateway', ['-f', file], { [MARK]: judged.#mark })
      await judged.#program.prints(/started bind/)
      return judged
    } catch (error) {
      await judged.close()
      throw error
    }
  }

  /** The fixture without a gateway, for comparison. */
  static async alone(): Promise<Judged> {
    const judged = new Judged(await freePort())
    const args = ['http', String(judged.#port)]
    judged.#program = new Program('../spec/support/mcp/conformance-server', args)
    await judged.#program.prints(/listening/)
    return judged
  }

  url(path = '/mcp'): URL {
    return new URL(path, `http://127.0.0.1:${this.#port}`)
  }

  /** Stops the gateway like an operator; its children end before it. */
  async close(): Promise<void> {
    try {
      this.#program?.signal('SIGTERM')
      await this.#program?.exit()
      const left = processesWith(this.#mark)
      if (left.length > 0)
        throw new Error(`children of the gateway are still running: ${left.join()}`)
    } finally {
      await this.#program?.kill()
      this.folder.close()
    }
  }
}

/**
 * One gateway for a whole suite. Each test requests it, so that a failed start is reported there: uvu drops what `before`
 * throws.
 */
export function judgedFor(judge: Test, configOf: ConfigOf): () => Promise<Judged> {
  let starting: Promise<Judged> | undefined
  judge.after(async () => {
    const judged = await starting?.catch(() => null)
    await judged?.close()
  })
  return () => (starting ??= Judged.start(configOf))
}

/** On Linux; elsewhere none are found. */
function processesWith(mark: string): string[] {
  if (!existsSync('/proc/self/environ')) return []
  const hasMark = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${mark}`)
    } catch {
      // Exited meanwhile, or not readable for us.
      return false
    }
  }
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && hasMark(name))
}

/** Starts it on its own port. */
export function ownPort(...targets: Target[]): (port: number) => object {
  return (port) => ({ mcp: { port, targets } })
}

/** Backends of routes by path; several names are separated by a space. */
export function routed(paths: Record<string, Target[]>): (port: number) => object {
  return (port) => ({
    gateways: { default: { port, address: '127.0.0.1' } },
    routes: Object.entries(paths).map(([written, targets]) => ({
      matches: written.split(' ').map((exact) => ({ path: { exact } })),
      backends: [{ mcp: { targets } }],
    })),
  })
}
