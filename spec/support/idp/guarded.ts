// A protected MCP server: the built gateway as a process with the demo server as backend, logging at level trace.

import { join } from 'node:path'
import { freePort } from '../../../conformance/gateway-process.ts'
import { Folder } from '../folder.ts'
import { Program } from '../program.ts'
import { ROOT } from '../root.ts'
import { ask } from './ask-mcp.ts'

/** As in a configuration; `resourceMetadata.resource` is added. */
export interface Authentication {
  readonly issuer: string
  readonly audiences: readonly string[]
  readonly provider?: object
  readonly [field: string]: unknown
}

export interface Setting {
  readonly authentication: Authentication
  /** spec.md §2.1: routes of a gateway, or one MCP listener. */
  readonly layout?: 'routes' | 'listener'
  readonly rules?: readonly unknown[]
  readonly scopes?: readonly string[]
}

const DEMO = {
  name: 'demo',
  stdio: { cmd: process.execPath, args: [join(ROOT, 'dist/bin/mcp-demo.js')] },
}

export class Guarded {
  readonly url: URL
  readonly #admin: string
  readonly #folder = new Folder()
  readonly #program: Program

  private constructor(setting: Setting, port: number, admin: number) {
    this.url = new URL(`http://127.0.0.1:${port}/mcp`)
    this.#admin = `127.0.0.1:${admin}`
    const config = { config: this.#process(), ...this.#traffic(setting, port) }
    const file = this.#folder.write('config.json', JSON.stringify(config))
    this.#program = new Program('gateway', ['-f', file], { ADMIN_ADDR: undefined })
  }

  static async start(setting: Setting): Promise<Guarded> {
    const guarded = new Guarded(setting, await freePort(), await freePort())
    try {
      await guarded.#program.prints(/started bind/)
      return guarded
    } catch (error) {
      await guarded.stop()
      throw error
    }
  }

  /** All output so far. */
  get log(): string {
    return this.#program.stdout + this.#program.stderr
  }

  async logs(expected: RegExp): Promise<void> {
    await this.#program.prints(expected)
  }

  at(path: string): URL {
    return new URL(path, this.url)
  }

  async dump(): Promise<string> {
    return (await ask(`http://${this.#admin}/config_dump`)).text
  }

  async stop(): Promise<void> {
    try {
      this.#program.signal('SIGTERM')
      await this.#program.exit()
    } finally {
      await this.#program.kill()
      this.#folder.close()
    }
  }

  #process(): object {
    return { adminAddr: this.#admin, logging: { level: 'trace' } }
  }

  #traffic({ authentication, rules, scopes, layout = 'routes' }: Setting, port: number): object {
    const policies = {
      mcpAuthentication: {
        mode: 'strict',
        ...authentication,
        resourceMetadata: {
          resource: this.url.href,
          bearerMethodsSupported: ['header'],
          ...(scopes === undefined ? {} : { scopesSupported: scopes }),
        },
      },
      ...(rules === undefined ? {} : { authorization: { rules } }),
    }
    if (layout === 'listener') return { mcp: { port, targets: [DEMO], policies } }
    return {
      gateways: { default: { port, protocol: 'HTTP', address: '127.0.0.1' } },
      routes: [{ name: 'mcp', backends: [{ mcp: { targets: [DEMO] } }], policies }],
    }
  }
}
