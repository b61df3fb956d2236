// What the judges judge: the built gateway, as a process, with the servers they know behind it.

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

/** As it is written in a configuration. */
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

/** A server from npm, on this Node. */
export function npmServer(name: string, args: string[] = [], env = {}): Target {
  const file = resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)
  return { name, stdio: { cmd: process.execPath, args: [file, ...args], env } }
}

/** The port is free; the folder goes when the gateway ends. */
type ConfigOf = (port: number, folder: Folder) => object

export class Judged {
  readonly folder = new Folder()
  readonly #port: number
  /** In the environment of the gateway and, as they inherit it, of its children. */
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

  /** The fixture without a gateway: what there is to lose. */
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

  /** Stops it as an operator would: when it has ended, so have its children. */
  async close(): Promise<void> {
    try {
      this.#program?.signal('SIGTERM')
      await this.#program?.exit()
      const left = processesWith(this.#mark)
      if (left.length > 0) throw new Error(`the gateway left children behind: ${left.join()}`)
    } finally {
      await this.#program?.kill()
      this.folder.close()
    }
  }
}

/**
 * One for a whole suite. It is asked for in each test, so that these fail, and say why, when it does not start: what `before`
 * throws is told to nobody.
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
      // Gone meanwhile, or not ours to look at.
      return false
    }
  }
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && hasMark(name))
}

/** On a port of its own. */
export function ownPort(...targets: Target[]): (port: number) => object {
  return (port) => ({ mcp: { port, targets } })
}

/** As backends of routes, by their paths; several have a space between them. */
export function routed(paths: Record<string, Target[]>): (port: number) => object {
  return (port) => ({
    gateways: { default: { port, address: '127.0.0.1' } },
    routes: Object.entries(paths).map(([written, targets]) => ({
      matches: written.split(' ').map((exact) => ({ path: { exact } })),
      backends: [{ mcp: { targets } }],
    })),
  })
}
